"""Every translation from Python's words into those of the command line meets a message that the library raises."""

from __future__ import annotations

import re
from collections import namedtuple

import numpy as np
import pytest

import distkern as dk
from distkern.cli.errors import _IN_CLI_WORDS, in_cli_words
from distkern.io.labels import read_labels
from distkern.io.points import bags_from_file
from distkern.learners import checks
from distkern.report import write_report
from distkern.store import location as places

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
    held = bytearray(file.read_bytes())
    held[len(held) // 2] ^= 1
    file.write_bytes(held)


def existing_store(gram, folder, monkeypatch):
    dk.compute_gram(dk.Kendall(), X, store=gram.path, resume=False)


def other_computation(gram, folder, monkeypatch):
    dk.compute_gram(dk.Linear(), X, store=gram.path)


def orientation(gram, folder, monkeypatch):
    dk.read_expression(table(folder, "id,a\ns,1\n"))


def absent_label(gram, folder, monkeypatch):
    dk.read_expression(table(folder, "id,a\ns,1\n"), samples="rows", label="relapse")


def text_among_numbers(gram, folder, monkeypatch):
    dk.read_expression(table(folder, "id,a\ns,high\n"), samples="rows")


def several_labels(gram, folder, monkeypatch):
    read_labels(table(folder, "id,a,b\ns,1,2\n"), ["s"])


def no_separator(gram, folder, monkeypatch):
    dk.read_expression(table(folder, "id|a\ns|1\n"), samples="rows")


def points_without_numbers(gram, folder, monkeypatch):
    bags_from_file(table(folder, "who,what\nme,this\n"), "who")


def repeated_ids(gram, folder, monkeypatch):
    np.savez(folder / "c.npz", X=X, samples=["s"] * 6)
    dk.compute_gram(dk.Kendall(), folder / "c.npz", store=folder / "c.zarr")


def large_array(gram, folder, monkeypatch):
    gram.to_numpy(max_bytes=10)


def little_memory(gram, folder, monkeypatch):
    monkeypatch.setattr(checks, "available_memory", lambda: 10)
    dk.KernelSVC().fit(gram, [0, 1] * 3)


def reference_alone(gram, folder, monkeypatch):
    write_report(folder / "r.html", gram=gram, reference=85.0)


def full_disk(gram, folder, monkeypatch):
    monkeypatch.setattr(places.shutil, "disk_usage", lambda path: namedtuple("usage", "free")(1))
    dk.compute_gram(dk.Linear(), X, store=folder / "f.zarr")


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


def many_new_samples(gram, folder, monkeypatch):
    monkeypatch.setattr("distkern.gram.cross.share_of", lambda limit, tasks: 1)
    gram.cross(X)


def no_store(gram, folder, monkeypatch):
    dk.open_gram(folder / "none.zarr")


def text_as_cohort(gram, folder, monkeypatch):
    dk.compute_gram(dk.Kendall(), table(folder, "id,a\ns,1\n"), store=folder / "t.zarr")


def same_name_twice(gram, folder, monkeypatch):
    np.savez(folder / "a.npz", X=X, samples=list("abcdef"))
    dk.compute_gram(dk.Kendall(), folder / "a.npz", store=folder / "a.zarr")
    np.savez(folder / "b.npz", X=X[:1] + 1, samples=["c"])
    dk.append_gram(folder / "a.zarr", folder / "b.npz")


def small_limit(gram, folder, monkeypatch):
    dk.compute_gram(dk.Linear(), X, store=folder / "l.zarr", memory_limit=100)


def added_to(gram, folder, monkeypatch):
    dk.append_gram(gram.path, X + 1.5 * X[::-1])
    dk.compute_gram(dk.Kendall(), X, store=gram.path)


def grown_cohort(gram, folder, monkeypatch):
    dk.compute_gram(dk.Kendall(), np.vstack([X, X[::-1] * [1, -1, 1, -1, 2]]), store=gram.path)


MESSAGES = {
    r"\bpass resume=True": (
        existing_store,
        "exists: leave out --no-resume to complete it, or --overwrite to replace it",
    ),
    r"\boverwrite=True": (other_computation, "give another path, or --overwrite to replace it"),
    r"\bsamples='(rows|columns)'": (orientation, "say which are the samples with --samples rows or --samples columns"),
    r"\blabels=(?=[:;,. ]|$)": (absent_label, "give the file that holds them as --labels FILE"),
    r"\blabel=('[^']*'|\"[^\"]*\")": (text_among_numbers, "if 'a' contains labels write --label 'a', and"),
    r"\blabel=(?=[:;,. ]|$)": (several_labels, "name one with --label COLUMN"),
    r"\bsep=(?=[:;,. ]|$)": (no_separator, "state its separator with --sep"),
    r"\bcolumns=(?=[:;,. ]|$)": (points_without_numbers, "could be coordinates: name some with --columns"),
    r", or give others with ids=": (repeated_ids, "make the ids unique"),
    r"\bgive the new ones other ids=": (same_name_twice, "name the new ones otherwise in their file"),
    r"\ballow more by memory_limit=, or fewer threads": (
        small_limit,
        "give a larger --memory-limit or fewer --threads",
    ),
    r"\bmax_bytes= to to_numpy\(\)": (large_array, "or pass --memory-limit"),
    r", or raise memory_limit=$": (little_memory, "use fewer samples or a machine with more memory"),
    r"\bevaluation=(?=[:;,. ]|$)": (reference_alone, "pass --evaluation FILE"),
    r"\bdtype=\"(float32|float64)\"": (full_disk, "or --dtype float32 for half the bytes"),
    r"\bKendall\(ties=\"zero\"\)": (constant_sample, "or use --kernel kendall --ties zero, where"),
    r"\brepair_gram\([^)]*\), or (?=`)": (damaged_tile, "recompute it with `distkern verify --repair "),
    r"\brepair_gram\(('[^']*')\)": (damaged_samples, "run `distkern verify --repair` on '"),
    r"\brepair_gram\b": (damaged_samples_to_repair, "prepares just those, then `distkern verify --repair`"),
    r"compute_gram\(kernel, new, Y=old, store=\.\.\.\)": (
        many_new_samples,
        "use `distkern gram NEW STORE --against OLD`",
    ),
    r"\bcompute_gram\b": (no_store, "or make one with `distkern gram`"),
    r"\bcall append_gram as before\b": (added_to, "run the same `distkern append` again, which goes on from there"),
    r"\bappend_gram\b": (grown_cohort, "add the others with `distkern append`"),
    r"read text tables with distkern\.read_expression first": (text_as_cohort, "text tables end in .csv, .tsv,"),
}


def test_every_translation_has_its_message():
    assert [pattern for pattern, _ in _IN_CLI_WORDS] == list(MESSAGES)


@pytest.mark.parametrize("pattern", MESSAGES)
def test_a_message_of_the_library_is_translated(made, monkeypatch, pattern):
    provoke, words = MESSAGES[pattern]
    with pytest.raises(dk.DistkernError) as raised:
        provoke(*made, monkeypatch)
    message = " ".join(str(raised.value).split())
    assert re.search(pattern, message), message
    said = in_cli_words(message)
    assert words in said
    assert not re.search(r"\w=(True|False|'|\"|$|[,.:;) ])|_gram\b", said.replace(made[0].path, "")), said


def test_a_plan_refuses_several_ways_to_run_as_the_computation_does(run, tmp_path):
    np.save(tmp_path / "X.npy", np.eye(3))
    for command in ("plan", "gram"):
        done = run(
            command, tmp_path / "X.npy", tmp_path / "x.zarr", "--kernel", "linear", "--workers", "4", "--threads", "2"
        )
        assert done.exit_code == 2
        assert "--workers and --threads exclude each other" in done.stderr


def test_after_an_interrupted_append_append_is_advised(run, tmp_path):
    from distkern import Linear, compute_gram
    from distkern.build.append import append_gram

    X = np.random.default_rng(0).normal(size=(12, 5))
    np.save(tmp_path / "old.npy", X[:8])
    store = tmp_path / "x.zarr"
    compute_gram(Linear(), X[:8], store=store, tile=2)

    def interrupt(event):
        if event.phase == "compute tiles" and event.done > 15:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        append_gram(store, X[8:], executor="serial", progress=interrupt)
    for command in ("status", "info", "verify"):
        assert "the same `distkern append` goes on" in (done := run(command, store)).stdout + done.stderr, command
    again = run("gram", tmp_path / "old.npy", store, "--kernel", "linear", "--tile", "2")
    assert again.exit_code == 3
    assert "run the same `distkern append` again" in again.stderr
    assert "--overwrite" not in again.stderr


def test_damaged_names_are_told_in_whole_sentences(run, tmp_path):
    from distkern import Linear, compute_gram

    store = tmp_path / "x.zarr"
    compute_gram(Linear(), np.eye(4), store=store)
    (chunk,) = [path for path in (store / "rows" / "ids").rglob("*") if path.is_file() and path.name != "zarr.json"]
    held = bytearray(chunk.read_bytes())
    held[-1] ^= 1
    chunk.write_bytes(held)
    done = run("verify", store)
    assert done.exit_code == 3
    assert "names of the rows" in done.stdout
    assert "Truechecksum" not in done.stdout
    assert "overwrite=True" not in done.stdout
