from __future__ import annotations

from pathlib import Path

import fault_injection
import numpy as np
import pytest
from fault_injection import Tally
from processes import SURROUNDINGS


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch):
    for name in SURROUNDINGS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def X() -> np.ndarray:
    return fault_injection.samples()


@pytest.fixture(scope="session")
def cohort(X, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("cohort") / "X.npy"
    np.save(path, X)
    return path


@pytest.fixture(scope="session")
def expected(X, tmp_path_factory) -> dict[str, bytes]:
    """The bytes that an undisturbed run stores."""
    return fault_injection.undisturbed(X, tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture
def store(tmp_path) -> Path:
    return tmp_path / "k.zarr"


@pytest.fixture
def tally(tmp_path) -> Tally:
    return Tally(tmp_path)
