from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from processes import GRAM, SURROUNDINGS, tiles

from distkern.cli.main import main
from distkern.engine.dask.security import Certificates, write_certificates


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch):
    for name in SURROUNDINGS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory) -> Certificates:
    return write_certificates(tmp_path_factory.mktemp("tls") / "made")


@pytest.fixture(scope="session")
def cohort(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("cohort") / "X.npy"
    np.save(path, np.random.default_rng(7).normal(size=(30, 40)))
    return path


@pytest.fixture
def run():
    def invoke(*words: object):
        result = CliRunner().invoke(main, list(map(str, words)))
        assert "Traceback" not in result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    return invoke


@pytest.fixture(scope="session")
def expected(cohort, tmp_path_factory) -> dict[str, bytes]:
    """The bytes that threads of one process store."""
    store = tmp_path_factory.mktemp("threads") / "k.zarr"
    result = CliRunner().invoke(main, ["gram", str(cohort), str(store), *GRAM, "--threads", "1"])
    assert result.exit_code == 0, result.output
    stored = tiles(store)
    assert len(stored) == 10
    return stored
