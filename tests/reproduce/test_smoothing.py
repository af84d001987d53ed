from functools import partial
from pathlib import Path

import numpy as np
import pytest

from distkern import InputError, SmoothedKendall, cross_validate_gram
from distkern.datasets import load_medulloblastoma
from distkern.reproduce import TABLES, published, smoothing
from distkern.reproduce.smoothing import (
    BEST_WINDOW,
    DRAWS,
    REPEATS,
    WINDOWS,
    Point,
    best_window,
    figure_3,
    kendall_point,
    monte_carlo_grams,
    read_points,
    sweep_windows,
    windows,
)
from distkern.reproduce.tables import write_rows

COMMITTED = Path(__file__).parents[2] / "docs" / "figures" / "smoothing-medulloblastoma.csv"


@pytest.fixture(scope="module")
def cohort():
    return load_medulloblastoma(return_X_y=True)


def small(seed=0, m=8, n=40):
    return np.random.default_rng(seed).normal(scale=2.0, size=(m, n))


def shrouded(seed=0, m=20, n=100):
    """Classes that differ in the order of the two largest features; the order of the others is noise."""
    rng = np.random.default_rng(seed)
    y = np.repeat(["a", "b"], m // 2)
    X = rng.normal(scale=0.01, size=(m, n))
    X[:, :2] += 10 + np.where(y == "a", 1.0, -1.0)[:, None] * [1, -1]
    return X, y


# The kernels -------------------------------------------------------------------------------------------------------


def test_the_published_best_width_is_on_the_grid(cohort):
    grid = windows(cohort[0])
    assert len(grid) == WINDOWS
    assert grid[13] == pytest.approx(BEST_WINDOW, abs=0.5)  # published rounded
    np.testing.assert_allclose(grid[1:] / grid[:-1], (grid[-1] / grid[0]) ** (1 / (WINDOWS - 1)))
    assert (grid[0], grid[-1]) == (pytest.approx(2), pytest.approx(2 * (207050 + 55360)))


def test_windows_of_constant_data_are_refused():
    with pytest.raises(InputError, match="all values are equal"):
        windows(np.ones((3, 4)))
    with pytest.raises(InputError, match="2 windows or more"):
        windows(np.eye(3), 1)


def test_matrices_for_all_D_equal_those_of_the_kernel():
    X = small()
    grams = dict(monte_carlo_grams(X, 2.5, [1, 3, 8], seed=5))
    assert list(grams) == [1, 3, 8]
    for D, gram in grams.items():
        kernel = SmoothedKendall(2.5, method="monte-carlo", draws=D, seed=5)
        np.testing.assert_allclose(gram, kernel(X), rtol=0, atol=1e-14)
        assert np.linalg.eigvalsh(gram).min() > -1e-12


def test_monte_carlo_is_unbiased_off_the_diagonal_and_biased_by_one_over_D_on_it():
    X, D, seeds = small(), 4, 400
    exact = SmoothedKendall(2.5)(X)
    grams = np.array([next(monte_carlo_grams(X, 2.5, [D], seed=seed))[1] for seed in range(seeds)])
    expected = exact + np.diag((1 - exact.diagonal()) / D)
    standard_errors = grams.std(axis=0, ddof=1) / np.sqrt(seeds)
    assert (np.abs(grams.mean(axis=0) - expected) < 4.5 * standard_errors).all()
    assert ((1 - exact.diagonal()) / D > 10 * standard_errors.diagonal()).all()  # the bias is significant


@pytest.mark.slow
def test_the_monte_carlo_error_falls_at_a_rate_between_one_over_root_D_and_one_over_D(cohort):
    X = cohort[0][:20, ::24]
    exact, off = SmoothedKendall(BEST_WINDOW)(X), ~np.eye(20, dtype=bool)
    errors = [
        [np.std((gram - exact)[off]) for _, gram in monte_carlo_grams(X, BEST_WINDOW, [4, 64], seed=seed)]
        for seed in range(4)
    ]
    few, many = np.mean(errors, axis=0)
    assert (
        np.sqrt(64 / 4) < few / many < 64 / 4
    )  # the error of one sample is of order 1/√D, a product of two errors of order 1/D


# The accuracies ----------------------------------------------------------------------------------------------------


def test_smoothing_helps_if_small_differences_are_noise():
    X, y = shrouded()
    kendall = kendall_point(X, y, repeats=2)
    narrow, wide = sweep_windows(X, y, [1e-6, 4.0], repeats=2)
    assert narrow.repeats == pytest.approx(kendall.repeats)  # no values are that close, so that all orders are the same
    assert wide.accuracy > kendall.accuracy + 15
    assert best_window([kendall, narrow, wide]) == 4.0


def test_a_point_equals_the_nested_cross_validation_of_its_matrix():
    X, y = shrouded()
    (point,) = sweep_windows(X, y, [4.0], repeats=2, seed=9)
    evaluation = cross_validate_gram(None, SmoothedKendall(4.0)(X), y, repeats=2, seed=9)
    assert (point.curve, point.window, point.draws) == ("exact", 4.0, 0)
    assert point.accuracy == pytest.approx(100 * evaluation.mean("accuracy"))
    assert point.std == pytest.approx(100 * evaluation.std("accuracy"))
    assert len(point.repeats) == 2


def test_the_best_width_is_the_smallest_of_equal_ones():
    points = [
        Point("exact", window, 0, accuracies) for window, accuracies in ((30.0, (70.0, 60.0)), (20.0, (65.0,) * 2))
    ]
    assert best_window([*points, Point("monte-carlo", 1.0, 3, (99.0,))]) == 20.0
    with pytest.raises(InputError, match="no point of the exact kernel"):
        best_window([Point("kendall", 0.0, 0, (60.0,))])


def test_the_deviation_of_one_repetition_is_undefined():
    assert np.isnan(Point("kendall", 0.0, 0, (60.0,)).std)


def test_the_quick_figure_has_both_panels(monkeypatch):
    monkeypatch.setattr(
        smoothing, "cross_validate_gram", partial(cross_validate_gram, C=None)
    )  # without the inner folds, for speed
    X, y = shrouded()
    points = list(figure_3(X, y, repeats=1, quick=True))
    assert [point.curve for point in points] == ["kendall"] + ["exact"] * 10 + ["monte-carlo"] * 6
    np.testing.assert_allclose([point.window for point in points[1:11]], windows(X)[1::2])
    assert {point.window for point in points[11:]} == {best_window(points)}
    assert [point.draws for point in points[11:]] == list(smoothing.QUICK_DRAWS)


# The table ---------------------------------------------------------------------------------------------------------


def test_points_are_read_back_from_their_file(tmp_path):
    points = [Point("kendall", 0.0, 0, (60.0, 62.5)), Point("monte-carlo", 10204.0, 5, (61.25, 65.0))]
    write_rows(tmp_path / "points.csv", [point.row() for point in points], ["how it was made"])
    lines = (tmp_path / "points.csv").read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["# how it was made", "curve,window,draws,accuracy,std,repeat_1,repeat_2"]
    assert lines[3] == "monte-carlo,10204,5,63.125,2.65165,61.25,65"
    assert read_points(tmp_path / "points.csv") == points


def test_the_rows_are_the_points_of_the_figure(monkeypatch):
    points = [Point("kendall", 0.0, 0, (60.0, 61.0)), Point("monte-carlo", 10204.0, 5, (62.0, 63.0))]
    asked = []

    def figure(X, y, **options):
        asked.append((X.shape, y.shape, options))
        yield from points

    monkeypatch.setattr(smoothing, "figure_3", figure)
    assert list(TABLES["smoothing"].rows(quick=True, repeats=2, seed=3)) == [point.row() for point in points]
    assert asked == [((60, 7129), (60,), {"repeats": 2, "seed": 3, "quick": True})]


def test_the_committed_table_is_complete_and_reproduced(cohort):
    points = read_points(COMMITTED)
    grid = windows(cohort[0])
    kendall, exact, copies = points[0], points[1 : 1 + WINDOWS], points[1 + WINDOWS :]
    assert {len(point.repeats) for point in points} == {REPEATS}
    assert {point.curve for point in exact} == {"exact"}
    np.testing.assert_allclose([point.window for point in exact], grid, rtol=1e-5)
    assert [point.draws for point in copies] == list(range(1, DRAWS + 1))
    assert {point.window for point in copies} == {best_window(points)}
    # two of the ten repetitions computed now; one or two samples may differ on other machines
    np.testing.assert_allclose(kendall.repeats[:2], kendall_point(*cohort, repeats=2).repeats, atol=100 * 2.1 / 60)
    assert kendall.accuracy == pytest.approx(published("MB", "SVMkdtALL"), abs=3)
    assert best_window(points) == pytest.approx(BEST_WINDOW, abs=1)  # the peak is at the published width
    assert max(point.accuracy for point in exact) > kendall.accuracy + 3
