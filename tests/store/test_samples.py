"""Names, index and prepared samples of a store: damage is noticed."""

import numpy as np
import pytest

from distkern import CorruptTileError, Gaussian, Kendall, compute_gram, open_gram
from distkern.io.digests import sample_digests
from distkern.store.tiles import GramStore

X = np.random.default_rng(0).normal(size=(20, 30))


def test_a_damaged_diagonal_or_name_is_noticed(tmp_path):
    compute_gram(Gaussian(3.0), X, store=tmp_path / "g.zarr", tile=10)
    for file, position in ((tmp_path / "g.zarr/rows/prepared/diagonal/c/0", 7), (tmp_path / "g.zarr/rows/ids/c/0", 3)):
        whole = file.read_bytes()
        file.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(Exception, match=r"checksum|damaged"):
            open_gram(tmp_path / "g.zarr").unit_norm()
        file.write_bytes(whole)


def test_flipped_bit_in_the_index_of_equal_samples_is_noticed(tmp_path):
    equal = X[np.arange(30) % 4]
    path = tmp_path / "k.zarr"
    gram = compute_gram(Kendall(), equal, store=path, tile=2, executor="serial", progress=False)
    assert gram.info()["samples_computed"] == [4, 4]
    file = path / "rows" / "index" / "c" / "0"
    whole = bytearray(file.read_bytes())
    whole[4 * 5] ^= 1  # sample 5 is now said to equal computed sample 0, which exists
    file.write_bytes(whole)
    with pytest.raises(CorruptTileError, match=r"the record of equal rows of .*k.zarr' is damaged"):
        open_gram(path).to_numpy()
    assert any("record of equal rows" in damage for damage in open_gram(path).verify(progress=False))


@pytest.mark.parametrize("which", [np.arange(12), np.arange(12) % 4], ids=["unlike", "equal"])
def test_digests_of_all_samples_are_those_of_the_values(tmp_path, which):
    compute_gram(Kendall(), X[which], store=tmp_path / "k.zarr", tile=5, executor="serial", progress=False)
    rows = GramStore.opened(str(tmp_path / "k.zarr")).rows
    np.testing.assert_array_equal(rows.all_digests(), sample_digests(X[which]))
