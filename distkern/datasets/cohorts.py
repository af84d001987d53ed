"""Reader of the expression cohorts that ship with the package."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.errors import MissingExtraError
from distkern.core.typing import Array, Floats

if TYPE_CHECKING:
    from anndata import AnnData


def shipped(name: str) -> dict[str, Any]:
    """Read the arrays of a file in the package."""
    with (
        files("distkern.datasets").joinpath("data", name).open("rb") as stream,
        np.load(stream, allow_pickle=False) as archive,
    ):
        return {array: archive[array] for array in archive.files}


def annotated(loader: str, X: Floats, y: Array, arrays: dict[str, Any], about: dict[str, str]) -> AnnData:
    """Make an AnnData object of values, labels and names; ``about["label"]`` is the name of the column of labels.

    Raises
    ------
    MissingExtraError
        If anndata is not installed.
    """
    try:
        import anndata
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of(f"{loader}() without return_X_y=True", "io") from error
    samples = pd.Index(list(map(str, arrays["samples"])), dtype=object)
    features = pd.Index(list(map(str, arrays["features"])), dtype=object)
    obs = pd.DataFrame({about["label"]: pd.Categorical(y)}, index=samples)
    return anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=features), uns={"distkern": about})
