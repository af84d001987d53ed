"""The card of a model, in words."""

from __future__ import annotations

from distkern.core.names import shown
from distkern.core.typing import Spec
from distkern.kernels.registry import from_spec
from distkern.report.words import KernelWords, code, describe

LEARNERS = {
    "svm": "support vector machine",
    "fisher": "Fisher's discriminant",
    "logistic": "logistic regression",
    "cox": "Cox's model",
    "survival-svm": "survival support vector machine",
}

METHODS = {"sigmoid": "a sigmoid", "isotonic": "isotonic regression"}

Rows = list[tuple[str, str]]


def card_words(card: Spec) -> KernelWords:
    """Describe the kernel of a model."""
    return describe(from_spec(card["kernel"]))


def card_rows(card: Spec) -> Rows:
    """What a user should know of a classifier, row by row."""
    label = f" of {shown(card['label'])!r}" if card.get("label") else ""
    classes = ", ".join(f"{count:,} {shown(name)}" for name, count in card["classes"].items())
    return [
        ("Predicts", f"the class{label}: {' or '.join(map(shown, card['classes']))}"),
        *_learner_rows(card),
        ("Probabilities", f"{METHODS[card['calibration']]} of decision values of samples that were not trained on"),
        *_cohort_rows(card),
        ("Samples by class", classes),
        ("Validated by", _validation(card["validation"])),
        _versions(card),
    ]


def survival_card_rows(card: Spec) -> Rows:
    """What a user should know of a survival model, row by row."""
    groups = card["risk_groups"]
    cutoffs = ", ".join(f"{value:.4g}".replace("-", "−") for value in groups["cutoffs"])
    of = f" of {shown(card['event'])!r} by {shown(card['time'])!r}" if card.get("event") and card.get("time") else ""
    strata = [("Strata", "only samples of one stratum are compared")] if card["stratified"] else []
    return [
        ("Predicts", f"the risk{of}, and a risk group: {', '.join(groups['names'])}"),
        *_learner_rows(card),
        ("Cut-offs of the risk", f"{cutoffs}: quantiles of the risks of the training samples"),
        *_cohort_rows(card),
        ("Events", f"{card['events']:,}; the last time is {card['last_time']:g}"),
        *strata,
        ("Validated by", _survival_validation(card["validation"])),
        _versions(card),
    ]


def _learner_rows(card: Spec) -> Rows:
    chosen = [(name, f"{card[name]:g}, chosen by folds of all samples") for name in ("C", "lam") if card.get(name)]
    return [("Learner", LEARNERS.get(card["learner"], str(card["learner"]))), *chosen]


def _cohort_rows(card: Spec) -> Rows:
    return [
        ("Kernel", code(from_spec(card["kernel"])).removeprefix("dk.")),
        ("Trained on", " ".join(shown(card["cohort"]).split())),
        ("Samples × features", f"{card['samples']:,} × {card['features']:,}; found by name in new samples"),
    ]


def _versions(card: Spec) -> tuple[str, str]:
    return "Made with", ", ".join(f"{name} {version}" for name, version in card["versions"].items())


def _validation(found: Spec) -> str:
    known = {"balanced_accuracy": "balanced accuracy", "auc": "AUC"}
    scores = ", ".join(f"{name} {found[key]:.3f}" for key, name in known.items() if found.get(key) is not None)
    return f"{_folds(found)}: {scores}"


def _survival_validation(found: Spec) -> str:
    value, low, high = found["Harrell's C"]
    scores = "–" if value is None else f"{value:.3f}" + ("" if low is None else f" ({low:.3f} to {high:.3f})")
    return f"{_folds(found)}: Harrell's C {scores}"


def _folds(found: Spec) -> str:
    folds = f"{found['repeats']} × {found['outer']} outer and {found['inner']} inner folds, seed {found['seed']}"
    return folds + ("; no fold divides a group" if found.get("grouped") else "")


def training_line(card: Spec, settings: Spec) -> str:
    """Return Python code that trains the classifier again."""
    asked: Spec = {"learner": card["learner"]}
    if settings.get("parameter"):
        asked[settings["parameter"]] = _grid(settings["C"])
    return _line("train_classifier", card, asked | _protocol(settings) | {"calibration": card["calibration"]}, settings)


def survival_line(card: Spec, settings: Spec) -> str:
    """Return Python code that trains the survival model again."""
    asked: Spec = {"learner": card["learner"], "lam": _grid(settings["lam"]), **_protocol(settings)}
    return _line("train_survival", card, asked | {"risk_groups": len(card["risk_groups"]["names"])}, settings)


def _grid(values: list[float]) -> list[float]:
    return [float(f"{value:.12g}") for value in values]


def _protocol(settings: Spec) -> Spec:
    return {name: settings[name] for name in ("outer", "repeats", "inner", "seed") if name in settings}


def _line(function: str, card: Spec, asked: Spec, settings: Spec) -> str:
    given = "".join(f", {name}={value!r}" for name, value in asked.items())
    given += ", groups=groups" * bool(settings.get("grouped")) + ", strata=strata" * bool(settings.get("stratified"))
    return f"trained = dk.{function}(X, y, kernel={code(from_spec(card['kernel']))}{given})"
