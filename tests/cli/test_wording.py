"""Users of Python and of the command line are given the same messages, each with the names that they type."""

from __future__ import annotations

import ast
import pickle
import re
from collections import namedtuple
from functools import cache
from pathlib import Path

import anndata
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import distkern as dk
from distkern.cli.main import main
from distkern.cli.wording import COMMANDS, OPTIONS, in_cli_words
from distkern.core import errors
from distkern.core.sentences import Argument, Call, Sentence
from distkern.io.labels import read_labels
from distkern.io.points import bags_from_file
from distkern.learners import memory
from distkern.operators.array import ArrayGram
from distkern.report import write_report
from distkern.store import location as places
from distkern.store.tiles import GramStore, same_store

X = np.random.default_rng(0).normal(size=(6, 5))


@pytest.fixture
def made(tmp_path):
    gram = dk.compute_gram(dk.Kendall(), X, store=tmp_path / "x.zarr", tile=3, executor="serial", progress=False)
    return gram, tmp_path


def table(folder, text):
    path = folder / "table.csv"
    path.write_text(text)
    return path


def flip(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def existing_store(gram, folder, monkeypatch):
    dk.compute_gram(dk.Kendall(), X, store=gram.path, resume=False)


def other_computation(gram, folder, monkeypatch):
    dk.compute_gram(dk.Linear(), X, store=gram.path)


def orientation(gram, folder, monkeypatch):
    dk.read_expression(table(folder, "id,a\ns,1\n"))


def absent_label(gram, folder, monkeypatch):
    dk.read_expression(table(folder, "id,a\ns,1\n"), samples="rows", label="relapse")


def text_among_numbers(gram, folder, monkeypatch):
    dk.read_expression(table(folder, "id,a b\ns,high\n"), samples="rows")


def several_labels(gram, folder, monkeypatch):
    read_labels(table(folder, "id,a,b\ns,1,2\n"), ["s"])


def other_label(gram, folder, monkeypatch):
    read_labels(table(folder, "id,a,b\ns,1,2\n"), ["s"], label="c")


def other_separator(gram, folder, monkeypatch):
    dk.read_expression(table(folder, "id,a,b\ns,1\n"), samples="rows")


def transposed_file(gram, folder, monkeypatch):
    np.save(folder / "X.npy", X)
    dk.read_expression(folder / "X.npy", samples="columns")


def file_without_labels(gram, folder, monkeypatch):
    np.save(folder / "X.npy", X)
    dk.read_expression(folder / "X.npy", label="relapse")


def turned_matrix(gram, folder, monkeypatch):
    (folder / "labels.csv").write_text("id,relapse\nt,yes\n")
    dk.read_expression(table(folder, "id,t\ns,1\n"), samples="rows", labels=folder / "labels.csv")


def no_separator(gram, folder, monkeypatch):
    dk.read_expression(table(folder, "id|a\ns|1\n"), samples="rows")


def points_without_numbers(gram, folder, monkeypatch):
    bags_from_file(table(folder, "who,what\nme,this\n"), "who")


def points_of_text(gram, folder, monkeypatch):
    bags_from_file(table(folder, "who,x\nme,1\nyou,high\n"), "who", columns=["x"])


def points_half_numbers(gram, folder, monkeypatch):
    bags_from_file(table(folder, "who,x,y\nme,1,2\nyou,high,3\n"), "who")


def table_with_representation(gram, folder, monkeypatch):
    bags_from_file(table(folder, "who,x\nme,1\n"), "who", use_rep="X_pca")


def repeated_ids(gram, folder, monkeypatch):
    np.savez(folder / "c.npz", X=X, samples=["s"] * 6)
    dk.compute_gram(dk.Kendall(), folder / "c.npz", store=folder / "c.zarr")


def large_array(gram, folder, monkeypatch):
    gram.to_numpy(max_bytes=10)


def large_embedding(gram, folder, monkeypatch):
    dk.compute_gram(dk.Linear(), X, store=folder / "l.zarr", landmarks=2, executor="serial").embedding(max_bytes=1)


def little_memory(gram, folder, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 10)
    dk.KernelSVC().fit(gram, [0, 1] * 3)


def reference_alone(gram, folder, monkeypatch):
    write_report(folder / "r.html", gram=gram, reference=85.0)


def full_disk(gram, folder, monkeypatch):
    monkeypatch.setattr(places.shutil, "disk_usage", lambda path: namedtuple("usage", "free")(1))
    dk.compute_gram(dk.Linear(), X, store=folder / "f.zarr")


def overflow(gram, folder, monkeypatch):
    dk.compute_gram(dk.Linear(), X * 1e30, store=folder / "o.zarr", dtype="float32", executor="serial")


def constant_sample(gram, folder, monkeypatch):
    dk.compute_gram(dk.Kendall(ties="b"), np.ones((2, 3)), store=folder / "c.zarr")


def damaged_tile(gram, folder, monkeypatch):
    flip(folder / "x.zarr" / "gram" / "c" / "0" / "1")
    np.asarray(dk.open_gram(gram.path))


def damaged_samples(gram, folder, monkeypatch):
    flip(next(file for file in (folder / "x.zarr" / "rows" / "prepared" / "codes" / "c").rglob("*") if file.is_file()))
    dk.open_gram(gram.path).cross(X)


def damaged_samples_to_repair(gram, folder, monkeypatch):
    flip(next(file for file in (folder / "x.zarr" / "rows" / "prepared" / "codes" / "c").rglob("*") if file.is_file()))
    dk.repair_gram(gram.path)


def damaged_names(gram, folder, monkeypatch):
    flip(next(file for file in (folder / "x.zarr" / "rows" / "ids" / "c").rglob("*") if file.is_file()))
    dk.open_gram(gram.path).row_ids  # noqa: B018


def lost_samples(gram, folder, monkeypatch):
    flip(next(file for file in (folder / "x.zarr" / "rows" / "prepared" / "codes" / "c").rglob("*") if file.is_file()))
    with pytest.raises(dk.StoreError):
        dk.repair_gram(gram.path)
    dk.append_gram(gram.path, X[:1] + 1.5 * X[1:2])


def tile_not_computed(gram, folder, monkeypatch):
    GramStore.opened(gram.path).clear_checksums([(0, 1)])
    np.asarray(dk.open_gram(gram.path))


def replaced_store(gram, folder, monkeypatch):
    store = GramStore.opened(gram.path)
    dk.compute_gram(dk.Linear(), X, store=gram.path, overwrite=True)
    same_store(gram.path, store.manifest.id)


def values_alone(gram, folder, monkeypatch):
    ArrayGram(gram.to_numpy()).cross(X)


def failing_task(gram, folder, monkeypatch):
    def broken(self, i, j, values):
        if (i, j) == (0, 1):
            raise OSError("odd")
        return write(self, i, j, values)

    write = GramStore.write_tile
    monkeypatch.setattr(GramStore, "write_tile", broken)
    dk.compute_gram(dk.Kendall(), X, store=folder / "t.zarr", tile=3, executor="serial")


def many_new_samples(gram, folder, monkeypatch):
    monkeypatch.setattr("distkern.gram.cross.share_of", lambda limit, tasks: 1)
    gram.cross(X)


def no_store(gram, folder, monkeypatch):
    dk.open_gram(folder / "none.zarr")


def moved_store(gram, folder, monkeypatch):
    (folder / "x.zarr").rename(folder / "y.zarr")
    gram.to_numpy()


def forgotten_view(gram, folder, monkeypatch):
    dk.compute_gram(dk.Mallows(), X, store=gram.path, executor="serial", progress=False)
    (folder / "x.zarr" / "view" / "zarr.json").write_text("{}")
    dk.open_gram(gram.path)


def layer_and_representation(gram, folder, monkeypatch):
    anndata.AnnData(X).write_h5ad(folder / "a.h5ad")
    dk.read_expression(folder / "a.h5ad", layer="counts", use_rep="X_pca")


def layer_of_a_table(gram, folder, monkeypatch):
    dk.read_expression(table(folder, "id,a\ns,1\n"), samples="rows", layer="counts")


def text_as_cohort(gram, folder, monkeypatch):
    dk.compute_gram(dk.Kendall(), table(folder, "id,a\ns,1\n"), store=folder / "t.zarr")


def same_name_twice(gram, folder, monkeypatch):
    np.savez(folder / "a.npz", X=X, samples=list("abcdef"))
    dk.compute_gram(dk.Kendall(), folder / "a.npz", store=folder / "a.zarr")
    np.savez(folder / "b.npz", X=X[:1] + 1, samples=["c"])
    dk.append_gram(folder / "a.zarr", folder / "b.npz")


def small_limit(gram, folder, monkeypatch):
    dk.compute_gram(dk.Linear(), X, store=folder / "l.zarr", memory_limit=100)


def landmark_limit(gram, folder, monkeypatch):
    monkeypatch.setattr("distkern.build.landmarks.pool_bytes", lambda *given: 2**40)
    dk.plan_gram(dk.Linear(), X, landmarks=3, landmark_choice="leverage")


def landmarks_of_two_cohorts(gram, folder, monkeypatch):
    dk.plan_gram(dk.Linear(), X, X, landmarks=2)


def added_to(gram, folder, monkeypatch):
    dk.append_gram(gram.path, X + 1.5 * X[::-1])
    dk.compute_gram(dk.Kendall(), X, store=gram.path)


def grown_cohort(gram, folder, monkeypatch):
    dk.compute_gram(dk.Kendall(), np.vstack([X, X[::-1] * [1, -1, 1, -1, 2]]), store=gram.path)


MESSAGES = [
    (
        existing_store,
        "exists: leave out resume=False to complete it, or pass overwrite=True to replace it",
        "exists: leave out --no-resume to complete it, or pass --overwrite to replace it",
    ),
    (
        other_computation,
        "give another path, or overwrite=True to replace it",
        "give another path, or --overwrite to replace it",
    ),
    (
        orientation,
        "say which are the samples with samples='rows' or samples='columns' of distkern.read_expression",
        "say which are the samples with --samples rows or --samples columns",
    ),
    (absent_label, "give the file that holds them as labels=", "give the file that holds them as --labels FILE"),
    (
        text_among_numbers,
        "if 'a b' contains labels write label='a b', and if the samples are the table's columns write "
        "samples='columns'",
        "if 'a b' contains labels write --label 'a b', and if the samples are the table's columns write "
        "--samples columns",
    ),
    (several_labels, "name one with label=", "name one with --label COLUMN"),
    (other_label, "name one of 'a', 'b' with label=", "name one of 'a', 'b' with --label COLUMN"),
    (turned_matrix, "looks transposed, so write samples='columns'", "looks transposed, so write --samples columns"),
    (no_separator, "state its separator with sep=", "state its separator with --sep"),
    (other_separator, "or state the separator with sep=", "or state the separator with --sep"),
    (
        transposed_file,
        "save it transposed, or leave out samples='columns'",
        "save it transposed, or leave out --samples columns",
    ),
    (file_without_labels, "give the file that does as labels=", "give the file that does as --labels FILE"),
    (points_without_numbers, "name some with columns=", "name some with --columns"),
    (
        points_of_text,
        "name the columns with coordinates by columns=",
        "name the columns with coordinates by --columns",
    ),
    (points_half_numbers, "or name the columns with coordinates by columns=", "with coordinates by --columns"),
    (table_with_representation, "name its columns with columns=", "name its columns with --columns"),
    (repeated_ids, "make the ids unique, or give others with ids=", "make the ids unique"),
    (same_name_twice, "give the new samples other names with ids=", "give the new samples other names"),
    (
        small_limit,
        "may take 50 B: raise memory_limit=, or use fewer threads",
        "may take 50 B: raise --memory-limit, or use fewer threads",
    ),
    (
        landmark_limit,
        "use landmark_choice='random', which takes none",
        "use --landmark-choice random, which takes none",
    ),
    (
        landmarks_of_two_cohorts,
        "leave out Y= or landmarks=, or compute the matrix of the training samples with landmarks and use its "
        "cross(new)",
        "leave out --against FILE or --landmarks",
    ),
    (large_array, "raise max_bytes= of to_numpy(), or read it by block()", "raise --memory-limit"),
    (
        large_embedding,
        "raise max_bytes=, or pass over embedding_blocks()",
        "raise --memory-limit",
    ),
    (
        little_memory,
        "use fewer samples or a machine with more memory, or raise memory_limit=",
        "use fewer samples or a machine with more memory",
    ),
    (reference_alone, "pass evaluation=", "pass --evaluation FILE"),
    (full_disk, "or dtype='float32' for half the bytes", "or --dtype float32 for half the bytes"),
    (overflow, "so scale them, or use dtype='float64'", "so scale them, or use --dtype float64"),
    (
        constant_sample,
        "or use Kendall(ties='zero'), where it has kernel value 0",
        "or use --kernel kendall --ties zero, where it has kernel value 0",
    ),
    (damaged_tile, "recompute it with repair_gram('{store}')", "recompute it with `distkern verify --repair {store}`"),
    (
        damaged_samples,
        "run repair_gram('{store}'), which clears their checksums, then compute_gram with the same data",
        "run `distkern verify --repair {store}`, which clears their checksums, then `distkern gram` with the same data",
    ),
    (
        damaged_samples_to_repair,
        "run compute_gram with the same kernel and data again (all samples, where some were added), which prepares "
        "just those, then repair_gram('{store}')",
        "run `distkern gram` with the same kernel and data again (all samples, where some were added), which prepares "
        "just those, then `distkern verify --repair {store}`",
    ),
    (damaged_names, "are damaged: compute it with overwrite=True", "are damaged: compute it with --overwrite"),
    (
        lost_samples,
        "run compute_gram with the same kernel and all 6 samples in it, which prepares them again; then repeat the "
        "same call",
        "run `distkern gram` with the same kernel and all 6 samples in it, which prepares them again; then repeat the "
        "same command",
    ),
    (
        tile_not_computed,
        "run compute_gram again, or append_gram where samples were being added",
        "run `distkern gram` again, or `distkern append` where samples were being added",
    ),
    (
        replaced_store,
        "since it was opened: open it again with open_gram and repeat the same call",
        "since it was opened: repeat the same command",
    ),
    (
        many_new_samples,
        "give fewer at a time, or use compute_gram with the stored samples as Y=",
        "give fewer at a time, or use `distkern gram` with the stored samples as --against FILE",
    ),
    (
        moved_store,
        "was moved, deleted or unmounted; bring it back, or open it where it is now with open_gram",
        "was moved, deleted or unmounted; bring it back",
    ),
    (
        forgotten_view,
        "name the kernel with with_kernel, or ask for it again with compute_gram",
        "name the kernel with --kernel, or ask for it again with `distkern gram`",
    ),
    (
        layer_and_representation,
        "layer='counts' and use_rep='X_pca' exclude each other: choose one",
        "--layer counts and --use-rep X_pca exclude each other: choose one",
    ),
    (layer_of_a_table, "leave out layer=", "leave out --layer"),
    (no_store, "or make one with compute_gram", "or make one with `distkern gram`"),
    (
        text_as_cohort,
        "with samples='rows' or samples='columns' of distkern.read_expression",
        "with --samples rows or --samples columns",
    ),
    (added_to, "run append_gram again as before", "run `distkern append` again as before"),
    (grown_cohort, "add the others with append_gram", "add the others with `distkern append`"),
    (values_alone, "or use a Gram matrix from compute_gram", "or use a Gram matrix from `distkern gram`"),
    (
        failing_task,
        "failed with OSError: odd; all else is stored, and the same call tries it again",
        "failed with OSError: odd; all else is stored, and the same command tries it again",
    ),
]
"""What makes the library raise an error, and what it tells to users of Python and of the command line."""


@pytest.mark.parametrize(
    ("provoke", "python", "command_line"), MESSAGES, ids=lambda value: getattr(value, "__name__", "")
)
def test_message_names_what_its_reader_types(made, monkeypatch, provoke, python, command_line):
    with pytest.raises(dk.DistkernError) as raised:
        provoke(*made, monkeypatch)
    store = made[0].path
    error = pickle.loads(pickle.dumps(raised.value))  # as it arrives from a worker
    said = in_cli_words(error)
    assert python.format(store=store) in str(error)
    assert command_line.format(store=store) in said
    assert not re.search(r"\w=(True|False|'|\"|$|[,.:;) ])|_gram\b|\w\(\)", said.replace(store, "")), said
    assert said.endswith(command_line.format(store=store)) == str(error).endswith(python.format(store=store))


def test_nested_error_is_rendered():
    first = dk.InputError("pass {limit}", limit=Argument("memory_limit"))
    error = errors.TaskError("{failed} with {reason}", failed="task 3 failed", reason=first.sentence)
    assert in_cli_words(error) == "task 3 failed with pass --memory-limit"


def test_warning_with_a_sentence_is_rendered():
    warning = UserWarning(Sentence("pass {labels}", labels=Argument("labels")))
    assert str(warning) == "pass labels="
    assert in_cli_words(warning) == "pass --labels FILE"


def test_warning_of_a_solver_omits_parameters_that_no_option_sets():
    y = ["ill", "well"] * 3
    with pytest.warns(ConvergenceWarning) as caught:
        dk.KernelSVC(C=1e4, max_iter=1).fit(X @ X.T, y)
    message = caught[0].message
    assert str(message).endswith(
        "; raise max_iter= or max_passes=, scale the kernel (KernelStandardizer), or choose a smaller C"
    )
    assert in_cli_words(message).endswith("more than tol=0.001; choose a smaller C")


def test_finished_text_is_not_rewritten():
    assert in_cli_words("write labels= or call compute_gram") == "write labels= or call compute_gram"


def test_reference_outside_the_tables_keeps_its_python_name():
    error = dk.InputError("pass {own} to {call}", own=Argument("own"), call=Call("their_function"))
    assert in_cli_words(error) == "pass own= to their_function"


# The tables --------------------------------------------------------------------------------------------------------

PYTHON_ONLY = {"io/rankings/write.py", "learners/neighbors.py", "learners/persist.py"}
"""Modules whose arguments no command passes on."""


@cache
def _trees():
    """Syntax trees of the modules of the package."""
    package = Path(dk.__file__).parent
    files = {file.relative_to(package).as_posix(): file for file in sorted(package.rglob("*.py"))}
    return {where: ast.parse(file.read_text(encoding="utf-8")) for where, file in files.items()}


@cache
def _references():
    """All references in the package: where, which class, which name, and whether they are in an optional part."""
    return list(_found_references())


def _found_references():
    for where, tree in _trees().items():
        if where.startswith(("cli/", "core/sentences.py")):
            continue
        optional = {inner for node in ast.walk(tree) if _is_call(node, "OptionalPart") for inner in ast.walk(node)}
        for node in ast.walk(tree):
            for kind in ("Argument", "Call"):
                if _is_call(node, kind):
                    assert isinstance(node.args[0], ast.Constant), f"{where}:{node.lineno} names no constant"
                    yield f"{where}:{node.lineno}", kind, node.args[0].value, node in optional


def _is_call(node, name):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def test_tables_hold_exactly_the_references_of_the_package():
    named = {"Argument": set(), "Call": set()}
    for _, kind, name, _ in _references():
        named[kind].add(name)
    assert named["Argument"] == set(OPTIONS)
    assert named["Call"] == set(COMMANDS)


def test_reference_without_an_option_is_in_an_optional_part():
    for where, kind, name, optional in _references():
        if (OPTIONS if kind == "Argument" else COMMANDS)[name] is None:
            assert optional or where.partition(":")[0] in PYTHON_ONLY, f"{where}: {name} would reach the command line"


def test_options_and_commands_of_the_tables_exist():
    known = {option for command in main.commands.values() for param in command.params for option in param.opts}
    for words in filter(None, [*OPTIONS.values(), *COMMANDS.values()]):
        first, *rest = words.split()
        if first == "distkern":
            command, *options = rest
            assert set(options) <= {option for param in main.commands[command].params for option in param.opts}
        else:
            assert first in known


def test_no_message_spells_out_an_argument_that_has_an_option():
    """An argument with an option is a reference. Parameters of kernels are alike in both; a report shows code."""
    offered = "|".join(name for name, option in OPTIONS.items() if option is not None)
    raw = re.compile(rf"(?<![-\w])({offered})=(?=[\[\]'\" ,.;:)]|$|[A-Z])|\b(compute|append|repair)_gram\b")
    for where, tree in _trees().items():
        if where.startswith(("kernels/", "cli/kernels.py", "cli/wording.py", "report/content.py", "__init__.py")):
            continue
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        names = {node.args[0] for node in ast.walk(tree) if _is_call(node, "Call")}
        for node in set(texts) - docstrings - names:
            assert not raw.search(node.value), f"{where}:{node.lineno}: {node.value}"
