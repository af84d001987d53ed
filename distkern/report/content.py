"""Texts and numbers of a page, as plain values for its template."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import numpy as np

from distkern._version import __version__
from distkern.core.errors import InputError
from distkern.core.names import shown
from distkern.core.sentences import Call
from distkern.core.typing import Floats, Spec
from distkern.core.units import readable_bytes, readable_seconds
from distkern.gram.base import StoredGram
from distkern.io.origin import Origin
from distkern.operators.base import BaseGram
from distkern.plot.evaluation import METRIC_NAMES, as_percent, chosen_C, chosen_parameter
from distkern.plot.sample_order import Classes, Drawn
from distkern.report.card import card_words, training_line
from distkern.report.words import KernelWords, describe

if TYPE_CHECKING:
    from distkern.learners.evaluation import Evaluation, PermutationTest

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "dask", "zarr", "matplotlib")
"""Packages whose versions are on the page."""

PERCENT = ("accuracy", "balanced_accuracy")
"""Metrics in per cent; the area under the curve is a number up to 1."""

Rows = list[tuple[str, str]]


def title_of(gram: BaseGram, words: KernelWords | None, card: Spec | None = None) -> str:
    """Return the default title of a page."""
    if card and card.get("label") and words:
        return f"Prediction of {shown(card['label'])!r} with the {words.name}"
    return f"{words.name if words else 'Gram matrix'} on {len(gram):,} samples"


def kernel_words(gram: BaseGram, card: Spec | None = None) -> KernelWords | None:
    """Describe the kernel of a stored matrix or of a model; None for an array of values, whose kernel is unknown."""
    if card is not None:
        return card_words(card)
    return describe(gram.kernel) if isinstance(gram, StoredGram) else None


def check_evaluation(evaluation: Evaluation, gram: BaseGram, classes: Classes, labelled: bool) -> None:
    """Refuse an evaluation of other samples or classes.

    Raises
    ------
    InputError
        If the numbers of samples or the names of classes differ.
    """
    if len(evaluation.accuracy) == 0:
        raise InputError("the evaluation has no fold")
    samples = evaluation.settings.get("samples", len(gram))
    if samples != len(gram):
        raise InputError(
            f"the evaluation is of {samples} samples and the matrix of {len(gram)}: give the matrix that was evaluated"
        )
    if isinstance(gram, StoredGram):
        refuse_other_matrix(evaluation.settings, gram)
    names = tuple(map(str, evaluation.classes))
    if labelled and set(names) != set(classes.names):
        raise InputError(
            f"the evaluation is of the classes {', '.join(names)} and labels has {', '.join(classes.names)}: give the "
            "labels that were evaluated"
        )


def refuse_other_matrix(settings: Spec, gram: StoredGram) -> None:
    """Refuse an evaluation of another kernel, or of samples with other values, as far as it says which they were."""
    info = gram.info()
    kernel, values = settings.get("kernel"), settings.get("fingerprint")
    if kernel is not None and kernel != info["kernel"]:
        raise InputError(
            "the evaluation is of the kernel {evaluated}, and the matrix of {kernel!r}: view it as that kernel with "
            "{view}, or evaluate it again",
            evaluated=kernel,
            kernel=gram.kernel,
            view=Call("with_kernel"),
        )
    if values is not None and values != info["fingerprint"]["rows"]:
        raise InputError(
            f"the evaluation is of samples with other values ({settings.get('source', 'of unknown source')}) than "
            f"those of the matrix ({info['source']}): give the matrix that was evaluated"
        )


# The result --------------------------------------------------------------------------------------------------------


def headline(
    evaluation: Evaluation, classes: Classes, labelled: bool, reference: float | None, reference_label: str | None
) -> Spec:
    """Return the mean accuracy, its standard deviation, the published score, and the share of the largest class."""
    mean, spread = 100 * evaluation.mean(), 100 * evaluation.std()
    repeats = len(np.unique(evaluation.repeat))
    values: Spec = {
        "mean": f"{mean:.1f} %",
        "spread": "" if np.isnan(spread) else f"± {spread:.1f}",
        "spread_of": "" if np.isnan(spread) else f"standard deviation over {repeats} repeats",
        "protocol": protocol(evaluation),
        "classes": " or ".join(map(str, evaluation.classes)) if len(evaluation.classes) <= 4 else "",
        "reference": None,
        "baseline": None,
    }
    if reference is not None:
        percent = as_percent(reference)
        difference = round(mean, 1) - percent
        direction = "above" if difference > 0 else "below"
        values["reference"] = {
            "value": f"{percent:g} %",
            "label": reference_label or "for comparison",
            "difference": "the same to one decimal"
            if abs(difference) < 0.05
            else f"{abs(difference):.1f} points {direction}",
        }
    if labelled:
        largest = int(np.argmax(classes.counts))
        share = 100 * classes.counts[largest] / sum(classes.counts)
        values["baseline"] = {"value": f"{share:.1f} %", "label": f"always answering “{classes.names[largest]}”"}
    return values


def protocol(evaluation: Evaluation) -> str:
    """Describe the cross-validation briefly.

    Examples
    --------
    >>> from distkern.learners.evaluation import Evaluation
    >>> columns = ([0, 0, 1, 1], [0, 1, 0, 1], [5] * 4, [0.5] * 4, [0.5] * 4, [0.5] * 4, [1.0] * 4)
    >>> protocol(Evaluation(*map(np.array, columns), classes=(), settings={}, seconds=0.1))
    '2 repeats of 2-fold cross-validation'
    """
    repeats, folds = len(np.unique(evaluation.repeat)), len(np.unique(evaluation.fold))
    left_out = {"leave-one-cohort-out": "cohorts", "leave-one-group-out": "groups"}
    if evaluation.settings.get("outer") in left_out:
        return f"{folds} {left_out[evaluation.settings['outer']]}, each predicted by a model of the others"
    return f"{repeats} repeat{'s' * (repeats != 1)} of {folds}-fold cross-validation"


def score_rows(evaluation: Evaluation) -> list[list[str]]:
    """Return per metric: name, mean, standard deviations over repeats and folds, lowest and highest fold."""
    rows = []
    for metric, name in METRIC_NAMES.items():
        folds = np.asarray(getattr(evaluation, metric), dtype=np.float64)
        folds = folds[~np.isnan(folds)]
        ends = (folds.min(), folds.max()) if len(folds) else (np.nan, np.nan)
        spreads = evaluation.std(metric), evaluation.std(metric, over="folds")
        unit = " (%)" if metric in PERCENT else ""
        rows.append([name + unit, *(_score(metric, value) for value in (evaluation.mean(metric), *spreads, *ends))])
    return rows


def repeat_rows(evaluation: Evaluation) -> list[list[str]]:
    """Return per repeat: number, mean of each metric over its folds, and the chosen values of C."""
    numbers = np.unique(evaluation.repeat)
    means = {metric: evaluation.repeat_means(metric) for metric in METRIC_NAMES}
    return [
        [
            str(position + 1),
            *(_score(metric, means[metric][position]) for metric in METRIC_NAMES),
            ", ".join(f"{value:g}" for value in evaluation.C[evaluation.repeat == number] if value == value) or "–",
        ]
        for position, number in enumerate(numbers)
    ]


def _score(metric: str, value: float) -> str:
    if np.isnan(value):
        return "–"
    return f"{100 * value:.1f}" if metric in PERCENT else f"{value:.3f}"


def protocol_rows(evaluation: Evaluation) -> Rows:
    """Describe the settings of the evaluation."""
    settings, counts, name = evaluation.settings, chosen_C(evaluation), chosen_parameter(evaluation)
    rows = [("Outer folds", f"{protocol(evaluation)}, {_span(evaluation.n_test)} samples tested in each")]
    if settings.get("C"):
        grid = ", ".join(f"{value:g}" for value in settings["C"])
        inner = f"{settings['inner']}-fold cross-validation on the training part of each outer fold"
        rows.append((name, f"{inner} chose among {grid}"))
    if counts:
        rows.append((f"{name} chosen", ", ".join(f"{value:g}: {count} ×" for value, count in counts.items() if count)))
    if settings.get("grouped"):
        rows.append(("Groups", "samples of one group never fall on both sides of a split"))
    if "estimator" in settings:
        rows.append(("Classifier", str(settings["estimator"])))
    if "seed" in settings:
        rows.append(("Seed", str(settings["seed"])))
    return [*rows, ("Time", readable_seconds(evaluation.seconds))]


def _span(counts: Iterable[int]) -> str:
    least, most = min(counts), max(counts)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


# The matrix and its samples ----------------------------------------------------------------------------------------


def matrix_rows(samples: int, diagonal: Floats, drawn: Drawn) -> Rows:
    """Return the size of the matrix and the range of its values, off and on the diagonal."""
    where = " among the samples drawn" if drawn.is_part else ""
    low, high = off_diagonal_range(drawn.values)
    least, greatest = float(diagonal.min()), float(diagonal.max())
    span = _signed(least) if least == greatest else f"{_signed(least)} to {_signed(greatest)}"
    return [
        ("Matrix", f"{samples:,} × {samples:,} kernel values"),
        ("Between two samples", f"{_signed(low)} to {_signed(high)}{where}" if len(drawn.values) > 1 else "–"),
        ("Of a sample with itself", span + (where if len(diagonal) < samples else "")),
    ]


def _signed(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")


def off_diagonal_range(values: Floats) -> tuple[float, float]:
    """Return the lowest and the highest value off the diagonal.

    Examples
    --------
    >>> off_diagonal_range(np.array([[9.0, 2.0], [2.0, 9.0]]))
    (2.0, 2.0)
    """
    off = values[~np.eye(len(values), dtype=bool)]
    return (float(off.min()), float(off.max())) if len(off) else (float("nan"), float("nan"))


def cohort_rows(gram: BaseGram, card: Spec | None = None) -> Rows:
    """Return the source of the samples as far as the matrix, or the card of a model, records it."""
    if card is not None:
        return [("Source", shown(card["cohort"])), ("Samples × features", f"{len(gram):,} × {card['features']:,}")]
    if not isinstance(gram, StoredGram):
        return [("Samples", f"{len(gram):,}")]
    info = gram.info()
    return [
        ("Source", str(info["source"])),
        ("Samples × features", f"{len(gram):,} × {info['n_features']:,}"),
        ("Fingerprint of the values", str(info["fingerprint"]["rows"])),
    ]


def kind_rows(kinds: Sequence[str] | None) -> Rows:
    """Return the kinds of rankings, where the samples are rankings that state them.

    Examples
    --------
    >>> kind_rows(["top", "total", "top"])
    [('Kinds of rankings', '2 top, 1 total')]
    """
    counts = Counter(kinds or ())
    return [("Kinds of rankings", ", ".join(f"{counts[kind]:,} {kind}" for kind in sorted(counts)))] if counts else []


def class_rows(classes: Classes) -> list[list[str]]:
    """Return per class: name, number of samples and their share."""
    total = sum(classes.counts)
    pairs = zip(classes.names, classes.counts, strict=True)
    return [[name, f"{count:,}", f"{100 * count / total:.1f} %"] for name, count in pairs]


# Time, memory and software -----------------------------------------------------------------------------------------


def store_rows(info: Spec) -> Rows:
    """Describe how the matrix is stored."""
    tiles = f"{info['tiles_done']:,} of {info['tiles']:,} tiles of {info['tile']:,} × {info['tile']:,} samples"
    half = ", upper triangle" if info["symmetric"] else ""
    return [
        ("Store", os.path.basename(os.path.normpath(info["path"]))),
        ("Tiles", tiles + half),
        ("On disk", f"{readable_bytes(info['bytes_stored'])} planned, values as {info['dtype']}"),
        ("Memory of a task", f"{readable_bytes(info['bytes_per_task'])} planned"),
    ]


def run_rows(info: Spec) -> list[list[str]]:
    """Return per run with workers: start, executor, seconds, seconds of tasks, tiles, workers and peak memory."""
    return [
        [
            datetime.fromisoformat(run["started"]).strftime("%Y-%m-%d %H:%M UTC"),
            str(run["executor"]),
            readable_seconds(run["seconds"]),
            readable_seconds(run["task_seconds"]),
            f"{run['tiles_computed']:,}",
            f"{run['workers']:,}",
            readable_bytes(run["peak_bytes"]),
        ]
        for run in info["runs"]
        if run["workers"]
    ]


def version_rows(gram: BaseGram | None) -> Rows:
    """Return the versions of the software that made the matrix and the page."""
    rows = [("distkern", __version__)]
    if isinstance(gram, StoredGram) and gram.info()["version"] != __version__:
        rows.append(("distkern that made the store", str(gram.info()["version"])))
    rows.append(("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"))
    for name in PACKAGES:
        try:
            rows.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return rows


# How to reproduce --------------------------------------------------------------------------------------------------


def snippet(
    gram: BaseGram,
    words: KernelWords | None,
    evaluation: Evaluation | None,
    labelled: bool,
    loading: str | None,
    card: Spec | None = None,
) -> str:
    """Return Python code that computes the same result."""
    if card is not None and evaluation is not None:
        labels = [] if loading is not None else ["y = ...  # the label of each sample"]
        code = [*card_lines(card, loading), *labels]
        code += [training_line(card, evaluation.settings), "print(trained.evaluation.mean(), trained.evaluation.std())"]
        return "\n".join([*code, "dk.save_model(trained.predictor, 'classifier.model')"])
    labels = (
        []
        if loading is not None or not (labelled or evaluation is not None)
        else ["y = ...  # the label of each sample"]
    )
    lines = [*loading_lines(gram, words, loading), *labels, gram_line(gram, words)]
    if evaluation is not None:
        lines += [_evaluate_line(evaluation.settings), "print(evaluation.mean(), evaluation.std())"]
        if evaluation.permutation_test is not None:
            lines.append(_permutation_line(evaluation.permutation_test))
    return "\n".join(lines)


def loading_lines(gram: BaseGram, words: KernelWords | None, loading: str | None) -> list[str]:
    """Return Python code that loads the samples, as far as their source is known."""
    if words is None:
        return _loaded("K = ...  # the kernel values", loading)
    return _loaded(cohort_line(gram.info()["source"]), loading)  # type: ignore[attr-defined]


def card_lines(card: Spec, loading: str | None) -> list[str]:
    """Return Python code that loads the samples of a model, as far as its card tells their source."""
    return _loaded(cohort_line(card["cohort"]), loading)


def _loaded(line: str, loading: str | None) -> list[str]:
    """Return Python code that imports distkern and loads the samples: the given lines, or one line."""
    lines = ["import distkern as dk", ""]
    return [*lines, *loading.strip().splitlines(), ""] if loading is not None else [*lines, line]


def cohort_line(source: str) -> str:
    """Return Python code that reads the cohort of a description, or says which it is.

    Examples
    --------
    >>> cohort_line("'golub.tsv' with samples='columns': AnnData 72 × 7,129")
    "X = dk.read_expression('golub.tsv', samples='columns')"
    >>> cohort_line("NumPy array 5 × 7")
    'X = ...  # the cohort: NumPy array 5 × 7'
    """
    origin = Origin.in_text(source)
    code = None if origin is None else origin.code()
    return f"X = ...  # the cohort: {' '.join(source.split())}" if code is None else f"X = {code}"


def gram_line(gram: BaseGram, words: KernelWords | None) -> str:
    """Return Python code that computes the matrix."""
    if words is None:
        return "gram = dk.ArrayGram(K)"
    info = gram.info()  # type: ignore[attr-defined]
    store = os.path.basename(os.path.normpath(info["path"]))
    dtype = f", dtype={info['dtype']!r}" if info["dtype"] == "float32" else ""  # integers are the kernel's choice
    return f"gram = dk.compute_gram({words.code}, X, store={store!r}{dtype}{_landmark_arguments(info)})"


def _landmark_arguments(info: Spec) -> str:
    asked = info.get("landmarks")
    if not asked:
        return ""
    if asked["choice"] == "given":
        return f", landmarks={info['landmark_positions']}"
    return f", landmarks={asked['count']}, landmark_choice={asked['choice']!r}, landmark_seed={asked['seed']}"


def _evaluate_line(settings: Spec) -> str:
    asked: Spec = {name: settings[name] for name in ("C", "outer", "inner", "repeats", "seed") if name in settings}
    if settings.get("C"):
        asked["C"] = [float(f"{value:.12g}") for value in settings["C"]]
    if settings.get("parameter") == "lam":
        asked = {"lam": asked.pop("C"), **asked}
    cohorts = settings.get("outer") == "leave-one-cohort-out"
    if cohorts:
        asked = {name: value for name, value in asked.items() if name not in ("outer", "repeats")}
    given = "".join(f", {name}={value!r}" for name, value in asked.items())
    grouped = ", groups=groups" * bool(settings.get("grouped")) + ", cohorts=cohorts" * cohorts
    estimator = str(settings.get("estimator", ""))
    plain = not estimator or estimator == _default_estimator()
    note = "" if plain else f"model = ...  # {' '.join(estimator.split())}\n"
    return f"{note}evaluation = dk.cross_validate_gram({None if plain else 'model'}, gram, y{given}{grouped})"


def _permutation_line(test: PermutationTest) -> str:
    names = ("values", "outer", "inner", "random_state")
    asked: Spec = {"permutations": test.permutations, "scoring": test.scoring}
    asked |= {name: test.settings[name] for name in names if test.settings.get(name) not in (None, [])}
    given = "".join(f", {name}={value!r}" for name, value in asked.items())
    grouped = ", groups=groups" if test.settings.get("grouped") else ""
    note = f"model = ...  # {' '.join(str(test.settings.get('estimator', '')).split())}"
    return f"{note}\nprint(dk.permutation_test(model, gram, y{given}{grouped}).pvalue)"


def _default_estimator() -> str:
    from sklearn.pipeline import make_pipeline

    from distkern.learners.standardizer import KernelStandardizer
    from distkern.learners.svm import KernelSVC

    return repr(make_pipeline(KernelStandardizer(), KernelSVC()))


def today() -> str:
    """Return the current time for the footer of the page."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
