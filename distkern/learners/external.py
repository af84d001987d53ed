"""Predictions of a fitted classifier or survival model for a cohort that it has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.labels import encoded_labels
from distkern.core.typing import Array, Floats
from distkern.learners.held_out import HeldOut
from distkern.learners.held_out_risks import HeldOutRisks, inverse_square_chances, places_among
from distkern.learners.survival_times import times_and_events
from distkern.learners.validation import samples_of


def predict_external(model: Any, X: Any, y: Any, *, groups: Any = None) -> HeldOut:
    """Predictions, decision values and probabilities of a classifier for another cohort, beside its true labels.

    Parameters
    ----------
    model
        Fitted classifier of samples, such as a `CohortPredictor` or one of scikit-learn, with a ``decision_function``.
    X
        The samples of the other cohort, (m, n), in any container that ``model`` takes.
    y
        Their labels, (m,).
    groups
        Group of each sample, (m,), whose samples are drawn together for intervals.

    Returns
    -------
    HeldOut
        ``.scores()`` is a table of scores with intervals.

    Raises
    ------
    InputError
        If a label is none of the model's classes, or a sample cannot be predicted.

    See Also
    --------
    train_classifier : Trains the model.
    cross_validate_gram : The accuracy within one cohort.

    Examples
    --------
    >>> from distkern.kernels.vectors import Linear
    >>> from distkern.learners.svm import KernelSVC
    >>> model = KernelSVC(kernel=Linear()).fit(np.array([[0.0], [1.0], [4.0], [5.0]]), ["low", "low", "high", "high"])
    >>> found = predict_external(model, np.array([[0.5], [4.5], [2.0]]), ["low", "high", "high"])
    >>> float(found.scores(draws=0).set_index("score").loc["sensitivity", "value"])
    1.0
    """
    samples = samples_of(X)
    given, codes = encoded_labels(y, samples, "y")
    classes = list(model.classes_.tolist())
    unknown = [label for label in np.asarray(given).tolist() if label not in classes]
    if unknown:
        raise InputError(
            f"the label {unknown[0]!r} of the other cohort is no class of the model, which knows {classes}: give "
            "labels of the same kind"
        )
    truth = np.array([classes.index(label) for label in np.asarray(given).tolist()], dtype=np.intp)[codes]
    decisions = np.asarray(model.decision_function(X), dtype=np.float64)
    predicted = np.array([classes.index(label) for label in np.asarray(model.predict(X)).tolist()], dtype=np.intp)
    chances = model.predict_proba(X)[None] if hasattr(model, "predict_proba") else None
    group_of = None if groups is None else encoded_labels(groups, samples, "groups")[1]
    return HeldOut(
        tuple(classes), truth, predicted[None], decisions.reshape(1, len(truth), -1), chances, None, group_of
    )


def predict_external_survival(
    model: Any, X: Any, y: Any, *, training: Array, training_risks: Floats, groups: Any = None
) -> HeldOutRisks:
    """Risks of a survival model for another cohort, beside its true times.

    Parameters
    ----------
    model
        Fitted survival model of samples, such as a `CohortPredictor`.
    X
        The samples of the other cohort, (m, n), in any container that ``model`` takes.
    y
        Their times with events, (m,), from `survival_y`.
    training
        Times with events of the training samples, from which Uno's index estimates the censoring.
    training_risks
        Their risks, among whose quantiles risk groups are cut.
    groups
        Group of each sample, (m,), whose samples are drawn together for intervals.

    Returns
    -------
    HeldOutRisks
        ``.scores()`` is a table of concordance indices with intervals.

    Raises
    ------
    InputError
        If a time or an event cannot be used, or a sample cannot be predicted.

    Examples
    --------
    >>> from distkern import KernelCox, Linear, survival_y
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), survival_y([9.0, 4.0, 6.0, 2.0], [0, 1, 1, 1])
    >>> model = KernelCox(0.1, kernel=Linear()).fit(X, y)
    >>> new = np.array([[0.5], [2.5]]), survival_y([8.0, 3.0], [1, 1])
    >>> predict_external_survival(model, *new, training=y, training_risks=model.predict(X)).risk_groups().tolist()
    ['low risk', 'high risk']
    """
    from distkern.learners.predictor import as_samples
    from distkern.learners.validation import samples_of

    source = as_samples(X)
    samples = samples_of(source)
    time, event = times_and_events(y, samples)
    known_time, known_event = times_and_events(training, len(training))
    risks = np.asarray(model.predict(X), dtype=np.float64)
    places = places_among(training_risks, risks)
    weights = inverse_square_chances(known_time, known_event, time)
    group_of = None if groups is None else encoded_labels(groups, samples, "groups")[1]
    folds = np.zeros((1, len(time)), dtype=np.intp)
    return HeldOutRisks(time, event, risks[None], places[None], weights[None], folds, None, group_of)
