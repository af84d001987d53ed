"""Bags of points from images: the coordinates of bright pixels."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from distkern.core.bags import Bags
from distkern.core.errors import InputError
from distkern.core.parameters import entries, whole_number
from distkern.core.random import sample_keys


def bags_from_images(
    images: Any,
    points: int | None = None,
    *,
    threshold: float = 190,
    seed: int = 0,
    ids: Any = None,
    labels: Any = None,
) -> Bags:
    """Make one bag per image: the coordinates of its bright pixels in the unit square.

    The pixel in row r and column c of an image of H × W pixels is the point (c / (W − 1), r / (H − 1)). Source: Cuturi,
    Fukumizu & Vert, *Semigroup kernels on measures*, section 8.

    Parameters
    ----------
    images
        (m, H, W): intensities.
    points
        Number of bright pixels to draw without replacement from each image, or all if it has fewer; all by default.
        The draw depends only on the seed and the image.
    threshold
        Intensity above which a pixel is a point.
    seed
        Seed of the draws.
    ids, labels
        Names of the images, by default their positions; a label for each image.

    Raises
    ------
    InputError
        If the images are not (m, H, W), or one has no bright pixel.

    See Also
    --------
    Bags : Sets of points from other sources.

    Examples
    --------
    >>> cross = np.array([[0, 255, 0], [255, 255, 255], [0, 255, 0]])
    >>> bags_from_images([cross]).points(0)[:2]
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    stack = np.asarray(images)
    if stack.ndim != 3 or 0 in stack.shape:
        raise InputError(f"images have shape {stack.shape}; they must be (images, rows, columns), none empty")
    if not isinstance(threshold, (int, float, np.integer, np.floating)) or threshold != threshold:
        raise InputError(f"threshold must be a number, the brightness of a pixel, not {threshold!r}")
    if points is not None:
        whole_number(points, "points", 1)
    scale = np.maximum(1, np.array(stack.shape[:0:-1]) - 1)  # of columns, then of rows
    names = tuple(map(str, range(len(stack)) if ids is None else entries(ids, "ids")))
    arrays = []
    for name, image in zip(names, stack, strict=False):
        bright = np.argwhere(image > threshold)[:, ::-1] / scale
        if len(bright) == 0:
            raise InputError(
                f"image {name!r} has no pixel brighter than {threshold}: lower threshold=, or leave it out"
            )
        if points is not None and points < len(bright):
            content = blake2b(np.ascontiguousarray(image, dtype=np.float64).tobytes(), digest_size=16).digest()
            random = np.random.default_rng(sample_keys(seed, np.frombuffer(content, dtype=np.uint8)[None])[0])
            bright = bright[np.sort(random.choice(len(bright), points, replace=False))]
        arrays.append(bright)
    return Bags.from_arrays(arrays, None, names, labels)
