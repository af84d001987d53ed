"""Saved models: the same predictions after loading, no pickle, and a clear error for every other file."""

import json
import runpy
import struct
import tracemalloc
import zipfile
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KernelCenterer

from distkern.build.compute import compute_gram
from distkern.core.bags import Bags
from distkern.core.errors import InputError, InputTypeError
from distkern.kernels.bags.kernelized import MeanMap
from distkern.kernels.kendall import Kendall
from distkern.kernels.vectors import Gaussian, Linear
from distkern.learners.persist import estimators, load_model, save_model
from distkern.learners.predictor import CohortPredictor, PreparedColumns
from distkern.learners.registry import SAVEABLE, saveable
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.svm import KernelSVC
from distkern.operators.array import ArrayGram

DATA = Path(__file__).parent / "data"
WRITTEN = sorted(path.stem for path in (DATA / "format-1").glob("*.npz") if path.stem != "answers")


@pytest.mark.parametrize("name", WRITTEN)
def test_files_of_earlier_versions_give_the_same_answers(name):
    """The files were written by ``data/write_models.py`` before estimators registered themselves."""
    answers = runpy.run_path(str(DATA / "write_models.py"))["answers"]
    found = answers(load_model(DATA / "format-1" / f"{name}.npz"))
    with np.load(DATA / "format-1" / "answers.npz") as file:
        expected = {key.removeprefix(f"{name}."): file[key] for key in file.files if key.startswith(f"{name}.")}
    assert found.keys() == expected.keys()
    for method, values in expected.items():
        if values.dtype.kind == "f":
            np.testing.assert_allclose(found[method], values, rtol=1e-9, atol=1e-12)
        else:
            np.testing.assert_array_equal(found[method], values)


def test_every_kind_of_model_has_a_file_of_an_earlier_version():
    assert set(WRITTEN) >= {"KernelSVC", "MLSRRankerCV", "MallowsMixture", "pipeline", "predictor"}
    assert len(WRITTEN) == 15


class ForeignMean(BaseEstimator):
    """An estimator of a third party."""

    def fit(self, X, y):
        self.mean_ = float(np.mean(y))
        return self


def test_an_estimator_of_a_third_party_registers_itself(tmp_path):
    model = ForeignMean().fit(None, [1.0, 2.0])
    with pytest.raises(InputTypeError, match="ForeignMean"):
        save_model(model, tmp_path / "unregistered.npz")
    saveable(ForeignMean)
    try:
        assert estimators()["ForeignMean"] is ForeignMean
        assert load_model(save_model(model, tmp_path / "model.npz")).mean_ == 1.5
        with pytest.raises(TypeError, match="both define a saveable estimator ForeignMean"):
            saveable(type("ForeignMean", (BaseEstimator,), {"__module__": "elsewhere"}))
        assert estimators()["ForeignMean"] is ForeignMean
    finally:
        SAVEABLE.pop("ForeignMean")


@pytest.fixture
def cohort():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(30, 7)), np.array(["no", "yes", "maybe"])[np.arange(30) % 3]
    X[np.arange(30), np.arange(30) % 3] += 1.5
    return X, y


@pytest.fixture
def gram(cohort, tmp_path):
    return compute_gram(Kendall("b"), cohort[0], store=tmp_path / "cohort.zarr", tile=10, progress=False)


def test_feature_names_are_saved(cohort, tmp_path):
    X, y = cohort
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    turned = frame[list("gfedcba")]
    gram = compute_gram(Kendall("b"), frame, store=tmp_path / "named.zarr", tile=10, progress=False)
    model = KernelSVC().fit(gram, y)
    own = PreparedColumns(Kendall("b"), gram.prepared_columns(), gram.col_ids, tuple("abcdefg"))
    for number, columns in enumerate((gram, gram[:, :], own)):
        predictor = CohortPredictor(model, columns)
        loaded = load_model(save_model(predictor, tmp_path / f"{number}.npz"))
        assert loaded.gram.features == tuple("abcdefg")
        again = load_model(save_model(loaded, tmp_path / f"{number} again.npz"))
        for each in (predictor, loaded, again):
            with pytest.warns(UserWarning, match="does not have valid feature names"):
                by_position = each.predict(X)
            np.testing.assert_array_equal(each.predict(frame), by_position)
            np.testing.assert_array_equal(each.predict(turned.assign(h=0.5)), by_position)
    raw = load_model(save_model(KernelSVC(kernel=Kendall()).fit(as_anndata(frame), y), tmp_path / "raw.npz"))
    np.testing.assert_array_equal(raw.predict(as_anndata(turned)), raw.predict(as_anndata(frame)))


def test_new_samples_may_have_the_dropped_features(cohort, tmp_path):
    X, y = cohort
    gaps = X.copy()
    gaps[4, 2] = np.nan
    gram = compute_gram(Kendall("b"), gaps, store=tmp_path / "g.zarr", missing="drop-features", progress=False)
    for number, columns in enumerate((gram, gram[:, :])):
        loaded = load_model(save_model(KernelSVC().fit(gram, y), tmp_path / f"{number}.npz", columns))
        kept = np.delete(X, 2, axis=1)
        expected = KernelSVC().fit(Kendall("b")(kept), y).decision_function(Kendall("b")(kept))
        np.testing.assert_allclose(loaded.decision_function(X), expected, atol=1e-10)
        np.testing.assert_allclose(loaded.decision_function(kept), expected, atol=1e-10)
        with pytest.raises(InputError, match="X has 5 features, and the earlier samples have 6"):
            loaded.predict(X[:, :5])


def as_anndata(frame):
    return anndata.AnnData(frame.rename(index=str))


def test_gram_of_other_samples_is_refused(cohort, gram, tmp_path):
    model = make_pipeline(KernelStandardizer(), KernelSVC()).fit(gram[:15, :15], cohort[1][:15])
    with pytest.raises(InputError, match="not the samples that the model was fitted on: number 0 is '15', not '0'"):
        save_model(model, tmp_path / "model.npz", gram[15:, 15:])
    assert not (tmp_path / "model.npz").exists()
    save_model(model, tmp_path / "model.npz", gram[15:, :15])
    loaded = load_model(save_model(model, tmp_path / "alone.npz"))
    loaded.predict(gram[15:, :15])
    with pytest.raises(InputError, match="not the samples"):
        loaded.predict(gram[15:, 15:])


def test_file_without_names_can_be_loaded(cohort, gram, tmp_path):
    """Files of early versions have no names."""
    path = save_model(KernelSVC().fit(gram, cohort[1]), tmp_path / "model.npz", gram)

    def forget(header, arrays):
        header["model"]["fitted"].pop("training_ids_")
        for key in ("features", "n_features", "dropped"):
            header["columns"].pop(key)

    loaded = load_model(rewritten(path, forget))
    assert loaded.gram.features is None
    assert loaded.predict(cohort[0]).shape == (30,)


@pytest.fixture
def saved(cohort, gram, tmp_path):
    model = make_pipeline(KernelStandardizer(), KernelSVC(class_weight={"no": 2.0, "yes": 1.0, "maybe": 1.0}))
    return model.fit(gram, cohort[1]), save_model(model, tmp_path / "model.npz", gram)


def test_model_saved_with_its_gram_predicts_from_samples(cohort, gram, saved):
    model, path = saved
    new = cohort[0] + 0.1
    loaded = load_model(path)
    assert isinstance(loaded, CohortPredictor)
    expected = CohortPredictor(model, gram)
    np.testing.assert_array_equal(loaded.decision_function(new), expected.decision_function(new))
    np.testing.assert_array_equal(loaded.predict(new), expected.predict(new))
    assert loaded.gram.col_ids == gram.col_ids
    assert loaded.gram.kernel == Kendall("b")


def test_loaded_predictor_can_be_saved_again(cohort, saved, tmp_path):
    once = load_model(saved[1])
    twice = load_model(save_model(once, tmp_path / "again.npz"))
    np.testing.assert_array_equal(twice.decision_function(cohort[0]), once.decision_function(cohort[0]))


def test_model_saved_without_gram_loads_as_the_estimator(cohort, gram, saved, tmp_path):
    model = saved[0]
    loaded = load_model(save_model(model, tmp_path / "alone.npz"))
    assert [type(step) for _, step in loaded.steps] == [KernelStandardizer, KernelSVC]
    assert [name for name, _ in loaded.steps] == ["kernelstandardizer", "kernelsvc"]
    np.testing.assert_array_equal(loaded.decision_function(gram), model.decision_function(gram))
    assert loaded.get_params()["kernelsvc__class_weight"] == {"no": 2.0, "yes": 1.0, "maybe": 1.0}


def test_model_of_a_slice_is_saved_with_the_slice(cohort, gram, tmp_path):
    X, y = cohort
    train = np.arange(0, 30, 2)
    model = KernelSVC().fit(gram[np.ix_(train, train)], y[train])
    loaded = load_model(save_model(model, tmp_path / "slice.npz", gram[np.ix_(train, train)]))
    test = np.arange(1, 30, 2)
    np.testing.assert_allclose(
        loaded.decision_function(X[test]), model.decision_function(gram[np.ix_(test, train)]), atol=1e-12
    )


@pytest.mark.parametrize(
    "kernel", [Kendall("b"), Gaussian("median"), Linear() + 2.0 * Kendall(), (Linear() ** 2).normalized()]
)
def test_estimators_of_samples_load_as_themselves(cohort, kernel, tmp_path):
    X, y = cohort
    for number, model in enumerate(
        (KernelSVC(kernel=kernel), make_pipeline(KernelStandardizer(kernel=kernel), KernelSVC()))
    ):
        loaded = load_model(save_model(model.fit(X, y), tmp_path / f"{number}.npz"))
        assert type(loaded) is type(model)
        np.testing.assert_array_equal(loaded.predict(X + 0.1), model.predict(X + 0.1))
        np.testing.assert_array_equal(loaded.decision_function(X + 0.1), model.decision_function(X + 0.1))


@pytest.mark.parametrize(
    "labels", [np.array([0, 1] * 3), np.array([True, False] * 3), np.array(["a", "b"] * 3, dtype=object)]
)
def test_labels_keep_their_dtype(labels, tmp_path):
    model = KernelSVC(C=np.float32(2.0)).fit(np.eye(6), labels)
    loaded = load_model(save_model(model, tmp_path / "model.npz"))
    assert loaded.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(loaded.predict(np.eye(6)), model.predict(np.eye(6)))
    assert vars(loaded).keys() == vars(model).keys()


def test_list_and_array_parameters_keep_their_type(tmp_path):
    for number, diagonal in enumerate(([1.0, 2.0], (1.0, 2.0), np.array([1.0, 2.0]))):
        model = KernelStandardizer(diagonal=diagonal).fit(np.eye(3))
        loaded = load_model(save_model(model, tmp_path / f"{number}.npz"))
        assert type(loaded.diagonal) is type(diagonal)
        np.testing.assert_array_equal(loaded.transform(np.eye(2, 3)), model.transform(np.eye(2, 3)))


def test_a_finished_search_is_saved_by_its_best_estimator(cohort, tmp_path):
    search = GridSearchCV(KernelSVC(kernel=Linear()), {"C": [1.0, 2.0]}, cv=3).fit(*cohort)
    with pytest.raises(InputTypeError, match="best_estimator_"):
        save_model(search, tmp_path / "search.npz")
    assert load_model(save_model(search.best_estimator_, tmp_path / "best.npz")).C == search.best_params_["C"]


def test_existing_file_is_not_replaced_without_overwrite(saved):
    model, path = saved
    before = path.read_bytes()
    with pytest.raises(InputError, match="overwrite=True"):
        save_model(model, path)
    assert path.read_bytes() == before
    save_model(model, path, overwrite=True)
    assert path.read_bytes() != before
    assert [entry.name for entry in path.parent.iterdir() if "part" in entry.name] == []


def test_unsaveable_model_is_refused_and_leaves_no_file(cohort, gram, tmp_path):
    X, y = cohort
    target = tmp_path / "model.npz"
    with pytest.raises(NotFittedError):
        save_model(KernelSVC(), target)
    with pytest.raises(InputTypeError, match="KernelCenterer"):
        save_model(make_pipeline(KernelCenterer(), KernelSVC()).fit(gram.to_numpy(), y), target)
    with pytest.raises(InputError, match="kernel values only"):
        save_model(KernelSVC().fit(gram, y), target, ArrayGram(gram.to_numpy()))
    model = KernelSVC(kernel=Linear()).fit(X, y)
    model.classes_ = np.array([("a",), ("b",), 3], dtype=object)
    with pytest.raises(InputTypeError, match="Python objects"):
        save_model(model, target)
    assert not target.exists()


# Other files ---------------------------------------------------------------------------------------------------------


def rewritten(path, change):
    """Write the file again with another header."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays["header"].tobytes())
    change(header, arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **arrays)
    return path


def steps_of(header):
    return [part for _, part in header["model"]["pipeline"]]


CHANGES = {
    "later format": (lambda h, a: h.update(format=3), "install that version"),
    "other kind": (lambda h, a: h.update(kind="picture"), "'picture'"),
    "no format": (lambda h, a: h.pop("format"), "damaged"),
    "unknown class": (lambda h, a: steps_of(h)[0].update(estimator="os.system"), "no estimator"),
    "private name": (lambda h, a: steps_of(h)[0]["fitted"].update(__class__={"value": 1}), "no fitted attribute"),
    "unknown parameter": (lambda h, a: steps_of(h)[0]["params"].update(other={"value": 1}), "damaged"),
    "unknown kernel": (lambda h, a: h["columns"].update(kernel={"kernel": "magic"}), "magic"),
    "array gone": (lambda h, a: a.pop("model.kernelsvc.dual_coef_"), "damaged"),
    "no model": (lambda h, a: h.pop("model"), "damaged"),
    "samples forged": (
        lambda h, a: a.update({"columns.codes": a["columns.codes"][:, :-1].copy()}),
        r"Kendall\(.*\) cannot have prepared the samples in it",
    ),
    "ranks forged": (
        lambda h, a: a.update({"columns.codes": a["columns.codes"].astype(float)}),
        "the ranks of its samples are no ranks",
    ),
    "text beyond Unicode": (
        lambda h, a: next(part for part in a.values() if part.dtype.kind == "U").view(np.uint32).fill(0x7FFFFFFF),
        "damaged",
    ),
    "identity forged": (lambda h, a: steps_of(h)[0]["fitted"].update(training_values_={"value": "x"}), "damaged"),
    "names gone": (lambda h, a: h["columns"].update(ids=["one"]), "names"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changed_headers_are_refused(saved, name):
    change, message = CHANGES[name]
    with pytest.raises(InputError, match=message):
        load_model(rewritten(saved[1], change))


def test_flipped_byte_is_detected(saved):
    path = saved[1]
    with zipfile.ZipFile(path) as archive:
        largest = max(archive.infolist(), key=lambda member: member.file_size)
    content = bytearray(path.read_bytes())
    content[largest.header_offset + largest.file_size // 2 + 100] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        load_model(path)


@pytest.mark.parametrize("content", [b"", b"text", b"\x80\x04N.", b"PK\x03\x04broken"])
def test_foreign_files_are_refused(content, tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        load_model(path)


def test_other_arrays_and_truncated_files_are_refused(saved, tmp_path):
    np.savez(tmp_path / "arrays.npz", x=np.eye(2))
    np.save(tmp_path / "array.npy", np.eye(2))
    np.savez(tmp_path / "objects.npz", header=np.array([{}], dtype=object))
    for name in ("arrays.npz", "array.npy", "objects.npz"):
        with pytest.raises(InputError, match="damaged"):
            load_model(tmp_path / name)
    saved[1].write_bytes(saved[1].read_bytes()[:-50])
    with pytest.raises(InputError, match="damaged"):
        load_model(saved[1])
    with pytest.raises(InputError, match="no file"):
        load_model(tmp_path / "absent.npz")


@pytest.mark.parametrize("content", [b"", b"text", b"\x80\x04N.", b"PK\x03\x04broken"])
def test_no_message_recommends_to_unpickle_a_file(content, tmp_path):
    (tmp_path / "model.npz").write_bytes(content)
    np.savez(tmp_path / "objects.npz", header=np.array([{}], dtype=object))
    for name in ("model.npz", "objects.npz"):
        with pytest.raises(InputError) as raised:
            load_model(tmp_path / name)
        assert "pickle" not in str(raised.value)
        assert str(raised.value).endswith("get the file again, or save the model again with save_model")


def test_prepared_columns_replace_a_gram(cohort, tmp_path):
    X, y = cohort
    kernel = Linear()
    model = KernelSVC().fit(kernel(X), y)
    columns = PreparedColumns(kernel, kernel.prepare(X))
    loaded = load_model(save_model(model, tmp_path / "m.npz", columns))
    np.testing.assert_allclose(loaded.decision_function(X[:3]), model.decision_function(kernel(X[:3], X)), atol=1e-10)


def test_columns_of_bags_require_the_number_of_features(tmp_path):
    rows = Bags.from_arrays(list(np.random.default_rng(0).normal(size=(8, 5, 2)))).rows()
    kernel = MeanMap(Gaussian(1.0)).resolve(rows)
    model = KernelSVC().fit(kernel(rows), [0, 1] * 4)
    with pytest.raises(InputError, match="give PreparedColumns n_features="):
        save_model(model, tmp_path / "m.npz", PreparedColumns(kernel, kernel.prepare(rows)))
    columns = PreparedColumns(kernel, kernel.prepare(rows), n_features=rows.shape[1])
    loaded = load_model(save_model(model, tmp_path / "m.npz", columns))
    np.testing.assert_allclose(loaded.decision_function(rows), model.decision_function(kernel(rows)), atol=1e-10)


# Files of strangers that would be large in memory ---------------------------------------------------------------------


def member(description, content=b""):
    """Bytes of an ``.npy`` file with a header of this text."""
    text = description.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


def archive_of(path, compression=zipfile.ZIP_STORED, **members):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def repeated(path, times):
    """Rewrite an archive such that its directory lists all members many times."""
    content = path.read_bytes()
    size, start = struct.unpack("<II", content[-10:-2])
    directory, end = content[start : start + size], bytearray(content[-22:])
    count = struct.unpack("<H", end[8:10])[0] * times
    struct.pack_into("<HHII", end, 8, count, count, size * times, start)
    path.write_bytes(content[:start] + directory * times + end)
    return path


HEADER = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }"
STRANGE = {
    "compressed": lambda path: archive_of(path, zipfile.ZIP_DEFLATED, header=member(HEADER % ("|u1", "(2,)"), b"{}")),
    "compressed zeros": lambda path: archive_of(
        path, zipfile.ZIP_DEFLATED, a=member(HEADER % ("|u1", f"({2**25},)"), bytes(2**25))
    ),
    "72 TiB": lambda path: archive_of(path, header=member(HEADER % ("<f8", f"({10**13},)"), bytes(8))),
    "beyond 64 bits": lambda path: archive_of(path, header=member(HEADER % ("<f8", f"({2**62}, {2**62})"), bytes(8))),
    "texts of no size": lambda path: archive_of(path, header=member(HEADER % ("<U0", f"({10**12},)"))),
    "objects": lambda path: archive_of(path, header=member(HEADER % ("|O", "(1,)"), bytes(8))),
    "open bracket": lambda path: archive_of(path, header=member("{'descr': '<f8', 'shape': (2,", bytes(16))),
    "listed often": lambda path: repeated(
        archive_of(path, header=member(HEADER % ("|u1", f"({2**20},)"), bytes(2**20))), 50
    ),
    "deep": lambda path: archive_of(path, header=member(HEADER % ("|u1", "(100000,)"), b"[" * 100_000)),
    "no header": lambda path: archive_of(path, header=b"text"),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_a_file_is_never_much_larger_in_memory_than_on_disk(tmp_path, kind):
    path = STRANGE[kind](tmp_path / "model.npz")
    estimators()  # imports all learners
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="damaged"):
            load_model(path)
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()


def test_a_text_array_that_is_named_often_is_converted_once(saved):
    def name_often(header, arrays):
        arrays["texts"] = np.array(["é" * 50] * 1000)
        often = [{"array": "texts", "objects": True}] * 2000
        steps_of(header)[0]["fitted"]["extra_"] = {"list": often}

    extra = load_model(rewritten(saved[1], name_often)).model.steps[0][1].extra_
    assert len(extra) == 2000
    assert all(one is extra[0] for one in extra)


def test_a_name_that_no_system_takes_is_that_of_no_file():
    with pytest.raises(InputError, match="there is no file 'xxx"):
        load_model("x" * 300)


def test_ranked_samples_are_kept_as_ranks_alone_and_restored_to_the_bit(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 40, size=(30, 200)).astype(float)
    model = KernelSVC(kernel=Kendall()).fit(X, np.arange(30) % 2)
    path = save_model(model, tmp_path / "model.bin")
    loaded = load_model(path)
    for name, array in model.prepared_.arrays.items():
        np.testing.assert_array_equal(loaded.prepared_.arrays[name], array)
        assert loaded.prepared_.arrays[name].dtype == array.dtype
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert path.stat().st_size < 2 * X.size + 20_000  # two bytes a value


def test_the_card_of_a_predictor_is_kept(tmp_path):
    X = np.random.default_rng(0).normal(size=(12, 5))
    card = {"kernel": "Kendall()", "validation": {"accuracy": 0.8}}
    predictor = CohortPredictor(KernelSVC(kernel=Kendall()).fit(X, np.arange(12) % 2), card=card)
    loaded = load_model(save_model(predictor, tmp_path / "model.npz"))
    assert (loaded.card, loaded.missing) == (card, "error")
    np.testing.assert_array_equal(loaded.predict(X), predictor.predict(X))
