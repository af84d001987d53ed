"""Compressed text is read whatever the name of the file; what is cut off is refused."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys

import numpy as np
import pyarrow
import pytest

from distkern.core.errors import InputError, MissingExtraError
from distkern.io.compression import ENDINGS, beginning_of, compression_of, opened
from distkern.io.expression import read_expression
from distkern.io.registry import find_format

TEXT = ("gene\ts1\ts2\n" + "".join(f"g{k}\t{k * 17 % 1001}\t{k * 13 % 997}\n" for k in range(5000))).encode()


def zstd(data: bytes) -> bytes:
    return pyarrow.compress(data, codec="zstd", asbytes=True)


WAYS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "Zstandard": zstd}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["cohort.tsv", "cohort", "cohort.tsv.gz", "cohort.TXT.zst"])
def test_compressed_tables_are_read_by_content(tmp_path, way, name):
    path = tmp_path / name
    path.write_bytes(WAYS[way](TEXT))
    assert compression_of(path.read_bytes()).name == way
    assert find_format(path).name == "text table"
    adata = read_expression(path, samples="columns")
    assert adata.shape == (2, 5000)
    np.testing.assert_array_equal(adata.X[0], [k * 17 % 1001 for k in range(5000)])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("part", [0.3, 0.9, 0.999])
def test_what_is_cut_off_is_refused(tmp_path, way, part):
    data = WAYS[way](TEXT)
    (tmp_path / "cohort.tsv").write_bytes(data[: int(len(data) * part)])
    with pytest.raises(InputError, match=f"'cohort.tsv' is a damaged {way} file .*: get it again"):
        read_expression(tmp_path / "cohort.tsv", samples="columns")


@pytest.mark.parametrize("way", WAYS)
def test_the_beginning_needs_no_whole_file(way):
    rng = np.random.default_rng(0)
    long = TEXT + rng.bytes(500_000)
    begun = beginning_of(WAYS[way](long)[: 2**16])
    assert (not begun and way in ("bzip2", "Zstandard")) or long.startswith(begun)
    assert beginning_of(b"\xef\xbb\xbftext") == b"text"
    assert beginning_of(b"\x1f\x8b nothing of gzip") == b""


def test_zstandard_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "cohort.tsv.zst").write_bytes(zstd(TEXT))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"Zstandard.*pip install 'distkern\[files\]'"):
        read_expression(tmp_path / "cohort.tsv.zst", samples="columns")


def test_a_file_that_is_not_compressed_is_opened_as_it_is(tmp_path):
    (tmp_path / "a.bz2").write_bytes(b"BZ is no header")
    with opened(tmp_path / "a.bz2") as file:
        assert file.read() == b"BZ is no header"
    assert ENDINGS[0] == ""
