"""The tables of the multiscale ranking paper: the published numbers are complete, and are reproduced."""

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.datasets import load_qsar
from distkern.learners.metrics import mean_squared_difference
from distkern.learners.ranker_search import LAMS, MLSRRankerCV
from distkern.learners.ranking import LSRRanker
from distkern.reproduce import mlsrrank, mlsrrank_jester
from distkern.reproduce.mlsrrank import CHOSEN, PUBLISHED, curve_rows, run, scaled


def test_the_published_tables_are_complete():
    assert len(PUBLISHED) == 10
    assert all(set(row) == {"error", "corr", "tau", "rho"} for row in PUBLISHED.values())
    assert PUBLISHED["I", "RankSVM"]["error"] == 0.1726
    best = {table: min((row["error"], method) for (t, method), row in PUBLISHED.items() if t == table) for table in "I"}
    assert best["I"][1] == "RankSVM"


@pytest.mark.parametrize(("table", "most"), [("I", 0.016), ("II", 0.001)])
def test_the_published_parameters_give_the_published_numbers(table, most):
    cells = run(table, search=False)
    assert len(cells) == 4
    assert max(abs(cell.ours - cell.published) for cell in cells) < most


def test_leave_one_out_chooses_the_published_parameters():
    dhfr = load_qsar("dhfr")
    train, _ = scaled(dhfr)
    search = MLSRRankerCV().fit(train, dhfr.y[dhfr.train])
    kernels, weights, lam = search.best_params_.values()
    assert tuple(mlsrrank_jester.WIDTHS[t] for t in kernels) == CHOSEN["I"].widths
    assert (weights, lam) == (CHOSEN["I"].weights, CHOSEN["I"].lam)


def test_descriptors_are_scaled_by_the_range_of_each_or_of_the_training_set():
    dhfr = load_qsar("dhfr")
    (train, each), (same, test) = scaled(dhfr), scaled(dhfr, "train")
    np.testing.assert_array_equal(train, same)
    assert (train.min(), train.max(), each.min(), each.max()) == (0, 1, 0, 1)
    assert test.max() > 1
    with pytest.raises(InputError, match="scaling must be"):
        scaled(dhfr, "all")
    with pytest.raises(InputError, match="no table 'III'"):
        run("III")
    with pytest.raises(InputError, match="no set of compounds 'bzr'"):
        load_qsar("bzr")


def test_the_error_falls_along_the_learning_curve(monkeypatch):
    monkeypatch.setattr(mlsrrank, "FIGURE_STEP", 60)
    rows = list(curve_rows(repeats=3))
    errors = [row["ours"] for row in rows if row["measure"] == "error" and row["table"] == "figure 1, II"]
    assert len(errors) == 4
    assert errors[-1] < errors[0]


def test_there_are_rows_of_both_tables():
    rows = list(mlsrrank.rows(quick=True))
    assert [row["table"] for row in rows] == ["I"] * 4 + ["II"] * 4
    assert rows[0]["published"] == 0.1782


# Jester -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def ratings(tmp_path):
    rng = np.random.default_rng(0)
    taste, jokes = rng.normal(size=(60, 3)), rng.normal(size=(3, 100))
    values = np.clip(3 * taste @ jokes + rng.normal(size=(60, 100)), -10, 10)
    values[rng.random(values.shape) < np.where(np.arange(60) < 30, 0.68, 0.4)[:, None]] = np.nan
    np.savez(tmp_path / "jester.npz", ratings=values.astype(np.float32))
    return tmp_path / "jester.npz"


@pytest.mark.slow
def test_the_jester_columns_on_few_ratings(ratings):
    cells = mlsrrank_jester.run(ratings, repeats=2, reviewers=8, groups=["20-40"])
    assert len(cells) == 2 * (2 * 2 + 1)
    ours = {(cell.measure, cell.method, cell.parameters.split(":")[0]): cell.ours for cell in cells}
    for measure in ("msd", "m1d"):
        best = ours[measure, "MLSRRank", "best on the test jokes"]
        assert best <= ours[measure, "LSRRank", "best on the test jokes"] < ours[measure, "constant", "no ranker"]
        assert best <= ours[measure, "MLSRRank", "chosen on the training jokes"]
    assert cells[0].published == 41.39


def test_scores_of_a_reader_equal_those_of_the_ranker(ratings):
    values = mlsrrank_jester.load_ratings(ratings)
    samples = mlsrrank_jester.jokes_as_samples(values, np.arange(10))
    assert samples.shape == (100, 10)
    assert ((samples >= 0) & (samples <= 1)).all()
    K = mlsrrank_jester.paper_kernel(4.0)(samples)
    found, _, constant = mlsrrank_jester._one_reviewer([K], values[40], np.random.default_rng(1))
    rated = np.random.default_rng(1).permutation(np.flatnonzero(~np.isnan(values[40])))
    train, test = np.sort(rated[: len(rated) // 2]), np.sort(rated[len(rated) // 2 :])
    for column, lam in enumerate(LAMS):
        model = LSRRanker(lam).fit(K[np.ix_(train, train)], values[40][train])
        expected = mean_squared_difference(values[40][test], model.predict(K[np.ix_(test, train)]))
        assert found[0, column] == pytest.approx(expected, rel=1e-6)
    assert constant[0] == pytest.approx(2 * np.var(values[40][test]))


def test_other_files_than_ratings_are_refused(tmp_path, ratings):
    np.savez(tmp_path / "other.npz", votes=np.eye(3))
    np.savez(tmp_path / "large.npz", ratings=np.full((3, 3), 50.0))
    with pytest.raises(InputError, match="no array 'ratings'"):
        mlsrrank_jester.load_ratings(tmp_path / "other.npz")
    with pytest.raises(InputError, match="between -10 and 10"):
        mlsrrank_jester.load_ratings(tmp_path / "large.npz")
    with pytest.raises(InputError, match="300 are needed"):
        mlsrrank_jester.run(ratings, repeats=1)
    with pytest.raises(InputError, match=r"give the folder of jester5k\.npz"):
        next(mlsrrank_jester.rows())
