"""Data that are downloaded, here from loopback: once, by their checksum, and with a remedy where nothing is there."""

from __future__ import annotations

import gzip
import hashlib
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.resources import files

import numpy as np
import pytest

from distkern import InputError, MissingExtraError
from distkern.datasets import fetch_mnist, mnist
from distkern.datasets.remote import FOLDER_VARIABLE

pytest.importorskip("pooch")

IMAGES = np.arange(3 * 28 * 28).reshape(3, 28, 28).astype(np.uint8)
DIGITS = np.array([5, 0, 4], np.uint8)


def idx(array):
    """An array of bytes in the format of MNIST's files, as its authors describe it."""
    return bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape) + array.tobytes()


def content(name):
    """A compressed file of a part; those of the test part differ by 1."""
    shift = np.uint8(name.startswith("t10k"))
    return gzip.compress(idx((IMAGES if "images" in name else DIGITS) + shift), mtime=0)


@pytest.fixture
def server():
    """A server that hands out the files, and lists who asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content(self.path[1:]) + server.added)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.added, server.asked = b"", []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def folder(server, tmp_path, monkeypatch):
    """The folder of downloaded files, and MNIST at the server."""
    small = {
        part: tuple((name, hashlib.sha256(content(name)).hexdigest()) for name, _ in files)
        for part, files in mnist.PARTS.items()
    }
    monkeypatch.setattr(mnist, "PARTS", small)
    monkeypatch.setattr(mnist, "ADDRESS", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "data"))
    return tmp_path / "data"


def test_files_are_downloaded_once_and_read(server, folder):
    for part, shift in (("train", 0), ("test", 1), ("train", 0)):
        images, digits = fetch_mnist(part)
        np.testing.assert_array_equal(images, IMAGES + np.uint8(shift))
        np.testing.assert_array_equal(digits, DIGITS + np.uint8(shift))
        assert images.flags.writeable
    names = [name for files in mnist.PARTS.values() for name, _ in files]
    assert server.asked == [f"/{name}" for name in names]
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)


def test_another_file_is_refused_and_not_kept(server, folder):
    server.added = b"0"
    with pytest.raises(InputError, match="the file there has another checksum"):
        fetch_mnist()
    assert not folder.exists() or not list(folder.iterdir())


def test_a_damaged_file_is_downloaded_again(server, folder):
    fetch_mnist()
    (folder / "train-labels-idx1-ubyte.gz").write_bytes(b"damaged")
    np.testing.assert_array_equal(fetch_mnist()[1], DIGITS)
    assert len(server.asked) == 3


def test_without_a_network_a_message_says_where_to_put_the_file(server, folder):
    server.shutdown()
    server.server_close()
    names = [name for name, _ in mnist.PARTS["train"]]
    with pytest.raises(InputError) as caught:
        fetch_mnist()
    assert f"download it on a machine with a network, and save it as '{folder / names[0]}'" in str(caught.value)
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_bytes(content(name))
    np.testing.assert_array_equal(fetch_mnist()[1], DIGITS)
    assert server.asked == []


def test_an_unknown_part_is_refused_before_anything_is_downloaded(server, folder):
    with pytest.raises(InputError, match="MNIST has the parts 'train' and 'test', not 'tests'; did you mean 'test'"):
        fetch_mnist("tests")
    assert server.asked == []


def test_without_pooch_the_extra_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match=r"fetch_mnist\(\) needs .*distkern\[data\]"):
        fetch_mnist()


def test_the_files_are_those_of_the_provenance():
    text = files("distkern.datasets").joinpath("data", "PROVENANCE.md").read_text(encoding="utf-8")
    assert mnist.ADDRESS in text
    assert all(name in text and sha256 in text for part in mnist.PARTS.values() for name, sha256 in part)
