"""The layout is open: Zarr writes the same documents, and a reader without distkern reads the same values."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from documents import rewrite
from marks import with_slow

from distkern import Kendall, Mallows, StoreError, compute_gram, open_gram
from distkern.store.layout import Layout, arrays_of, read_temporary_layout
from distkern.store.manifest import Manifest

PAGE = Path(__file__).parents[2] / "docs" / "format.md"
READER = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, (23, 12)).astype(float)
NAMES = [f"Probe {number} λ" for number in range(23)]


@pytest.fixture
def store(tmp_path):
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=3, executor="serial")
    return tmp_path / "k.zarr"


@pytest.mark.parametrize("codec", with_slow(["pickle", "sharding_indexed"], ["json2", "zlib", "numcodecs.pickle"]))
def test_only_codecs_of_distkern_are_built(store, codec, monkeypatch):
    import zarr.registry

    asked = []
    known = zarr.registry.get_codec_class
    monkeypatch.setattr(zarr.registry, "get_codec_class", lambda name: asked.append(name) or known(name))
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": codec, "configuration": {}}]
    rewrite(store, "gram/zarr.json", codecs=codecs)
    with pytest.raises(StoreError, match="'codecs' of 'gram' cannot be"):
        open_gram(store).to_numpy()
    assert codec not in asked


def test_the_documents_are_those_that_zarr_writes(store, tmp_path):
    import zarr

    group = zarr.open_group(store, mode="r")
    for name in arrays_of(Manifest.from_json("k.zarr", group.attrs["distkern"])):
        array = group[name]
        again = zarr.create_array(
            tmp_path / "again" / name,
            shape=array.shape,
            chunks=array.chunks,
            dtype=array.dtype,
            fill_value=array.fill_value,
            compressors=array.compressors or None,
        )
        ours = json.loads((store / name / "zarr.json").read_bytes())
        assert ours == json.loads((tmp_path / "again" / name / "zarr.json").read_bytes())
        assert again.metadata == array.metadata


@pytest.mark.parametrize("rows", [np.arange(23), RNG.integers(0, 6, 23)], ids=["distinct", "equal"])
def test_reader_in_the_documentation_gives_the_same_values_without_distkern(rows, tmp_path):
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


def test_reader_in_the_documentation_notices_a_damaged_tile(tmp_path):
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=5)
    (tmp_path / "k.zarr" / "gram" / "c" / "0" / "1").unlink()
    space = {}
    exec(READER, space)
    with pytest.raises(ValueError, match=r"tile \(0, 1\) is not done, or damaged"):
        space["read_concordance"](tmp_path / "k.zarr")


def test_the_document_of_a_temporary_array_is_what_distkern_writes():
    layout = Layout((5, 3), (2, 3), "float64")
    document = layout.document()
    assert read_temporary_layout("k.zarr", "tmp/V", json.dumps(document).encode()) == layout
    for key, value in [
        ("data_type", "object"),
        ("fill_value", True),
        ("shape", [5, "3"]),
        ("shape", [-5, 3]),
        ("codecs", []),
    ]:
        with pytest.raises(StoreError, match=r"'tmp/V' is no temporary array"):
            read_temporary_layout("k.zarr", "tmp/V", json.dumps({**document, key: value}).encode())
