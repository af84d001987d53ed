"""Target distributions of quantile normalisation, given and learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Floats
from distkern.plot.axes import class_colours, ink, new_or_given, open_frame, plain_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_targets(targets: Mapping[str, Any], *, reference: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw targets against the rank, each centred and scaled to a variance of 1, so that their shapes compare.

    A linear model after quantile normalisation does the same with f and with a f + b, a > 0, but for its penalty.

    Parameters
    ----------
    targets
        By name: numbers by rank, (p,), or a fitted model that has one ``target_``, such as
        `distkern.QuantileNormalizer` or `distkern.SUQUANClassifier`. They may have different lengths.
    reference
        Name of the one that is drawn as a dashed line, such as the true one of a simulation.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If there is no target, one is not a row of two finite numbers or more, or none has the name of the reference.

    See Also
    --------
    distkern.QuantileNormalizer, distkern.SUQUANClassifier : Models with targets.

    Examples
    --------
    >>> from distkern import QuantileNormalizer
    >>> normal = QuantileNormalizer("normal").fit(np.arange(20.0).reshape(4, 5))
    >>> plot_targets({"normal": normal, "uniform": np.arange(5)}).get_ylabel()
    'target, at variance 1'
    """
    if not len(targets):
        raise InputError("there is no target to draw")
    if reference is not None and reference not in targets:
        raise InputError(f"no target is named {reference!r}: there are {', '.join(map(repr, targets))}")
    curves = {name: _standardised(name, target) for name, target in targets.items()}
    ax = new_or_given(ax)
    colours = iter(class_colours(len(curves)))
    handles = []
    for name, curve in curves.items():
        ranks = np.arange(1, len(curve) + 1) / (len(curve) + 1)
        style: dict[str, Any] = (
            {"color": ink(), "linestyle": (0, (4, 2)), "zorder": 3} if name == reference else {"color": next(colours)}
        )
        handles += ax.plot(ranks, curve, linewidth=1.6, **style)
    plain_legend(ax, handles, list(curves), loc="upper left")
    ax.set(xlabel="rank / (p + 1)", ylabel="target, at variance 1")
    open_frame(ax)
    return ax


def _standardised(name: str, target: Any) -> Floats:
    try:
        values = np.asarray(getattr(target, "target_", target), dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros(())
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
        raise InputError(
            f"the target {name!r} is no row of two finite numbers or more: give numbers by rank, or a fitted model "
            "with one target"
        )
    centred = values - values.mean()
    size = float(np.sqrt(np.mean(centred**2)))
    return centred / size if size > 0 else centred
