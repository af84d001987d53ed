from __future__ import annotations

import pytest
from executor_contract import SIDE, X
from fault_injection import stored

from distkern import Kendall, compute_gram


@pytest.fixture(scope="session")
def serial_bytes(tmp_path_factory) -> dict[str, bytes]:
    """The bytes that one thread stores of the contract's Gram matrix."""
    store = tmp_path_factory.mktemp("serial") / "k.zarr"
    compute_gram(Kendall(), X, store=store, tile=SIDE, executor="serial")
    return stored(store)
