"""Small stores of each kind, made once, and passes that run on the executor however little they read."""

import numpy as np
import pytest

from distkern import Kendall, Linear, compute_gram
from distkern.gram import map_reduce

rng = np.random.default_rng(3)
X = rng.normal(size=(90, 12)).round(1)
Y = rng.normal(size=(40, 12)).round(1)
REPEATED = X[rng.integers(0, 20, size=90)]


@pytest.fixture
def on_executor(monkeypatch):
    """Run every pass on the executor, however little it reads."""
    monkeypatch.setattr(map_reduce, "SMALL_BYTES", 0)


@pytest.fixture(scope="session")
def stores(tmp_path_factory):
    """Paths of stores of 90 column samples by name."""
    folder, here = tmp_path_factory.mktemp("gram"), {"executor": "serial", "progress": False}
    compute_gram(Kendall(), X, store=folder / "symmetric", tile=5, **here)
    compute_gram(Linear(), X, store=folder / "floats", tile=7, dtype="float32", **here)
    compute_gram(Kendall(ties="b"), Y, X, store=folder / "rectangular", tile=9, **here)
    repeated = compute_gram(Kendall(), REPEATED, store=folder / "repeated", tile=4, **here)
    assert repeated.info()["samples_computed"][0] <= 20
    return {path.name: path for path in folder.iterdir()}


@pytest.fixture
def symmetric(stores):
    """Kendall's kernel: integers and a summary."""
    return stores["symmetric"]


@pytest.fixture
def floats(stores):
    """A linear kernel in single precision."""
    return stores["floats"]
