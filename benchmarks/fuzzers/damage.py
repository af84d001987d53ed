"""Stores, models, bags and cohorts with damaged files: the right values, or an error that says what is damaged."""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import zarr

import distkern as dk
from fuzzers.calls import QUIET, answer
from fuzzers.inputs import ODD_NUMBERS, pick
from fuzzers.judge import Case, Wrong, fault_of_error, require, require_close
from fuzzers.tables import run

Generator = np.random.Generator
X = np.random.default_rng(0).normal(size=(10, 6))
MORE = np.random.default_rng(1).normal(size=(3, 6))
Y = np.repeat(["ill", "well"], 5)


@cache
def originals() -> Path:
    """A folder with one whole thing of each kind, made once."""
    folder = Path(tempfile.mkdtemp(prefix="distkern-fuzz-"))
    gram = dk.compute_gram(dk.Kendall(), X, store=folder / "kendall.zarr", tile=4, **QUIET)
    dk.compute_gram(dk.Linear(), X, store=folder / "linear.zarr", tile=4, **QUIET)
    dk.compute_gram(dk.Linear(), X[np.arange(10) % 3], store=folder / "equal.zarr", tile=2, **QUIET)
    dk.compute_gram(dk.Linear(), X, store=folder / "landmarks.zarr", tile=4, landmarks=4, **QUIET)
    dk.save_model(dk.KernelSVC().fit(gram, Y), folder / "model.npz", gram)
    dk.save_bags(dk.Bags.from_arrays([X[:4], X[4:]]), folder / "bags.zarr")
    zarr.save_array(folder / "cohort.zarr", X)
    anndata.AnnData(X).write_h5ad(folder / "cohort.h5ad")
    np.save(folder / "cohort.npy", X)
    np.savez(folder / "cohort.npz", X=X, samples=np.array([f"s{k}" for k in range(10)]))
    return folder


def forget() -> None:
    """Delete the folder, if it was made."""
    if originals.cache_info().currsize:
        shutil.rmtree(originals())
        originals.cache_clear()


# Damage ---------------------------------------------------------------------------------------------------------------


def damaged(rng: Generator, thing: Path) -> str:
    """Damage one file of a thing; say how."""
    files = sorted(path for path in ([thing] if thing.is_file() else thing.rglob("*")) if path.is_file())
    documents = [path for path in files if path.suffix == ".json"]
    if documents and rng.random() < 0.4:
        return _document(rng, pick(rng, documents))
    if thing.suffix == ".npz" and rng.random() < 0.4:
        return _member(rng, thing)
    file = pick(rng, files)
    content = bytearray(file.read_bytes())
    name = file.name if file == thing else str(file.relative_to(thing))
    how = pick(rng, ["flip", "flip", "flip", "cut", "zero", "swap", "lose", "empty", "longer"])
    where = int(rng.integers(len(content))) if content else 0
    if how == "lose":
        file.unlink()
    elif how == "swap":
        other = pick(rng, files)
        whole = other.read_bytes()
        other.write_bytes(content)
        file.write_bytes(whole)
    else:
        changed = {
            "flip": lambda: (
                content[:where] + bytes([content[where] ^ (1 << int(rng.integers(8)))]) + content[where + 1 :]
            ),
            "cut": lambda: content[:where],
            "zero": lambda: content[:where] + bytes(min(8, len(content) - where)) + content[where + 8 :],
            "empty": lambda: b"",
            "longer": lambda: content + content,
        }[how]()
        file.write_bytes(changed)
    return f"{how} {name} at {where}"


def _document(rng: Generator, file: Path) -> str:
    """Change one field of a JSON document."""
    document = json.loads(file.read_text())
    part, path = document, [file.parent.name]
    while True:
        key = pick(rng, list(part) if isinstance(part, dict) else range(len(part)))
        path.append(str(key))
        if not (isinstance(part[key], (dict, list)) and part[key]) or rng.random() < 0.1:
            break
        part = part[key]
    values = [value for value in ODD_NUMBERS if isinstance(value, (int, float, str, list, dict, type(None)))]
    new = pick(rng, [*values, -5, 2**40, 10**15, "float32", "<f4", [2**40, 2**40], [3, 3], "x" * 10_000, {"a": {}}])
    if rng.random() < 0.2 and isinstance(part, dict):
        del part[key]
        what = "deleted"
    else:
        part[key], what = new, f"= {str(new)[:40]}"
    file.write_text(json.dumps(document))
    return f"{'/'.join(path)} {what}"


def _member(rng: Generator, file: Path) -> str:
    """Change bytes of one member of a zip file, whose checksum then fits them."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = pick(rng, sorted(members))
    content = bytearray(members[name])
    where = int(rng.integers(len(content)))
    content[where] = int(rng.integers(256))
    members[name] = bytes(content[:where]) if rng.random() < 0.2 else bytes(content)
    if rng.random() < 0.1:
        del members[name]
    with zipfile.ZipFile(file, "w") as archive:
        for other, written in members.items():
            archive.writestr(other, written)
    return f"rewritten {name} at {where}"


# What is done with it -------------------------------------------------------------------------------------------------


def draw(rng: Generator, folder: Path) -> Case:
    """Damage a copy of something, and use it."""
    name, use = pick(
        rng,
        [
            *[("kendall.zarr", _use_store)] * 3, *[("linear.zarr", _use_store)] * 2, *[("equal.zarr", _use_store)] * 2,
            ("landmarks.zarr", _use_landmarks), *[("model.npz", _use_model)] * 3, *[("bags.zarr", _use_bags)] * 2,
            ("cohort.zarr", _use_cohort), ("cohort.h5ad", _use_cohort), ("cohort.npy", _use_cohort),
            ("cohort.npz", _use_cohort),
        ],
    )  # fmt: skip
    whole, copy = originals() / name, folder / name
    (shutil.copytree if whole.is_dir() else shutil.copy)(whole, copy)
    how = damaged(rng, copy)
    what, act = use(rng, copy, how)
    return Case(f"{name}, {how}: {what}", act)


def _quietly(call: Callable[[], Any]) -> Any:
    """Call; None if it raises an error with a good sentence."""
    try:
        return call()
    except (dk.DistkernError, ValueError, TypeError) as error:
        fault = fault_of_error(error)
        if fault is not None:
            raise Wrong(fault) from error
        return None


def _use_store(rng: Generator, path: Path, how: str) -> tuple[str, Callable[[], None]]:
    samples = X[np.arange(10) % 3] if path.name == "equal.zarr" else X
    kernel = dk.Kendall() if path.name == "kendall.zarr" else dk.Linear()
    expected, grown = kernel(samples), kernel(np.concatenate([samples, MORE]))
    use = pick(rng, ["read", "read", "append", "repair", "complete", "learn", "inspect", "product", "cross", "command"])
    words = pick(
        rng, [["info"], ["info", "--json"], ["verify"], ["status"], ["status", "--json"], ["cluster", "-k", 2]]
    )

    def act() -> None:
        if use == "append":
            gram = _quietly(lambda: dk.append_gram(path, MORE, **QUIET))
            if gram is not None:
                require_close(gram.to_numpy(), grown, rtol=1e-12)
            return
        if use == "complete":
            gram = _quietly(lambda: dk.compute_gram(kernel, samples, store=path, tile=4, **QUIET))
            if gram is not None:
                require_close(gram.to_numpy(), expected, rtol=1e-12)
            return
        if use == "command":
            run(words[0], path, *words[1:])
            return
        gram = dk.open_gram(path)
        if use == "repair":
            _quietly(lambda: dk.repair_gram(path, **QUIET))
            gram = dk.open_gram(path)
        if use == "inspect":
            gram.info(), gram.status(), repr(gram), gram.diag()
            if gram.verify(progress=False) != []:
                return
        if use == "learn":
            found = dk.KernelRidge(1.0).fit(gram, np.arange(10.0)).predict(gram)
            require_close(found, dk.KernelRidge(1.0).fit(expected, np.arange(10.0)).predict(expected), rtol=1e-9)
        if use == "product":
            require_close(gram.matmat(np.eye(10)), expected, rtol=1e-12)
        if use == "cross":
            require_close(np.asarray(gram.cross(MORE)), kernel(MORE, samples), rtol=1e-12)
        require_close(gram.to_numpy(), expected, rtol=1e-12)
        require(gram.ids == tuple(map(str, range(10))), f"ids {gram.ids}")

    return use, act


def _use_landmarks(rng: Generator, path: Path, how: str) -> tuple[str, Callable[[], None]]:
    expected = dk.open_gram(originals() / path.name).to_numpy()

    def act() -> None:
        gram = dk.open_gram(path)
        gram.info(), repr(gram)
        require_close(gram.to_numpy(), expected, rtol=1e-9)

    return "read", act


def _use_model(rng: Generator, path: Path, how: str) -> tuple[str, Callable[[], None]]:
    expected = answer(dk.load_model(originals() / path.name), MORE)

    def act() -> None:
        found = answer(dk.load_model(path), MORE)
        if not how.startswith("rewritten"):  # whose numbers are those of whoever wrote them
            require(list(found) == list(expected), f"{found} instead of {expected}")

    return "predict", act


def _use_bags(rng: Generator, path: Path, how: str) -> tuple[str, Callable[[], None]]:
    expected = dk.load_bags(originals() / path.name)
    whole = pick(rng, [True, False])

    def act() -> None:
        if whole:
            found = dk.load_bags(path)
            require(found == expected, f"{found!r} holds other values")
        else:
            found = dk.MeanMap(dk.Linear())(path)
            require_close(found, dk.MeanMap(dk.Linear())(expected), rtol=1e-9)

    return "load" if whole else "kernel", act


def _use_cohort(rng: Generator, path: Path, how: str) -> tuple[str, Callable[[], None]]:
    """Files of others hold no checksums: whatever can be read is what they hold, but lost values are no zeros."""
    use = pick(rng, ["kernel", "store", "read"])

    def act() -> None:
        if use == "kernel":
            found = dk.Linear()(path)
        elif use == "store":
            found = dk.compute_gram(dk.Linear(), path, store=path.parent / "k.zarr", **QUIET).to_numpy()
        else:
            found = dk.read_expression(path).X
            if path.suffix == ".zarr" and (how.startswith(("lose c", "cut", "empty c"))):
                require_close(found, X, rtol=0.0)
            return
        if path.suffix == ".zarr" and how.startswith(("lose c", "empty c")):
            require_close(found, X @ X.T, rtol=1e-9)

    return use, act
