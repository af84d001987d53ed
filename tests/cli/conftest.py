"""A small cohort in the files that people have, and the command line that reads them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from distkern.cli.main import main

Run = Callable[..., Result]


@dataclass(frozen=True)
class Cohort:
    folder: Path
    X: np.ndarray
    ids: list[str]
    genes: list[str]
    relapse: list[str]

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def write(self, name: str, X: np.ndarray, ids: Sequence[str] | None = None) -> Path:
        """Write samples in rows."""
        return write_table(self.folder / name, X.tolist(), self.ids[: len(X)] if ids is None else ids, self.genes)


def write_table(path: Path, cells: Sequence[Sequence[object]], rows: Sequence[str], columns: Sequence[str]) -> Path:
    lines = [["id", *columns], *([row, *line] for row, line in zip(rows, cells, strict=True))]
    path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
    return path


@pytest.fixture(scope="session")
def written_cohort(tmp_path_factory: pytest.TempPathFactory) -> Cohort:
    """The files of the cohort and its store, written once; tests are given copies."""
    folder = tmp_path_factory.mktemp("cohort")
    relapse = ["yes", "no"] * 12
    X = np.random.default_rng(0).normal(size=(24, 15)).round(2)
    X[::2, :3] += 2
    ids = [f"p{number:02d}" for number in range(24)]
    genes = [f"g{number}" for number in range(15)]
    made = Cohort(folder, X, ids, genes, relapse)
    made.write("rows.csv", X)
    write_table(folder / "columns.csv", [*X.T.tolist(), relapse], [*genes, "relapse"], ids)
    clinical = [[label, f"centre{number // 3}"] for number, label in enumerate(relapse)]
    write_table(folder / "clinical.csv", clinical, ids, ["relapse", "centre"])
    np.save(folder / "X.npy", X)
    np.savez(folder / "cohort.npz", X=X, samples=ids, features=genes, relapse=relapse)
    words = ["gram", folder / "rows.csv", folder / "cohort.zarr", "--samples", "rows", "--kernel", "kendall"]
    words += ["--ties", "b", "--tile", 10]
    assert CliRunner().invoke(main, list(map(str, words))).exit_code == 0
    return made


@pytest.fixture
def cohort(tmp_path: Path, written_cohort: Cohort) -> Cohort:
    shutil.copytree(written_cohort.folder, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.zarr"))
    return replace(
        written_cohort,
        folder=tmp_path,
        X=written_cohort.X.copy(),
        ids=list(written_cohort.ids),
        genes=list(written_cohort.genes),
        relapse=list(written_cohort.relapse),
    )


@pytest.fixture
def run() -> Run:
    def invoke(*words: object) -> Result:
        result = CliRunner().invoke(main, list(map(str, words)))
        assert "Traceback" not in result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    return invoke


@pytest.fixture
def store(cohort: Cohort, written_cohort: Cohort) -> Path:
    return shutil.copytree(written_cohort / "cohort.zarr", cohort / "cohort.zarr")
