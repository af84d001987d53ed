import subprocess
import sys

import pytest

import distkern


@pytest.mark.parametrize("name", distkern.__all__)
def test_every_public_name_loads_and_is_documented(name):
    value = getattr(distkern, name)
    assert name == "__version__" or value.__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Kendal'"):
        distkern.Kendal  # noqa: B018


def test_names_are_listed():
    assert set(distkern.__all__) <= set(dir(distkern))
    assert len(distkern.__all__) == len(set(distkern.__all__))


def test_native_windows_is_refused_with_what_to_do():
    code = "import sys; sys.platform = 'win32'; import distkern"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == "ImportError: distkern runs on Linux and macOS: on Windows, install and run it under WSL"


def modules_after(code):
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


HEAVY = {"sklearn", "pandas", "matplotlib", "anndata", "distributed", "dask", "jinja2"}


def test_importing_loads_nothing_heavy():
    loaded = modules_after("import distkern")
    assert not loaded & (HEAVY | {"numpy", "numba", "zarr"})


def test_a_worker_that_computes_tiles_loads_no_learner_no_table_and_no_plot():
    assert not modules_after("import distkern.build.tasks") & HEAVY
    assert not modules_after("from distkern import compute_gram, Kendall; Kendall()([[1, 2]])") & HEAVY
