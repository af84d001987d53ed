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
}

METHODS = {"sigmoid": "a sigmoid", "isotonic": "isotonic regression"}


def card_words(card: Spec) -> KernelWords:
    """Describe the kernel of a model."""
    return describe(from_spec(card["kernel"]))


def card_rows(card: Spec) -> list[tuple[str, str]]:
    """What a user should know of a model, row by row."""
    label = f" of {shown(card['label'])!r}" if card.get("label") else ""
    classes = ", ".join(f"{count:,} {shown(name)}" for name, count in card["classes"].items())
    rows = [
        ("Predicts", f"the class{label}: {' or '.join(map(shown, card['classes']))}"),
        ("Learner", LEARNERS.get(card["learner"], str(card["learner"]))),
        *((name, f"{card[name]:g}, chosen by folds of all samples") for name in ("C", "lam") if card.get(name)),
        ("Probabilities", f"{METHODS[card['calibration']]} of decision values of samples that were not trained on"),
        ("Kernel", code(from_spec(card["kernel"])).removeprefix("dk.")),
        ("Trained on", " ".join(shown(card["cohort"]).split())),
        ("Samples × features", f"{card['samples']:,} × {card['features']:,}; found by name in new samples"),
        ("Samples by class", classes),
        ("Validated by", _validation(card["validation"])),
        ("Made with", ", ".join(f"{name} {version}" for name, version in card["versions"].items())),
    ]
    return rows


def _validation(found: Spec) -> str:
    folds = f"{found['repeats']} × {found['outer']} outer and {found['inner']} inner folds, seed {found['seed']}"
    grouped = "; no fold divides a group" if found.get("grouped") else ""
    known = {"balanced_accuracy": "balanced accuracy", "auc": "AUC"}
    scores = ", ".join(f"{name} {found[key]:.3f}" for key, name in known.items() if found.get(key) is not None)
    return f"{folds}{grouped}: {scores}"


def training_line(card: Spec, settings: Spec) -> str:
    """Return Python code that trains the model again."""
    asked: Spec = {"learner": card["learner"]}
    if settings.get("parameter"):
        asked[settings["parameter"]] = [float(f"{value:.12g}") for value in settings["C"]]
    asked |= {name: settings[name] for name in ("outer", "repeats", "inner") if name in settings}
    asked |= {"calibration": card["calibration"], "seed": settings["seed"]}
    given = "".join(f", {name}={value!r}" for name, value in asked.items())
    grouped = ", groups=groups" if settings.get("grouped") else ""
    return f"trained = dk.train_classifier(X, y, kernel={code(from_spec(card['kernel']))}{given}{grouped})"
