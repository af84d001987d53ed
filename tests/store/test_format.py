"""The format is open: the reader that its page prints needs no distkern, and reads the same values."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from distkern import Kendall, Mallows, compute_gram

PAGE = Path(__file__).parents[2] / "docs" / "format.md"
READER = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, (23, 12)).astype(float)
NAMES = [f"Probe {number} λ" for number in range(23)]


@pytest.mark.parametrize("rows", [np.arange(23), RNG.integers(0, 6, 23)], ids=["distinct", "equal"])
def test_the_reader_of_the_page_gives_the_same_values_without_distkern(rows, tmp_path):
    gram = compute_gram(Kendall(ties="b"), X[rows], store=tmp_path / "k.zarr", tile=5, ids=NAMES)
    calls = "S, t, names = read_concordance('k.zarr'); np.savez('read.npz', S=S, t=t, names=names)"
    alone = f"import sys; sys.modules['distkern'] = None\n{READER}\n{calls}"
    subprocess.run([sys.executable, "-c", alone], cwd=tmp_path, check=True, timeout=120)
    read = np.load(tmp_path / "read.npz")
    S, t = read["S"], read["t"]
    assert read["names"].tolist() == NAMES
    assert S.dtype == np.int32
    np.testing.assert_array_equal(S / np.sqrt(np.multiply.outer(t, t, dtype=float)), gram.to_numpy())
    np.testing.assert_array_equal(S / 66, gram.with_kernel(Kendall()).to_numpy())
    np.testing.assert_array_equal(
        np.exp(-0.1 * (np.add.outer(t, t) - 2 * S) / 4), gram.with_kernel(Mallows(0.1)).to_numpy()
    )


def test_the_reader_notices_a_tile_that_is_damaged(tmp_path):
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=5)
    (tmp_path / "k.zarr" / "gram" / "c" / "0" / "1").unlink()
    space = {}
    exec(READER, space)
    with pytest.raises(ValueError, match=r"tile \(0, 1\) is not done, or damaged"):
        space["read_concordance"](tmp_path / "k.zarr")
