"""Prediction for raw samples with a model that was fitted on a Gram matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from typing import Any

import numpy as np
from sklearn.base import is_clusterer
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from distkern.core.alignment import aligned
from distkern.core.errors import InputError, InputTypeError
from distkern.core.feature_names import WITHOUT_THEM
from distkern.core.parameters import one_of
from distkern.core.sentences import Argument, Call
from distkern.core.typing import Array, Floats
from distkern.core.validation import are_named, warn_of_constant
from distkern.io.source import Source, as_source
from distkern.kernels.base import Kernel, Prepared, finite_tile, prepare_source
from distkern.kernels.incomplete import Incomplete
from distkern.learners.base import KernelEstimator
from distkern.learners.identity import identity_of, refuse_other_matrix
from distkern.learners.memory import row_blocks
from distkern.learners.validation import refuse_other_columns, samples_of
from distkern.operators.array import ArrayGram
from distkern.operators.identity import Identity, of_kernel


def fitted_part(model: Any) -> Any:
    """The fitted model inside a search, or inside a `CalibratedClassifier`; None if the model is none of them."""
    return getattr(model, "best_estimator_", getattr(model, "estimator_", None))


def first_step(model: Any) -> Any:
    """The estimator that meets the kernel values first: of a pipeline its first step, of a search its best model."""
    if isinstance(model, Pipeline):
        return first_step(model.steps[0][1])
    inner = fitted_part(model)
    return model if inner is None else first_step(inner)


def last_step(model: Any) -> Any:
    """The estimator that gives the predictions: of a pipeline its last step, of a search its best model."""
    if isinstance(model, Pipeline):
        return last_step(model.steps[-1][1])
    inner = fitted_part(model)
    return model if inner is None else last_step(inner)


def _model_has(name: str) -> Callable[[CohortPredictor], bool]:
    """Whether the model of a predictor has a method."""
    return lambda predictor: hasattr(predictor.model, name)


class CohortPredictor:
    """f(x) for raw samples x, computed from the kernel values k(x, x_1), …, k(x, x_m) with the training samples.

    A model that was fitted on a Gram matrix predicts from kernel values. This class combines it with the training
    samples, so that it predicts from new samples. It has the methods and the fitted attributes that the model has.

    Parameters
    ----------
    model
        Fitted estimator or pipeline that takes kernel values, such as ``KernelSVC()`` or
        ``make_pipeline(KernelStandardizer(), KernelSVC())``.
    gram
        The matrix that it was fitted on, or another matrix with the same columns. It must know its samples: a matrix
        from ``compute_gram``, a slice of one, or `PreparedColumns`. Left out for a model that was fitted on samples
        with a kernel of its own, whose ``missing`` is then chosen here.
    missing
        New samples without some of the features, by name or as NaN. ``"error"``: they are refused.
        ``"interleaving"``: an unobserved feature takes every place with equal probability. For Kendall kernels;
        nothing is trained anew, and the sample keeps its norm, so that scores do not shrink to the intercept.
    card
        What a user should know of the model, ready for JSON, such as its kernel, cohort and validation. `save_model`
        keeps it.

    See Also
    --------
    train_classifier : Makes one that is evaluated and calibrated.
    predict_external : Predictions beside true labels.
    save_model, load_model : The model in a file.

    Notes
    -----
    Features are found by name, in any order and among others. Where one side has no names, position decides, with a
    warning if the training samples have names.

    Raises
    ------
    InputError
        If the matrix is not that of the training samples, by their number, names, data, kernel or views; or ``missing``
        is ``"interleaving"`` and the kernel is not Kendall's.
    InputTypeError
        If it is no such matrix, but an array, a table or a path.
    NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> from distkern.kernels.vectors import Linear
    >>> from distkern.learners.svm import KernelSVC
    >>> X, kernel = np.array([[0.0], [1.0], [4.0], [5.0]]), Linear()
    >>> model = KernelSVC(C=10.0).fit(kernel(X), ["low", "low", "high", "high"])
    >>> CohortPredictor(model, PreparedColumns(kernel, kernel.prepare(X))).predict([[2.0], [3.0]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(self, model: Any, gram: Any = None, missing: str = "error", card: Any = None) -> None:
        check_is_fitted(model)
        self.missing, self.card = missing, card
        if not get_tags(model).input_tags.pairwise:
            self._take_samples_of(model, gram)
            return
        if not hasattr(gram, "col_ids"):
            raise InputTypeError(
                "the matrix must be one of {compute} that knows its samples, not {kind}: fit the model on such a "
                "matrix, or on samples with a kernel",
                compute=Call("compute_gram"),
                kind=type(gram).__name__,
            )
        if model.n_features_in_ != gram.shape[1]:
            raise InputError(
                f"the model was fitted on {model.n_features_in_} samples and the Gram matrix has {gram.shape[1]} "
                "columns: give the matrix it was fitted on, such as gram[np.ix_(train, train)]"
            )
        first = first_step(model)
        refuse_other_columns(getattr(first, "training_ids_", None), gram)
        refuse_other_matrix(identity_of(first), gram.identity, gram.col_ids)
        self.model, self.gram = model, gram

    def _take_samples_of(self, model: Any, gram: Any) -> None:
        """Keep a model that was fitted on samples with a kernel of its own."""
        if gram is not None:
            raise InputError(f"{type(model).__name__} was fitted on raw samples: call its own predict")
        if not isinstance(first_step(model), KernelEstimator):
            raise InputError(f"{type(model).__name__} has no kernel of samples: call its own predict")
        self.model, self.gram = model, None

    @property
    def missing(self) -> str:
        """What happens to new samples without some of the features: ``"error"`` or ``"interleaving"``."""
        return self._missing

    @missing.setter
    def missing(self, value: str) -> None:
        self._missing = one_of(value, "missing", ("error", "interleaving"))

    def __getattr__(self, name: str) -> Any:
        """Fitted attributes of the model, such as ``classes_`` and ``dual_coef_``."""
        if name.endswith("_") and not name.startswith("_") and not hasattr(type(self), name):
            return getattr(self.model, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def n_features_in_(self) -> int:
        """Number of features of a sample."""
        if self.gram is None:
            return int(self.model.n_features_in_)
        if self.gram.n_features is None:
            raise AttributeError("the number of features of the training samples is not known")
        return int(self.gram.n_features)

    @property
    def feature_names_in_(self) -> Array:
        """Names of the features of a sample; only if the training samples have them."""
        if self.gram is None:
            return np.asarray(self.model.feature_names_in_)
        if not are_named(self.gram.features):
            raise AttributeError("the features of the training samples have no names")
        return np.array(self.gram.features, dtype=object)

    @available_if(_model_has("predict"))
    def predict(self, X: Any) -> Array:
        """Prediction for each of the samples (samples, n), in any container that `compute_gram` accepts."""
        return self._together("predict", X)

    @available_if(_model_has("decision_function"))
    def decision_function(self, X: Any) -> Floats:
        """Output of the model's ``decision_function`` for the samples (samples, n)."""
        return self._together("decision_function", X)

    @available_if(_model_has("predict_proba"))
    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class for the samples (samples, n); only if the model has probabilities."""
        return self._together("predict_proba", X)

    @available_if(_model_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of the probability of each class for the samples (samples, n)."""
        return self._together("predict_log_proba", X)

    @available_if(_model_has("conformal_pvalues"))
    def conformal_pvalues(self, X: Any) -> Floats:
        """Conformal p-value of each class, (samples, classes); only of a `CalibratedClassifier`."""
        return self._together("conformal_pvalues", X)

    @available_if(_model_has("predict_set"))
    def predict_set(self, X: Any, error: float = 0.1) -> Array:
        """Classes that a sample may have at an error level, boolean (samples, classes); see `CalibratedClassifier`."""
        return self._together("predict_set", X, error=error)

    @available_if(_model_has("predict_survival_function"))
    def predict_survival_function(self, X: Any, times: Any, strata: Any = None) -> Floats:
        """Chance of each sample to have no event up to each time, (samples, times); only of a `KernelCox`."""
        return self._in_strata("predict_survival_function", X, strata, times=times)

    @available_if(_model_has("predict_median"))
    def predict_median(self, X: Any, strata: Any = None) -> Floats:
        """Median time of each sample, (samples,), NaN where it is not reached; only of a `KernelCox`."""
        return self._in_strata("predict_median", X, strata)

    @available_if(_model_has("transform"))
    def transform(self, X: Any) -> Any:
        """Output of the model's ``transform`` for the samples (samples, n): an array, or as ``set_output`` says."""
        return self._together("transform", X)

    @available_if(_model_has("score"))
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Score of the samples (samples, n) as the model defines it, such as accuracy, R² or minus the inertia."""
        if is_clusterer(self.model):  # minus a sum over the samples
            weights = None if sample_weight is None else aligned(sample_weight, samples_of(X), "sample_weight")
            total, done = 0.0, 0
            for part in self._cross(X):
                stop = done + part.shape[0]
                given = {} if weights is None else {"sample_weight": weights[done:stop]}
                total, done = total + self.model.score(part, **given), stop
            return total
        if callable(getattr(self.model, "scorer_", None)) and self.model.scoring is not None:  # a search
            return float(self.model.scorer_(self, X, y))
        judge = copy(last_step(self.model))
        judge.predict = self.predict  # it compares y with predictions for these samples
        return float(judge.score(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight})))

    @available_if(_model_has("get_feature_names_out"))
    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns of `transform`; the names of the features of a sample do not matter."""
        return self.model.get_feature_names_out()

    @available_if(_model_has("set_output"))
    def set_output(self, *, transform: Any = None) -> CohortPredictor:
        """Set the container of `transform`, as in scikit-learn: "default", "pandas" or "polars"."""
        self.model.set_output(transform=transform)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = deepcopy(get_tags(self.model))
        tags.input_tags.pairwise = False
        return tags

    def __repr__(self) -> str:
        gram = "" if self.gram is None else f", {self.gram!r}"
        missing = "" if self.missing == "error" else f", {Argument('missing', self.missing)}"
        return f"CohortPredictor({self.model!r}{gram}{missing})"

    def _together(self, method: str, X: Any, **options: Any) -> Any:
        """Call a method of the model on the kernel values of all samples, block by block; join the results."""
        source = as_samples(X)
        parts = [getattr(self.model, method)(part, **options) for part in self._cross(source)]
        if hasattr(parts[0], "iloc"):
            whole = type(parts[0])(np.concatenate(parts), columns=parts[0].columns)
            return whole if source.ids is None else whole.set_axis(list(source.ids), axis=0)
        if hasattr(parts[0], "to_arrow"):
            return type(parts[0])(np.concatenate(parts), schema=list(parts[0].columns), orient="row")
        return np.concatenate(parts)

    def _in_strata(self, method: str, X: Any, strata: Any, **options: Any) -> Floats:
        """Call a method of a survival model on all samples, each with its stratum."""
        source, found, done = as_samples(X), [], 0
        given = None if strata is None else aligned(strata, samples_of(source), "strata")
        for part in self._cross(source):
            stop = done + part.shape[0]
            own = {} if given is None else {"strata": given[done:stop]}
            found.append(getattr(self.model, method)(part, **options, **own))
            done = stop
        return np.concatenate(found)

    def _cross(self, X: Any) -> Iterator[Any]:
        """Kernel values of blocks of samples, so that memory is bounded; the samples, if the model has the kernel."""
        source = as_samples(X)
        if self.missing == "interleaving":
            source = source.interleaved()
        if self.gram is None:
            yield source
            return
        blocks = list(row_blocks(len(source), max(self.gram.shape[1], source.shape[1])))
        for rows in blocks:
            part = self.gram.cross(source if len(blocks) == 1 else source.rows(rows))
            if not self.gram.kernel.has_zero:
                warn_of_constant(part.row_diag() == 0, source.ids, rows.start)
            yield part


def as_samples(X: Any) -> Source:
    """View samples as a `Source`; lists and other sequences of rows of numbers count as arrays."""
    return as_source(X if hasattr(X, "shape") or not isinstance(X, Sequence) or isinstance(X, str) else np.array(X))


class PreparedColumns:
    """Prepared training samples x_1, …, x_m of a model, from which k(x, x_1), …, k(x, x_m) can be computed.

    Parameters
    ----------
    kernel
        Kernel with all data-dependent parameters fixed.
    prepared
        The m prepared training samples.
    ids
        Names of the samples; positions by default.
    features
        Names of the features, by which those of new samples are found, in any order and among others.
    n_features
        Number of features of a sample; by default the number of feature names.
    dropped
        Positions of features that were removed before training. New samples may still have them.
    digests
        Digests of the samples, (m, bytes), as in ``gram.identity``, where they are known.

    Examples
    --------
    >>> from distkern.kernels.vectors import Linear
    >>> columns = PreparedColumns(Linear(), Linear().prepare(np.array([[1.0, 2.0], [3.0, 4.0]])))
    >>> columns.cross(np.array([[1.0, 1.0]])).to_numpy()
    array([[3., 7.]])
    """

    def __init__(
        self,
        kernel: Kernel,
        prepared: Prepared,
        ids: Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        n_features: int | None = None,
        dropped: Sequence[int] = (),
        digests: Array | None = None,
    ) -> None:
        self.kernel, self._prepared = kernel, prepared
        self.features, self.dropped = None if features is None else tuple(features), tuple(dropped)
        self.n_features = len(self.features) if n_features is None and self.features is not None else n_features
        self.col_ids = tuple(map(str, range(len(prepared)))) if ids is None else tuple(ids)
        self.identity = Identity(digests, of_kernel(kernel.spec()))
        if len(self.col_ids) != len(prepared):
            raise InputError(f"{len(self.col_ids)} names for {len(prepared)} training samples: give one for each")

    @property
    def shape(self) -> tuple[int, int]:
        """(m, m)."""
        return len(self._prepared), len(self._prepared)

    def prepared_columns(self) -> Prepared:
        """Return the prepared training samples."""
        return self._prepared

    def cross(self, X: Any) -> ArrayGram:
        """Kernel between samples (samples, n) and the training samples, in memory, with k(x, x) of both.

        Raises
        ------
        SampleError
            If the kernel refuses a sample; the message names it.
        InputError
            If the new samples lack a feature, or the number of features without names differs.
        """
        source = as_source(X)
        known = source.shape[1] if self.n_features is None else self.n_features
        source = source.like(known, self.dropped, self.features, "X", WITHOUT_THEM)
        if source.interleaving:
            values, squares = Incomplete(self.kernel).against(source.read(slice(0, None)), self._prepared, source.ids)
        else:
            rows = prepare_source(self.kernel, source, like=self._prepared)
            values = finite_tile(self.kernel, rows, self._prepared, source.ids, self.col_ids)
            squares = self.kernel.diagonal(rows)
        return ArrayGram(
            values,
            row_diag=squares,
            col_diag=self.kernel.diagonal(self._prepared),
            row_ids=source.ids,
            col_ids=self.col_ids,
            identity=self.identity,
        )

    def __repr__(self) -> str:
        return f"<PreparedColumns: {len(self._prepared)} samples for {self.kernel!r}>"
