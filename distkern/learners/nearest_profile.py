"""Labels by the nearest profiles of a reference, such as types of cells by profiles of sorted cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError, InputTypeError, SampleError
from distkern.core.feature_names import missing_features
from distkern.core.parameters import one_of
from distkern.core.sentences import Argument, OptionalPart, Parameter, Sentence
from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import name_of, refuse_infinite
from distkern.io.source import Source, as_source
from distkern.kernels.base import Kernel, Prepared, check_source, finite_tile, prepare_source
from distkern.kernels.kendall import Kendall
from distkern.learners.base import SampleEstimator
from distkern.learners.memory import require_memory, row_blocks
from distkern.learners.pair_estimator import compared_samples
from distkern.learners.registry import saveable
from distkern.learners.scoring import KernelClassifier
from distkern.learners.validation import fraction, labels_and_weights, not_negative, samples_of, whole

UNASSIGNED = "unassigned"
"""Label of a sample that no label fits clearly better than all others."""

FEWER = Sentence(", or compare the common ones with {missing}", missing=Argument("missing", "drop"))


@saveable
class NearestProfile(KernelClassifier, SampleEstimator):
    r"""Label of the nearest profile of a reference, or "unassigned".

    .. math::

        s_c(x) = Q_q \{ k(x, r) : r \text{ a profile of label } c \}, \qquad
        \hat c(x) = \begin{cases}
            \arg\max_c s_c(x) & \text{if } s_{(1)}(x) - s_{(2)}(x) > \text{margin} \\
            \text{unassigned} & \text{otherwise}
        \end{cases}

    Q_q is the quantile q, the maximum for q = 1, and s₍₁₎ ≥ s₍₂₎ are the two largest scores of labels. Nothing is
    trained: a profile is compared with a sample by a kernel. Kernels of orderings compare them across platforms, since
    no value of a sample is compared with a value of a profile. Each sample is labelled alone.

    Source: the scores are those of SingleR (Aran et al., *Reference-based analysis of lung single-cell sequencing
    reveals a transitional profibrotic macrophage*, Nat. Immunol. 20 (2019) 163-172) for ``kernel=Spearman()`` and
    ``quantile=0.8``, without its second step, which compares the best labels again. The margin is ours.

    Parameters
    ----------
    kernel
        Kernel of samples; None for Kendall's tau-b, ``Kendall(ties="b")``.
    quantile
        q, from 0 to 1; between two profiles it is linear.
    margin
        Least lead of the best label, in units of the kernel, above which a sample is labelled; 0 leaves ties
        unassigned. None: each sample gets its best label, the first of equal ones.
    markers
        None: all features are compared. A number N: for each ordered pair of labels, the N features whose median
        over the profiles is most above in the first label; all of these are compared. This compares values of
        profiles, which must be logarithms from one platform.
    missing
        New samples without some of the compared features. ``"error"``: they are refused. ``"drop"``: profiles are
        compared on the features that both have.

    Attributes
    ----------
    classes_
        The labels, sorted.
    profiles_
        Values of the profiles, (profiles, compared features).
    labels_
        Position of each profile's label in ``classes_``, (profiles,).
    features_
        Positions of the compared features among those of the reference, ascending.
    kernel_
        Kernel with all data-dependent parameters fixed.
    n_features_in_, feature_names_in_
        Number of features of the reference, and their names if they have names.

    Raises
    ------
    InputError
        If there is one label, or a feature of new samples is missing; the message counts and names them.
    SampleError
        If a sample holds NaN, or no two of its values differ, so that no label is nearer; it is named.

    See Also
    --------
    KernelSVC : Learns from many samples of each label.
    read_expression : Reads the reference.

    Notes
    -----
    With Kendall's and Spearman's kernel, labels do not change if the values of a sample are transformed by an ascending
    function, such as log(1 + x) or a division by its total: scores are equal to the last bit. Equal values must stay
    equal, and unequal ones unequal. Sparse samples are compared without their zeros, some at a time. O(n) for each
    sample and profile.

    Examples
    --------
    >>> import pandas as pd
    >>> reference = pd.DataFrame({"CD3D": [9.0, 6.1], "CD19": [5.0, 8.2], "ACTB": [12.0, 12.5]}, index=["T", "B"])
    >>> cells = pd.DataFrame({"ACTB": [7, 3, 5], "CD19": [0, 2, 0], "CD3D": [4, 0, 0]})
    >>> NearestProfile(margin=0.1).fit(reference, ["T cell", "B cell"]).predict(cells)
    array(['T cell', 'B cell', 'unassigned'], dtype='<U10')
    """

    classes_: Array
    profiles_: Floats
    labels_: Indices
    features_: Indices
    kernel_: Kernel

    def __init__(
        self,
        kernel: Any = None,
        quantile: float = 1.0,
        margin: float | None = None,
        markers: int | None = None,
        missing: str = "error",
    ) -> None:
        self.kernel = kernel
        self.quantile = quantile
        self.margin = margin
        self.markers = markers
        self.missing = missing

    def fit(self, X: Any, y: Any) -> NearestProfile:
        """Keep the profiles X (profiles, n), in any container that `compute_gram` accepts, and their labels y."""
        kernel = Kendall(ties="b") if self.kernel is None else self.kernel
        if not isinstance(kernel, Kernel):
            raise InputTypeError(f"kernel must be a kernel such as distkern.Kendall(), or None; got {kernel!r}")
        self._check()
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        source = compared_samples(self, X)
        require_memory(4 * 8 * len(source) * source.shape[1], None, f"{len(source):,} profiles")
        labels = labels_and_weights(y, None, samples_of(X))[0]
        self.classes_, self.labels_ = np.unique(labels, return_inverse=True)
        self._refuse_no_label()
        self.kernel_ = kernel.resolve(source, 0)
        values = check_source(self.kernel_, source)
        self.features_ = np.arange(source.shape[1])
        if self.markers is not None:
            refuse_infinite(values, source.ids, source.features)
            self.features_ = markers_of(values, self.labels_, self.markers)
        self.profiles_ = np.ascontiguousarray(values[:, self.features_])
        self.kernel_.check(self.profiles_, source.ids)  # markers may tie in a profile
        return self

    def scores(self, X: Any) -> Floats:
        """s_c(x), (samples, labels), in the order of ``classes_``.

        Raises
        ------
        InputError
            If X lacks features of the profiles, unless ``missing="drop"``.
        SampleError
            If the kernel is not defined for a sample, such as for NaN; it is named.
        """
        check_is_fitted(self)
        return self._scores(*self._compared(X))

    def decision_function(self, X: Any) -> Floats:
        """Scores of the labels, (samples, labels); for two labels s₁(x) − s₀(x), (samples,)."""
        scores = self.scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Array:
        """Label of each sample, (samples,), or "unassigned".

        Raises
        ------
        InputError, SampleError
            As for `scores`; also if a sample is as near to every profile, k(x, x) = 0, and there is no margin.
        """
        scores = self.scores(X)
        labels = self.classes_[scores.argmax(axis=1)]
        if self.margin is None:
            return labels
        ascending = np.sort(scores, axis=1)
        unclear = ~(ascending[:, -1] - ascending[:, -2] > self.margin)
        if labels.dtype.kind == "U":
            labels = labels.astype(np.promote_types(labels.dtype, f"<U{len(UNASSIGNED)}"))
        labels[unclear] = UNASSIGNED
        return labels

    # Parts ---------------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        fraction(self.quantile, "quantile")
        one_of(self.missing, "missing", ("error", "drop"))
        if self.margin is not None:
            not_negative(self.margin, "margin")
        if self.markers is not None:
            whole(self.markers, "markers")

    def _refuse_no_label(self) -> None:
        """Refuse labels that leave no room for "unassigned"."""
        if self.margin is None:
            return
        if self.classes_.dtype.kind not in "OU":
            raise InputError(
                f"the labels are numbers, and {UNASSIGNED!r} is none: give labels that are text, or leave the margin "
                "out"
            )
        if UNASSIGNED in self.classes_.tolist():
            raise InputError(f"a profile has the label {UNASSIGNED!r}, which is for samples that have none: rename it")

    def _compared(self, X: Any) -> tuple[Source, Floats]:
        """New samples and the profiles, on the features that are compared."""
        source, places = self._found_by_name(X)
        columns = places[self.features_]
        lacking = columns < 0
        if lacking.any():
            known = [str(name) for name in self.feature_names_in_[self.features_].tolist()]
            if self.missing == "error" or (~lacking).sum() < 2:
                absent = [known[k] for k in np.flatnonzero(lacking).tolist()]
                remedy = FEWER if self.missing == "error" else ""
                raise missing_features(absent, known, source.features or (), "X", remedy, source.ids)
        found = columns[~lacking]
        same = len(found) == source.shape[1] and bool((found == np.arange(len(found))).all())
        return source if same else source.with_features(found), self.profiles_[:, ~lacking]

    def _scores(self, source: Source, profiles: Floats) -> Floats:
        scores, prepared = np.empty((len(source), len(self.classes_))), dict[bool, Prepared]()
        own = [self.labels_ == label for label in range(len(self.classes_))]
        self.kernel_.check(profiles, [f"profile {number}" for number in range(len(profiles))])
        for rows in row_blocks(len(source), max(profiles.shape)):
            ids = list(map(str, range(rows.start, rows.stop))) if source.ids is None else source.ids[rows]
            part = source.part(np.arange(rows.start, rows.stop)).renamed(ids)
            block = prepare_source(self.kernel_, part)
            if block.is_sparse not in prepared:
                prepared[block.is_sparse] = self._prepared(profiles, block)
            if self.margin is None:
                self._refuse_null(block, rows.start, ids)
            values = finite_tile(self.kernel_, block, prepared[block.is_sparse], ids)
            for label, chosen in enumerate(own):
                scores[rows, label] = np.quantile(values[:, chosen], self.quantile, axis=1)
        return scores

    def _prepared(self, profiles: Floats, like: Prepared) -> Prepared:
        """Prepare the profiles in the layout of the samples, with or without zeros."""
        if not like.is_sparse:
            return self.kernel_.prepare(profiles)
        from scipy.sparse import csr_array

        return prepare_source(self.kernel_, as_source(csr_array(profiles)), like=like)

    def _refuse_null(self, block: Prepared, start: int, ids: Any) -> None:
        null = np.flatnonzero(self.kernel_.diagonal(block) == 0)
        if len(null):
            raise SampleError(
                "sample {sample} has k(x, x) = 0, so that no label is nearer than another: leave it out{margin}",
                int(null[0]) + start,
                sample=name_of(int(null[0]), ids),
                margin=OptionalPart(", or set {margin}0, so that it is unassigned", margin=Parameter("margin")),
            )


def markers_of(values: Floats, labels: Indices, count: int) -> Indices:
    """Positions of the features that tell labels apart: of each ordered pair of labels, those most above in the first.

    Parameters
    ----------
    values
        Values of profiles, (profiles, n).
    labels
        Number of the label of each profile, from 0, each with a profile.
    count
        Most features of an ordered pair; of equal differences of medians the first, and only differences above 0.

    Raises
    ------
    InputError
        If fewer than two features are found.

    Examples
    --------
    >>> markers_of(np.array([[5.0, 1.0, 3.0, 2.0], [4.0, 2.0, 3.0, 0.0]]), np.array([0, 1]), 1)
    array([1, 3])
    """
    medians = np.stack([np.median(values[labels == label], axis=0) for label in range(labels.max() + 1)])
    kept = np.zeros(values.shape[1], dtype=bool)
    for own in medians:
        for other in medians:
            above = own - other
            first = np.argsort(-above, kind="stable")[:count]
            kept[first[above[first] > 0]] = True
    if kept.sum() < 2:
        raise InputError(f"{kept.sum()} features differ between labels, and two are needed: leave the markers out")
    return np.flatnonzero(kept)
