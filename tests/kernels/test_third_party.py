"""A kernel in a user's own module: stored, resumed, extended, compared with new samples, and saved with a model."""

import importlib
import json
import pickle
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from marks import with_slow

from distkern import (
    InputError,
    Kendall,
    KernelNotFoundError,
    KernelSVC,
    Linear,
    WorkerMismatchError,
    append_gram,
    compute_gram,
    from_spec,
    load_model,
    open_gram,
    save_model,
)
from distkern.cli.kernels import kernel_of
from distkern.core.events import Progress
from distkern.kernels.base import Kernel, Prepared
from distkern.report.words import describe

MODULE = '''
"""A kernel as a user writes one: a class, and nothing that registers it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distkern.kernels.base import Kernel, Prepared


@dataclass(frozen=True)
class HistogramIntersection(Kernel):
    """k(x, y) = Σ_i min(x_i, y_i, c).

    Source: Swain & Ballard, Color indexing (1991).
    """

    name: ClassVar[str] = "histogram-intersection"
    ceilings: tuple[float, ...] = (9.0,)

    def check(self, X, ids=None, features=None):
        if (X < 0).any():
            raise ValueError("histograms have no negative values")

    def prepare(self, X, start=0):
        return Prepared({"features": np.minimum(np.asarray(X, dtype=np.float64), min(self.ceilings))}, start)

    def tile(self, A, B):
        return np.minimum(A.arrays["features"][:, None], B.arrays["features"]).sum(axis=2)

    def diagonal(self, A):
        return A.arrays["features"].sum(axis=1)
'''

X = np.random.default_rng(0).integers(0, 9, (23, 5)).astype(float)
NAME = "user_kernels"


@pytest.fixture
def folder(tmp_path_factory):
    """Folder with the user's module."""
    folder = tmp_path_factory.mktemp("user")
    (folder / f"{NAME}.py").write_text(MODULE)
    return folder


@pytest.fixture
def module(folder, monkeypatch):
    """The user's module, imported."""
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module(NAME)
    sys.modules.pop(NAME, None)


@pytest.fixture
def kernel(module):
    return module.HistogramIntersection()


def intersections(X, Y):
    return np.array([[sum(min(a, b, 9.0) for a, b in zip(x, y, strict=True)) for y in Y] for x in X])


def in_another_process(code, folder, *args):
    """Run Python where the user's module can be imported; its exit status and last line of output."""
    lines = ["import sys", f"sys.path.insert(0, {str(folder)!r})", code]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines), *map(str, args)], capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr).strip().splitlines()[-1]


class Stop:
    """Interrupt a run after some tiles."""

    def __init__(self, tiles):
        self.tiles = tiles

    def __call__(self, event: Progress):
        if event.phase == "compute tiles" and event.done >= self.tiles:
            raise KeyboardInterrupt


# The spec ------------------------------------------------------------------------------------------------------------


def test_the_spec_names_the_module_and_specs_of_our_kernels_do_not(kernel):
    spec = (kernel + Kendall()).spec()
    assert spec["left"] == {"kernel": "histogram-intersection", "module": NAME, "ceilings": [9.0]}
    assert spec["right"] == {"kernel": "kendall", "ties": "zero"}
    assert "module" not in spec
    assert from_spec(json.loads(json.dumps(spec))) == kernel + Kendall()


def test_from_spec_never_imports_a_module(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    with pytest.raises(
        KernelNotFoundError, match=f"'{NAME}', which this process has not imported: import {NAME} first"
    ):
        from_spec({"kernel": "histogram-intersection", "module": NAME})
    assert NAME not in sys.modules


def test_from_spec_takes_kernels_that_the_module_itself_defines_and_nothing_else(module):
    module.Other = Linear
    module.anything = print
    for name in ("linear-2", "print", "anything"):
        with pytest.raises(KernelNotFoundError, match=f"the module '{NAME}' defines no kernel called"):
            from_spec({"kernel": name, "module": NAME})
    for spec in ({"kernel": "linear", "module": NAME}, {"kernel": "x", "module": 3}, {"kernel": 3, "module": NAME}):
        with pytest.raises(InputError):
            from_spec(spec)
    with pytest.raises(InputError, match="a spec names a kernel and the module that defines it"):
        from_spec({"kernel": "kendall", "module": "distkern.kernels.kendall"})


def define(module, name, cls="Another"):
    """Define a class with this kernel name in a module."""
    code = f"@dataclass(frozen=True)\nclass {cls}(HistogramIntersection):\n    name: ClassVar[str] = {name!r}\n"
    exec(code, vars(module))
    return getattr(module, cls)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kendall", "which is the name of a kernel of distkern: give the class a name of its own"),
        ("histogram-intersection", "defines two kernels called 'histogram-intersection', HistogramIntersection and"),
    ],
)
def test_a_name_of_ours_and_a_name_that_is_used_twice_are_refused(tmp_path, module, name, said):
    kernel = define(module, name)()
    np.testing.assert_array_equal(kernel(X), intersections(X, X))
    with pytest.raises(InputError, match=said):
        compute_gram(kernel, X, store=tmp_path / "k.zarr")
    assert list(tmp_path.iterdir()) == []


def test_a_subclass_needs_a_name_of_its_own(tmp_path, module):
    exec("class Nameless(HistogramIntersection):\n    pass\n", vars(module))
    with pytest.raises(InputError, match="is not the kernel that the name 'histogram-intersection' stands for"):
        compute_gram(module.Nameless(), X, store=tmp_path / "k.zarr")


def test_a_field_with_a_reserved_name_is_refused(module):
    exec("@dataclass(frozen=True)\nclass Wrong(HistogramIntersection):\n    module: str = ''\n", vars(module))
    with pytest.raises(InputError, match="Wrong has a field 'module', a reserved name: rename the field"):
        module.Wrong().spec()


def test_a_local_class_computes_in_this_process_but_is_not_stored(tmp_path, module):
    @dataclass(frozen=True)
    class Local(module.HistogramIntersection):
        name: ClassVar[str] = "local"

    np.testing.assert_array_equal(Local()(X), intersections(X, X))
    with pytest.raises(KernelNotFoundError, match="defines no kernel called 'local' at its top level"):
        compute_gram(Local(), X, store=tmp_path / "k.zarr")


@pytest.mark.slow
def test_a_class_of_the_main_script_is_stored_and_found_by_the_next_run_of_the_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        f"{MODULE}\nimport sys\nfrom distkern import compute_gram\n"
        "X = np.arange(60.0).reshape(20, 3)\n"
        "for executor in ('serial', 2):\n"
        "    store = f'{sys.argv[1]}/{executor}.zarr'\n"
        "    gram = compute_gram(HistogramIntersection(), X, store=store, tile=8, executor=executor)\n"
        "    print(len(gram.info()['runs']), gram.kernel)\n"
    )
    said = [subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True) for _ in range(2)]
    for one in said:
        assert one.stdout.splitlines() == 2 * ["1 HistogramIntersection(ceilings=(9.0,))"], one.stderr
    with pytest.raises(KernelNotFoundError, match="the main script or notebook defines no kernel called 'histogram-i"):
        open_gram(tmp_path / "serial.zarr")


# Stores --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", with_slow(["cluster"], ["serial", "threads"]))
def test_a_run_is_interrupted_resumed_and_extended(tmp_path, kernel, folder, request, where):
    executor = {"serial": "serial", "threads": 2}.get(where)
    if where == "cluster":
        executor = request.getfixturevalue("client")
        executor.run(exec, f"import sys; sys.path.insert(0, {str(folder)!r})")
    store = tmp_path / "k.zarr"
    both = kernel + Kendall()
    expected = intersections(X, X) + Kendall()(X)
    with pytest.raises(KeyboardInterrupt):
        compute_gram(both, X[:16], store=store, tile=4, executor=executor, progress=Stop(3))
    gram = compute_gram(both, X[:16], store=store, executor=executor)
    np.testing.assert_allclose(gram.to_numpy(), expected[:16, :16], rtol=1e-14)
    grown = append_gram(store, X[16:], executor=executor)
    assert grown.kernel == both
    np.testing.assert_allclose(grown.to_numpy(), expected, rtol=1e-14)
    np.testing.assert_allclose(grown.cross(X[:3] + 1), intersections(X[:3] + 1, X) + Kendall()(X[:3] + 1, X))
    vectors = np.ones((len(X), 2))
    np.testing.assert_allclose(open_gram(store, executor=executor) @ vectors, expected @ vectors)


def test_workers_that_cannot_import_the_module_end_the_run_with_one_error_and_stay(tmp_path, kernel, client):
    forget = f"import sys; sys.modules.pop({NAME!r}, None); sys.path[:] = [p for p in sys.path if '/user' not in p]"
    client.run(exec, forget)
    workers = client.nthreads().keys()
    with pytest.raises(
        WorkerMismatchError, match=f"cannot load its task .*{NAME}.*: make the module importable on all"
    ):
        compute_gram(kernel, X, store=tmp_path / "k.zarr", tile=8, executor=client)
    assert client.nthreads().keys() == workers
    assert not open_gram(tmp_path / "k.zarr").is_complete


@pytest.mark.slow
def test_another_process_opens_the_store_once_it_has_imported_the_module(tmp_path, kernel, folder):
    store = tmp_path / "k.zarr"
    compute_gram(kernel, X, store=store, tile=8, executor="serial")
    use = "from distkern import open_gram\ngram = open_gram(sys.argv[1])\nprint(gram.kernel, gram.to_numpy().sum())"
    assert in_another_process(f"import {NAME}\n{use}", folder, store) == (0, f"{kernel} {intersections(X, X).sum()}")
    status, said = in_another_process(use, folder, store)
    assert status == 1
    assert f"which this process has not imported: import {NAME} first" in said


def test_a_kernel_unpickled_on_a_worker_brings_its_module(kernel, folder):
    code = f"import pickle\nprint(pickle.loads({pickle.dumps(kernel)!r}).spec()['module'])"
    assert in_another_process(code, folder) == (0, NAME)


# Models --------------------------------------------------------------------------------------------------------------


def test_a_saved_model_loads_where_the_module_is_imported_and_is_refused_elsewhere(tmp_path, kernel, folder):
    y = (X[:, 0] > 4).astype(int)
    gram = compute_gram(kernel, X, store=tmp_path / "k.zarr", executor="serial")
    from_samples, from_gram = KernelSVC(kernel=kernel).fit(X, y), KernelSVC(kernel="precomputed").fit(gram, y)
    paths = (
        save_model(from_samples, tmp_path / "samples.npz"),
        save_model(from_gram, tmp_path / "gram.npz", gram=gram),
    )
    for path in paths:
        np.testing.assert_array_equal(load_model(path).predict(X), from_samples.predict(X))
    sys.modules.pop(NAME)
    for path in paths:
        with pytest.raises(KernelNotFoundError, match=f"^the kernel 'histogram-intersection' .* import {NAME} first$"):
            load_model(path)


# Everything else that reads a kernel ---------------------------------------------------------------------------------


def test_the_command_line_refuses_a_module_that_it_has_not_imported(folder):
    import click

    with pytest.raises(click.BadParameter, match=f"has not imported: import {NAME} first"):
        kernel_of(json.dumps({"kernel": "histogram-intersection", "module": NAME}), None, ())


def test_a_report_describes_it_by_its_docstring(kernel):
    words = describe(kernel)
    assert (words.name, words.formula) == ("Histogram Intersection kernel", "k(x, y) = Σ_i min(x_i, y_i, c)")
    assert words.source == "Swain & Ballard, Color indexing (1991)."
    assert words.code == f"{NAME}.HistogramIntersection(ceilings=(9.0,))"


def test_a_block_that_it_cannot_have_prepared_is_refused(kernel):
    from distkern.kernels.trust import could_have_prepared

    block = kernel.prepare(X)
    assert could_have_prepared(kernel, block, 5)
    assert not could_have_prepared(kernel, Prepared({"features": block.arrays["features"][:, :4]}), 5)


def test_kernel_itself_computes_nothing():
    with pytest.raises(TypeError, match="Kernel is not a kernel itself: use one of its subclasses"):
        Kernel().prepare(X)
