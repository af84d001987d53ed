"""Model files of top-scoring pairs: readable, complete, and refused where they are not what they say."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from distkern import CohortPredictor, InputError, KTopScoringPairs, Linear, TopScoringPair, load_model, save_model
from distkern.core.errors import InputTypeError

NAMES = [f"gène {k}" for k in range(10)]


def cohort(classes=2, labels=("Bad", "Good", "Ugly")):
    rng = np.random.default_rng(2)
    y = np.arange(42) % classes
    X = rng.normal(size=(42, 10)).round(1)
    X[np.arange(42), y] += 2
    return pd.DataFrame(X, columns=NAMES, index=[f"p{k}" for k in range(42)]), np.array(labels)[y]


def assert_alike(model, loaded, X):
    for name in ("predict", "decision_function", "predict_proba", "votes"):
        np.testing.assert_array_equal(getattr(loaded, name)(X), getattr(model, name)(X))
    for name in ("classes_", "class_count_", "pair_names_", "scores_", "secondary_", "problem_", "n_pairs_", "counts_"):
        found, expected = getattr(loaded, name), getattr(model, name)
        np.testing.assert_array_equal(found, expected)
    assert type(loaded.n_pairs_) is type(model.n_pairs_)
    assert loaded.rules() == model.rules()


@pytest.mark.parametrize(
    ("classes", "options"),
    [
        (2, {"k": 4}),
        (2, {"k": "variance", "weights": "score", "features": 6}),
        (2, {"k": "cv", "k_range": (1, 3), "cv": 3, "scoring": lambda a, b: np.mean(a == b)}),
        (2, {"k": 3, "calibrate": True, "pivot": ["gène 0"], "disjoint": False, "executor": "serial"}),
        (3, {"k": 2, "disjoint": False}),
        (3, {"k": "variance", "rest": "mean"}),
        (3, {"k": 2, "multi_class": "ovo", "pairs": [(NAMES[0], NAMES[k]) for k in range(1, 9)], "disjoint": False}),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_a_loaded_model_predicts_as_before(tmp_path, classes, options, named):
    X, y = cohort(classes)
    if not named:
        X = X.to_numpy()
        places = {"pivot": [0], "pairs": [(0, k) for k in range(1, 9)]}
        options = options | {name: value for name, value in places.items() if name in options}
    model = KTopScoringPairs(**options).fit(X, y)
    path = save_model(model, tmp_path / "model.json")
    loaded = load_model(path)
    assert_alike(model, loaded, X)
    again = save_model(loaded, tmp_path / "again.json").read_text()
    assert_alike(model, load_model(tmp_path / "again.json"), X)
    first, second = json.loads(path.read_text()), json.loads(again)
    assert {**first, "parameters": 0} == {**second, "parameters": 0}
    if hasattr(model, "k_path_"):
        paths = zip(np.atleast_3d(model.k_path_), np.atleast_3d(loaded.k_path_), strict=True)
        assert all(np.array_equal(*pair) for pair in paths)


def test_the_file_is_readable_and_holds_the_features_of_the_pairs_only(tmp_path):
    X, y = cohort()
    model = KTopScoringPairs(3).fit(X, y)
    text = save_model(model, tmp_path / "rules").read_text(encoding="utf-8")
    document = json.loads(text)
    assert document["classes"] == ["Bad", "Good"]
    assert [(pair["first"], pair["second"]) for pair in document["pairs"]] == [tuple(p) for p in model.pair_names_]
    assert {pair["votes_for"] for pair in document["pairs"]} == {"Good"}
    assert {pair["against"] for pair in document["pairs"]} == {"Bad"}
    lines = [line for line in text.splitlines() if '"votes_for"' in line]
    assert len(lines) == 3  # a line for each pair
    unused = next(name for name in NAMES if name not in model.pair_names_)
    assert unused not in text
    loaded = load_model(tmp_path / "rules")
    assert loaded.feature_names_in_.tolist() == list(dict.fromkeys(model.pair_names_.ravel()))
    np.testing.assert_array_equal(loaded.predict(X.drop(columns=unused).iloc[:, ::-1]), model.predict(X))


@pytest.mark.parametrize("labels", [[0, 1], [-1.0, 2.0], [False, True], ["b", "a"]])
def test_labels_keep_their_type(tmp_path, labels):
    X, y = cohort(labels=labels)
    loaded = load_model(save_model(TopScoringPair().fit(X, y), tmp_path / "m.json"))
    assert type(loaded) is TopScoringPair
    assert loaded.classes_.dtype.kind == np.array(labels).dtype.kind
    assert sorted(set(loaded.predict(X).tolist())) == sorted(labels)


def test_labels_that_json_cannot_hold_are_refused(tmp_path):
    X, y = cohort(labels=np.array(["2020", "2021"], dtype="M8[Y]"))
    with pytest.raises(InputTypeError, match="which a file of rules cannot hold"):
        save_model(KTopScoringPairs(2).fit(X, y), tmp_path / "m.json")


def test_pipelines_are_saved_with_arrays(tmp_path):
    X, y = cohort()
    model = KTopScoringPairs(2).fit(X, y)
    with pytest.raises(InputError, match="KTopScoringPairs takes samples: leave out gram="):
        save_model(model, tmp_path / "m", gram=Linear()(X))
    with pytest.raises(InputError, match="call its own predict"):
        CohortPredictor(model, Linear()(X))
    with pytest.raises(NotFittedError):
        save_model(KTopScoringPairs(), tmp_path / "m")
    with pytest.raises(InputTypeError, match="StandardScaler"):
        save_model(make_pipeline(StandardScaler(), model).fit(X, y), tmp_path / "m")
    save_model(model, tmp_path / "m")
    with pytest.raises(InputError, match="exists"):
        save_model(model, tmp_path / "m")
    save_model(model, tmp_path / "m", overwrite=True)


def without(key):
    return lambda document: {name: value for name, value in document.items() if name != key}


def pair_with(**changes):
    return lambda document: document | {"pairs": [document["pairs"][0] | changes, *document["pairs"][1:]]}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda document: document | {"format": 9}, "install that version or a later one"),
        (lambda document: document | {"kind": "something"}, "is a file of kind 'something'"),
        (without("kind"), "is no model, or it is damaged"),
        *((without(key), "is damaged") for key in ("classes", "class_count", "pairs", "parameters", "estimator")),
        (lambda document: document | {"estimator": "KernelSVC"}, "no estimator of rules is called 'KernelSVC'"),
        (lambda document: document | {"classes": ["Good", "Bad"]}, "labels in order"),
        (lambda document: document | {"classes": ["Bad"]}, "damaged"),
        (lambda document: document | {"class_count": [1]}, "expected whole numbers"),
        (lambda document: document | {"class_count": [1, -1]}, "expected whole numbers"),
        (lambda document: document | {"parameters": {"nonsense": 1}}, "damaged: TypeError"),
        (lambda document: document | {"parameters": {"absent": "never"}}, "absent must be one of"),
        (lambda document: document | {"pairs": []}, "damaged"),
        (lambda document: document | {"probA": [1.0, 2.0]}, "probA must be a number for each binary problem"),
        (pair_with(first=3), "pairs of two names, or of two positions"),
        (pair_with(first="gène 1", second="gène 1"), "pairs of two names, or of two positions"),
        (pair_with(score=float("nan")), "score must be 0 or more"),
        (pair_with(secondary=-1.0), "secondary must be 0 or more"),
        (pair_with(votes_for="Bad", against="Good"), "damaged: KeyError"),
        (pair_with(counts=[[1, 2]]), "damaged"),
    ],
)
def test_damaged_files_are_refused(tmp_path, damage, said):
    X, y = cohort()
    path = save_model(KTopScoringPairs(3).fit(X, y), tmp_path / "m.json")
    path.write_text(json.dumps(damage(json.loads(path.read_text()))))
    with pytest.raises(InputError, match=said):
        load_model(path)


def test_positions_beyond_the_features_and_broken_text_are_refused(tmp_path):
    X, y = cohort()
    path = save_model(KTopScoringPairs(3).fit(X.to_numpy(), y), tmp_path / "m.json")
    whole = path.read_text()
    path.write_text(json.dumps(json.loads(whole) | {"n_features": 2}))
    with pytest.raises(InputError, match="position beyond 2 features"):
        load_model(path)
    for text in (whole[:-30], "{", '{"kind": 1}'):
        path.write_text(text)
        with pytest.raises(InputError, match=r"is no model, or it is damaged"):
            load_model(path)
    path.write_bytes(b"{\xff\xfe")
    with pytest.raises(InputError, match="is no model, or it is damaged"):
        load_model(path)
