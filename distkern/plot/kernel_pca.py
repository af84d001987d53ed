"""Samples on their first two kernel principal components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distkern.core.errors import InputError
from distkern.plot.axes import new_or_given
from distkern.plot.embedding import scatter_classes
from distkern.plot.sample_order import Classes, Drawn, as_classes, as_symmetric, draw_samples, leading_components

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_kernel_pca(gram: Any, labels: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the samples on the first two principal components in feature space, coloured by class.

    The coordinates on a component are λ^(1/2) v, where λ and v are an eigenvalue and its eigenvector of the centred
    matrix. The axis labels state the share of each component in the variance.

    Parameters
    ----------
    gram
        Symmetric Gram matrix, or an array of its values, (m, m), m ≥ 3. If there are more than 1,500 samples, every
        k-th sample of each class is read and drawn.
    labels
        Class of each sample, (m,).
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If the matrix is not symmetric or has fewer than 3 samples, or the number of labels is not that of the samples.

    See Also
    --------
    plot_gram : The matrix itself.
    distkern.KernelPCA : The components.

    Examples
    --------
    >>> import numpy as np
    >>> plot_kernel_pca(np.eye(3)).get_xlabel()
    'component 1 (50.0 % of the variance)'
    """
    matrix = as_symmetric(gram)
    classes = as_classes(labels, matrix)
    ax = new_or_given(ax)
    draw_kernel_pca(ax, draw_samples(matrix, classes.codes, within="given"), classes)
    return ax


def draw_kernel_pca(ax: Axes, drawn: Drawn, classes: Classes) -> None:
    """Draw chosen samples on their first two principal components in feature space."""
    if len(drawn.samples) < 3:
        raise InputError("kernel PCA draws a plane: give 3 samples or more")
    shares, coordinates = leading_components(drawn.values, 2)
    scatter_classes(ax, coordinates, drawn.codes, classes)
    for axis, share, number in ((ax.xaxis, shares[0], 1), (ax.yaxis, shares[1], 2)):
        axis.set_label_text(f"component {number} ({100 * share:.1f} % of the variance)")
    ax.set_aspect("equal", adjustable="datalim")
