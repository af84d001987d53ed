"""Prediction for samples that lack features: refused, or averaged over all places, wherever the model comes from."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline

import distkern as dk
from distkern.datasets import load_breast
from distkern.learners.predictor import PreparedColumns
from tests.kernels.test_incomplete import embedded

RNG = np.random.default_rng(4)
GENES = list("ABCDE")
TRAINING = pd.DataFrame(RNG.normal(size=(24, 5)), columns=GENES, index=[f"t{k}" for k in range(24)])
Y = np.where(TRAINING["A"] > TRAINING["B"], "yes", "no")
NEW = pd.DataFrame(RNG.normal(size=(6, 5)), columns=GENES, index=[f"n{k}" for k in range(6)])
FEWER = NEW[["D", "B", "A"]].assign(other=1.0)
SPARSER = FEWER.mask(RNG.random(FEWER.shape) < 0.1)


def phi(x):
    return embedded(np.asarray(x, dtype=float))


def expected(model, new, center):
    """Decision values from the embedding itself, one number for each pair."""
    before = np.array([phi(x) for x in TRAINING.to_numpy()])
    after = np.array([phi(x) for x in new.reindex(columns=GENES).to_numpy()])
    if center:
        mean = before.mean(axis=0)
        before, after = before - mean, after - mean
        before, after = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (before, after))
    learner = model[-1] if center else model
    coefficients = np.zeros(len(before))
    coefficients[learner.support_] = learner.dual_coef_.ravel()
    return after @ before.T @ coefficients + learner.intercept_[0]


def learner(center, **kernel):
    return make_pipeline(dk.KernelStandardizer(**kernel), dk.KernelSVC()) if center else dk.KernelSVC(**kernel)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("new", [FEWER, SPARSER, NEW], ids=["fewer", "fewer and NaN", "all"])
def test_decision_values_are_those_of_the_mean_embedding(tmp_path, center, new):
    gram = dk.compute_gram(dk.Kendall(), TRAINING, store=tmp_path / "gram.zarr", tile=7, progress=False)
    model = learner(center).fit(gram, Y)
    columns = PreparedColumns(dk.Kendall(), gram.prepared_columns(), gram.col_ids, GENES)
    stored = dk.CohortPredictor(model, gram, missing="interleaving")
    raw = dk.CohortPredictor(learner(center, kernel=dk.Kendall()).fit(TRAINING, Y), missing="interleaving")
    found = {
        "store": stored,
        "prepared": dk.CohortPredictor(model, columns, missing="interleaving"),
        "file": dk.load_model(dk.save_model(stored, tmp_path / "stored.npz")),
        "samples": raw,
        "file of samples": dk.load_model(dk.save_model(raw, tmp_path / "raw.npz")),
    }
    for name, predictor in found.items():
        values = expected(raw.model if predictor.gram is None else model, new, center)
        assert predictor.missing == "interleaving"
        np.testing.assert_allclose(predictor.decision_function(new), values, atol=1e-9, err_msg=name)
        np.testing.assert_array_equal(predictor.predict(new), np.where(values > 0, "yes", "no"), err_msg=name)
    one = [found["store"].decision_function(new.iloc[[k]])[0] for k in range(len(new))]
    np.testing.assert_allclose(one, found["store"].decision_function(new), atol=1e-12)


def test_missing_features_are_refused_unless_asked_for(tmp_path):
    gram = dk.compute_gram(dk.Kendall(), TRAINING, store=tmp_path / "gram.zarr", progress=False)
    predictor = dk.CohortPredictor(dk.KernelSVC().fit(gram, Y), gram)
    for predict in (predictor.predict, dk.KernelSVC(kernel=dk.Kendall()).fit(TRAINING, Y).predict):
        with pytest.raises(
            dk.InputError, match=r"lacks 2 of the 5 .*'C', 'E'.* missing='interleaving' \(Kendall"
        ) as one:
            predict(FEWER)
        assert one.value.fields["features"] == ("C", "E")
    predictor.missing = "interleaving"
    assert len(predictor.predict(FEWER)) == 6
    with pytest.raises(dk.InputError, match=r"none of the 5 features .*: it has 'u', 'v', 'w', …, and 'A'"):
        predictor.predict(NEW.set_axis(list("uvwxy"), axis=1))
    with pytest.raises(dk.InputError, match="lacks 4 of the 5 features that are needed: 'B', 'C', 'D', …"):
        predictor.predict(NEW[["A"]].assign(z=1.0))
    with pytest.raises(dk.SampleError, match="sample 'n1' orders no two of the 3 features"):
        predictor.predict(FEWER.assign(D=0.0, B=0.0, A=[1.0, 0.0, 1.0, 1.0, 1.0, 1.0]))
    with pytest.raises(dk.InputError, match="missing must be one of error, interleaving, not 'median'"):
        predictor.missing = "median"


@pytest.mark.parametrize("kernel", [dk.Gaussian(1.0), dk.Mallows(1.0), dk.Spearman()])
def test_other_kernels_refuse_to_average(kernel):
    predictor = dk.CohortPredictor(dk.KernelSVC(kernel=kernel).fit(TRAINING, Y), missing="interleaving")
    with pytest.raises(dk.InputError, match="is for Kendall kernels, and the model has"):
        predictor.predict(FEWER)


def test_models_without_a_kernel_of_samples_are_refused():
    model = dk.KTopScoringPairs(k=1).fit(TRAINING, Y)
    with pytest.raises(dk.InputError, match="KTopScoringPairs has no kernel of samples: call its own predict"):
        dk.CohortPredictor(model, missing="interleaving")


@pytest.mark.slow
def test_scores_do_not_shrink_where_70_percent_of_the_genes_are_missing():
    nki, vdx = load_breast("nki"), load_breast("vdx")
    training, new = nki.to_df().dropna(axis=1), vdx.to_df().dropna(axis=1)
    model = make_pipeline(dk.KernelStandardizer(kernel=dk.Kendall()), dk.KernelSVC(C=10.0)).fit(training, nki.obs["er"])
    assert (~training.columns.isin(new.columns)).mean() > 0.65
    predictor = dk.CohortPredictor(model, missing="interleaving")
    assert balanced_accuracy_score(vdx.obs["er"], predictor.predict(new)) > 0.75  # 0.50 without the norm
    spread = predictor.decision_function(training).std()
    rng = np.random.default_rng(0)
    for share in (0.9, 0.7, 0.3):
        kept = rng.random(training.shape[1]) < share
        values = predictor.decision_function(training.loc[:, kept])
        assert abs(values.mean() - predictor.decision_function(training).mean()) < 0.15 * spread
        assert 0.6 < values.std() / spread < 1.1  # these are the training samples, which all genes fit
