"""The best pairs of all equal those of double loops over pairs, whatever the tiles, workers, folds and groups."""

from fractions import Fraction
from functools import cache
from itertools import combinations

import naive_pairs as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import with_slow
from strategies import any_cohort, with_gaps

from distkern import Serial, Threads
from distkern.core.errors import InputError, MemoryLimitError, SampleError, StoreMismatchError
from distkern.engine import memory
from distkern.pairs import best, keys, tiles
from distkern.pairs.codes import pair_counts, positions_of, sign_codes, wilcoxon_features
from distkern.pairs.contrasts import Cells, Contrast
from distkern.pairs.scores import best_pairs

SETTINGS = st.fixed_dictionaries(
    {
        "groups": st.booleans(),
        "rest": st.sampled_from(["pooled", "mean"]),
        "aggregate": st.sampled_from(["mean", "min"]),
    }
)


def found_of(scored):
    """Pairs as the naive twins list them: score, secondary score, first, second."""
    fractions = [Fraction(n, d) for n, d in zip(scored.numerator.tolist(), scored.denominator.tolist(), strict=True)]
    return list(zip(fractions, scored.secondary.tolist(), scored.first.tolist(), scored.second.tolist(), strict=True))


def samples_of(codes, contrast, X):
    """The comparisons of a contrast with lists of samples in the place of cells."""
    rows = X.tolist()

    def side(cells):
        return [rows[codes.rows[k]] for cell in cells for k in range(codes.starts[cell], codes.starts[cell + 1])]

    return [[(side(one.positive), side(one.negative)) for one in group] for group in contrast.groups]


def assert_same(found, expected):
    assert [row[2:] for row in found] == [row[2:] for row in expected]
    for (score, gamma, *_), (exact, exact_gamma, *_) in zip(found, expected, strict=True):
        assert abs(score - exact) <= Fraction(1, 2**36)
        assert gamma == pytest.approx(float(exact_gamma), abs=2**-28)


@st.composite
def labelled(draw, classes=3):
    """A cohort of two or more classes, and groups."""
    X = draw(any_cohort)
    X = np.vstack([X, X[:1] + np.where(np.isfinite(X[:1]), np.arange(X.shape[1]) % 3, 0)])
    y = np.array([0, 1, *(draw(st.integers(0, classes - 1)) for _ in range(len(X) - 2))])
    groups = np.array([0, 0, *(draw(st.integers(0, 1)) for _ in range(len(X) - 2))])
    return X, y, groups


# All pairs against the naive twins ------------------------------------------------------------------------------------


@settings(deadline=None)
@given(
    labelled(), SETTINGS, st.booleans(), st.sampled_from([None, 1, 3]), st.sampled_from([0.0, 0.5, 1.0]), st.booleans()
)
def test_best_pairs_equal_the_naive_ones(drawn, setting, disjoint, k, min_observed, gaps):
    X, y, groups = drawn
    X = with_gaps(X) if gaps else X
    cells = Cells.of(y, groups=groups if setting["groups"] else None)
    codes = sign_codes(X, cells, missing="skip")
    contrast = cells.contrast(1, rest=setting["rest"], aggregate=setting["aggregate"])
    (scored,) = best_pairs(codes, [contrast], k, disjoint=disjoint, min_observed=min_observed, executor="serial")
    expected = naive.ordered_pairs(
        samples_of(codes, contrast, X), X.shape[1], aggregate=setting["aggregate"], min_observed=min_observed
    )
    assert_same(found_of(scored), (naive.greedy(expected) if disjoint else expected)[:k])
    for q, (i, j) in enumerate(zip(scored.first.tolist(), scored.second.tolist(), strict=True)):
        for side, number in ((contrast.negative, 0), (contrast.positive, 1)):
            members = [X[row] for cell in side for row in codes.rows[codes.starts[cell] : codes.starts[cell + 1]]]
            counted = scored.less[q, number], scored.greater[q, number], scored.observed[q, number]
            assert counted == naive.counts(members, i, j)


@pytest.mark.parametrize(("count", "size"), [(7, 100), (28, 100), (5, 6), (2, 3)])
def test_as_many_samples_as_the_least_fraction_are_enough(count, size):
    y = np.repeat([0, 1], size)
    X = np.column_stack([y, 1 - y, 1 - y]).astype(float)  # x_0 < x_1 in class 0 only, as x_0 < x_2
    for feature, observing in ((1, count), (2, count - 1)):
        X[np.arange(2 * size) % size >= observing, feature] = np.nan
    scored = scores_of(X, y, min_observed=count / size)
    assert [(scored.first[0], scored.second[0], scored.score[0])] == [(1, 0, 1.0)]
    assert scored.observed.tolist() == [[count, count]]


def cohort(p=70, m=23, levels=6, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, (m, p)).astype(float)
    y = rng.integers(0, classes, m)
    y[:classes] = range(classes)
    X[y == 1, : p // 4] += 2
    return X, y


def scores_of(X, y, k=None, *, missing="skip", **options):
    cells = Cells.of(y)
    return best_pairs(sign_codes(X, cells, missing=missing), [cells.contrast(1)], k, **options)[0]


@pytest.fixture(params=["small tiles", "many groups", "few rows"])
def divided(request, monkeypatch):
    """Ways to divide the pairs into tiles and groups."""
    monkeypatch.setattr(tiles, "SIDE", 8)
    monkeypatch.setattr(tiles, "WIDTH", 24)
    monkeypatch.setattr(tiles, "FEW_COMPARISONS", 0)
    if request.param == "small tiles":
        monkeypatch.setattr(tiles, "GROUPS_ACROSS", 1)
    if request.param == "few rows":
        monkeypatch.setattr(tiles, "COUNT_BYTES", 1)
    return request.param


@cache
def naive_result(gaps):
    """A cohort whose last tile is narrow, and its pairs."""
    X, y = cohort(p=45)
    X = with_gaps(X) if gaps else X
    return X, y, naive.ordered_pairs([[(X[y == 1].tolist(), X[y == 0].tolist())]], X.shape[1], min_observed=0.5)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("disjoint", [False, True])
def test_tiles_and_workers_do_not_change_the_naive_result(divided, disjoint, gaps):
    X, y, expected = naive_result(gaps)
    expected = naive.greedy(expected) if disjoint else expected
    for k, executor in ((1, Serial()), (12, Serial()), (12, Threads(3)), (None, Threads(3))):
        assert_same(found_of(scores_of(X, y, k, disjoint=disjoint, executor=executor)), expected[:k])


@pytest.mark.parametrize("k", [1, 5, 40])
def test_candidates_are_cut_down_without_losing_one(divided, k, monkeypatch):
    """Massive ties at the last place: the secondary score and the positions decide."""
    X, y = cohort(levels=2, m=6)
    monkeypatch.setattr(best, "SLACK", 2)
    expected = naive.ordered_pairs([[(X[y == 1].tolist(), X[y == 0].tolist())]], X.shape[1])
    assert_same(found_of(scores_of(X, y, k)), expected[:k])


@pytest.mark.parametrize("divided", with_slow(["many groups"], ["small tiles", "few rows"]), indirect=True)
def test_a_dask_cluster_gives_the_same_pairs(divided, client, tmp_path):
    X, y = cohort()
    expected = found_of(scores_of(X, y, 9, executor="serial"))
    assert found_of(scores_of(X, y, 9, executor=client)) == expected
    assert found_of(scores_of(X, y, 9, executor=client, store=tmp_path / "pairs")) == expected
    disjoint = found_of(scores_of(X, y, 9, executor="serial", disjoint=True))
    assert found_of(scores_of(X, y, 9, executor=client, disjoint=True)) == disjoint


# Folds, machines, restrictions ----------------------------------------------------------------------------------------


def test_folds_and_machines_of_one_pass_equal_fits_of_their_own():
    X, y = cohort(p=30, m=40, classes=3)
    folds = np.arange(40) % 4
    cells = Cells.of(y, folds=folds)
    codes = sign_codes(X, cells)
    asked = [(leave_out, positive) for leave_out in ((), (0,), (3,), (1, 2)) for positive in range(3)]
    found = best_pairs(codes, [cells.contrast(c, leave_out=left) for left, c in asked], 20)
    for (left, positive), scored in zip(asked, found, strict=True):
        kept = ~np.isin(folds, left)
        own = best_pairs(*_alone(X[kept], y[kept] == positive), 20)[0]
        assert found_of(scored) == found_of(own)


def _alone(X, positive):
    cells = Cells.of(positive.astype(int))
    return sign_codes(X, cells), [cells.contrast(1)]


def test_one_vs_one_looks_at_two_classes():
    X, y = cohort(p=12, m=30, classes=3)
    cells = Cells.of(y)
    (scored,) = best_pairs(sign_codes(X, cells), [cells.contrast(2, [0])], None)
    kept = y != 1
    assert found_of(scored) == found_of(best_pairs(*_alone(X[kept], y[kept] == 2), None)[0])


@pytest.mark.parametrize("disjoint", [False, True])
def test_restrictions_equal_the_naive_ones(divided, disjoint):
    X, y = cohort(p=40)
    rng = np.random.default_rng(1)
    chosen, pivot = rng.permutation(40)[:25], rng.permutation(40)[:6]
    listed = np.array([pair for pair in combinations(range(40), 2) if sum(pair) % 3 == 0])
    listed = np.concatenate([listed[:, ::-1], listed[:5], [[3, 3]]])
    pairs = {tuple(sorted(pair)) for pair in listed.tolist()}
    samples = [[(X[y == 1].tolist(), X[y == 0].tolist())]]
    for options, allowed in (
        ({"features": chosen}, lambda i, j: {i, j} <= set(chosen.tolist())),
        ({"pivot": pivot}, lambda i, j: {i, j} & set(pivot.tolist())),
        ({"pairs": listed}, lambda i, j: (i, j) in pairs),
        (
            {"pairs": listed, "pivot": pivot, "features": chosen},
            lambda i, j: (i, j) in pairs and {i, j} & set(pivot.tolist()) and {i, j} <= set(chosen.tolist()),
        ),
        (
            {"pivot": pivot, "features": chosen},
            lambda i, j: {i, j} & set(pivot.tolist()) and {i, j} <= set(chosen.tolist()),
        ),
    ):
        expected = naive.ordered_pairs(samples, 40, allowed=allowed)
        expected = naive.greedy(expected) if disjoint else expected
        for k in (7, None):
            assert_same(found_of(scores_of(X, y, k, disjoint=disjoint, **options)), expected[:k])


def test_features_of_each_contrast():
    X, y = cohort(p=20)
    cells = Cells.of(y)
    codes, contrast = sign_codes(X, cells), cells.contrast(1)
    parts = [np.arange(10), np.arange(5, 20)]
    found = best_pairs(codes, [contrast, contrast], None, features=parts)
    for part, scored in zip(parts, found, strict=True):
        assert found_of(scored) == found_of(scores_of(X, y, features=part))
    with pytest.raises(InputError, match="got features of 1 contrasts, and there are 2"):
        best_pairs(codes, [contrast, contrast], None, features=parts[:1])


def test_listed_pairs_are_scored_in_parts(monkeypatch):
    X, y = cohort(p=20)
    listed = np.array(list(combinations(range(20), 2)))
    monkeypatch.setattr("distkern.pairs.scores.LIST_PAIRS", 7)
    assert found_of(scores_of(X, y, pairs=listed)) == found_of(scores_of(X, y))
    gaps = with_gaps(X)
    assert found_of(scores_of(gaps, y, pairs=listed)) == found_of(scores_of(gaps, y))


def test_least_score():
    X, y = cohort(p=20)
    everything = scores_of(X, y)
    for threshold in (0.3, float(everything.score[10]), 1.0):
        expected = [row for row in found_of(everything) if float(row[0]) >= threshold]
        assert found_of(scores_of(X, y, min_score=threshold)) == expected
        assert found_of(scores_of(X, y, 5, min_score=threshold)) == expected[:5]
        disjoint = scores_of(X, y, min_score=threshold, disjoint=True)
        assert found_of(disjoint) == naive.greedy(expected)


# Properties -----------------------------------------------------------------------------------------------------------


@given(labelled(classes=2))
def test_monotone_maps_of_samples_change_nothing(drawn):
    X, y, _ = drawn
    Z = np.stack([np.searchsorted(np.unique(x), x) ** 3 - row for row, x in enumerate(X)]).astype(float)
    assert found_of(scores_of(X, y)) == found_of(scores_of(Z, y))


def test_permuted_features_permute_the_pairs_and_swapped_classes_turn_them():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(15, 20)), np.arange(15) % 2
    scored = found_of(scores_of(X, y))
    order = rng.permutation(20)
    moved = found_of(scores_of(X[:, order], y))
    named = {(score, gamma, int(order[i]), int(order[j])) for score, gamma, i, j in moved}
    assert named == set(scored)
    turned = found_of(scores_of(X, 1 - y))
    assert {(score, gamma, j, i) for score, gamma, i, j in turned} == set(scored)


def test_a_feature_without_values_is_as_if_absent():
    X, y = cohort(p=12)
    gone = X.copy()
    gone[:, 11] = np.nan
    assert_same(found_of(scores_of(gone, y)), found_of(scores_of(X[:, :11], y)))


def test_constant_features_and_samples_duplicates_and_two_features():
    assert len(scores_of(np.ones((4, 3)), [0, 1, 0, 1])) == 0
    X = np.array([[1.0, 2.0, 2.0], [2.0, 1.0, 1.0], [3.0, 3.0, 3.0]])
    scored = scores_of(X, [1, 0, 0])  # features 1 and 2 are equal: their pair never speaks
    assert found_of(scored)[0][2:] == (0, 1)
    assert len(scored) == 2
    assert found_of(scores_of(X[:, :2], [1, 0, 0])) == [(Fraction(3, 4), 1.5, 0, 1)]


def test_infinite_values_are_ordered():
    X = np.array([[-np.inf, 0.0, np.inf], [0.0, np.inf, -np.inf], [np.inf, 1.0, 1.0]])
    finite = np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 0.0], [2.0, 1.0, 1.0]])
    assert found_of(scores_of(X, [1, 0, 0])) == found_of(scores_of(finite, [1, 0, 0]))


def test_denominators_without_a_small_multiple_are_rounded():
    """Eleven groups of unlike primes have no common denominator below 2^62: scores are means of fractions."""
    rng = np.random.default_rng(0)
    primes = [31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73]
    groups = np.repeat(np.arange(len(primes)), np.array(primes) + 1)
    X, y = rng.integers(0, 4, (len(groups), 6)).astype(float), np.ones(len(groups), dtype=int)
    y[np.flatnonzero(np.diff(groups, prepend=-1))] = 0
    cells = Cells.of(y, groups=groups)
    codes, contrast = sign_codes(X, cells), cells.contrast(1)
    assert keys.key_rule(contrast, codes, 0.5)[0].weights is None
    (scored,) = best_pairs(codes, [contrast], None)
    expected = naive.ordered_pairs(samples_of(codes, contrast, X), 6)
    assert_same(found_of(scored), expected)


# The filter -----------------------------------------------------------------------------------------------------------


def test_filter_takes_the_most_different_features_of_each_contrast(monkeypatch):
    from scipy.stats import mannwhitneyu, rankdata

    X, y = cohort(p=15, m=30, classes=3)
    cells = Cells.of(y)
    codes, ranks = sign_codes(X, cells), rankdata(X, axis=1)
    contrasts = [cells.contrast(0), cells.contrast(1, [2])]
    sides = [(y == 0, y != 0), (y == 1, y == 2)]
    for count in (2, 5, 15):
        found = wilcoxon_features(codes, contrasts, count)
        for (own, other), chosen in zip(sides, found, strict=True):
            test = mannwhitneyu(ranks[own], ranks[other], method="asymptotic", use_continuity=False)
            size = np.abs(test.statistic - own.sum() * other.sum() / 2)
            sign = np.sign(test.statistic - own.sum() * other.sum() / 2)
            z = sign * -np.log(test.pvalue)  # in the order of z: all features have as many samples
            up, down = np.argsort(-z)[: -(-count // 2)], np.argsort(z)[: count // 2]
            assert len(chosen) == count
            assert (size > 0).any()
            if count < 15:
                assert set(chosen.tolist()) == {*up.tolist(), *down.tolist()}
            assert (np.diff(np.abs(z)[chosen]) <= 1e-9).all()
    whole = wilcoxon_features(codes, contrasts, 5)
    monkeypatch.setattr("distkern.pairs.codes.RANK_ENTRIES", 60)
    monkeypatch.setattr("distkern.pairs.codes.BLOCK_ENTRIES", 40)
    for one, other in zip(whole, wilcoxon_features(codes, contrasts, 5), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(InputError, match="features=16 is not from 2 to 15"):
        wilcoxon_features(codes, contrasts, 16)


# The store ------------------------------------------------------------------------------------------------------------


def test_an_interrupted_pass_goes_on_from_its_parts(divided, tmp_path, monkeypatch):
    X, y = cohort()
    expected = found_of(scores_of(X, y, 9))
    scored = []
    true = tiles.score_group

    def failing(task):
        if len(scored) == 2:
            raise KeyboardInterrupt
        scored.append(task.number)
        return true(task)

    monkeypatch.setattr(tiles, "score_group", failing)
    if divided != "small tiles":  # one group has no middle
        with pytest.raises(KeyboardInterrupt):
            scores_of(X, y, 9, executor="serial", store=tmp_path / "pairs")
    monkeypatch.setattr(tiles, "score_group", lambda task: scored.append(task.number) or true(task))
    assert found_of(scores_of(X, y, 9, executor="serial", store=tmp_path / "pairs")) == expected
    assert len(set(scored)) == len(scored) == len(list((tmp_path / "pairs").glob("part-*.npz")))
    part = sorted((tmp_path / "pairs").glob("part-*.npz"))[0]
    part.write_bytes(part.read_bytes()[:-30])  # damaged: computed again
    assert found_of(scores_of(X, y, 9, store=tmp_path / "pairs")) == expected
    assert len(scored) == len(set(scored)) + 1


def test_parts_of_other_work_are_refused(tmp_path):
    X, y = cohort()
    scores_of(X, y, 9, store=tmp_path / "pairs")
    for other in ({"k": 8}, {"k": 9, "pivot": [1]}, {"k": 9, "features": np.arange(9)}):
        with pytest.raises(StoreMismatchError, match="another cohort, or with other parameters"):
            scores_of(X, y, store=tmp_path / "pairs", **other)
    with pytest.raises(StoreMismatchError, match="another cohort"):
        scores_of(X[::-1], y, 9, store=tmp_path / "pairs")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    with pytest.raises(StoreMismatchError, match="holds other files"):
        scores_of(X, y, 9, store=tmp_path / "notes")
    with pytest.raises(InputError, match="cannot write"):
        scores_of(X, y, 9, store=tmp_path / "notes" / "a.txt")


# Memory and errors ----------------------------------------------------------------------------------------------------


def test_memory_is_refused_before_any_work(monkeypatch):
    X, y = cohort()
    monkeypatch.setattr(memory, "available_memory", lambda: 200_000)
    with pytest.raises(MemoryLimitError, match="a task on the pairs of 23 samples takes"):
        scores_of(X, y, 9)
    monkeypatch.setattr(memory, "available_memory", lambda: 10_000)
    with pytest.raises(MemoryLimitError, match="the codes of 23 samples of 70 features take"):
        scores_of(X, y, 9)


def test_too_many_pairs_are_refused(monkeypatch):
    X, y = cohort()
    monkeypatch.setattr(best, "share_of", lambda limit, tasks: 1000)
    monkeypatch.setattr(best, "SMALL", 1000)
    with pytest.raises(MemoryLimitError, match="ask for fewer pairs, or for a larger least score"):
        scores_of(X, y)


def test_progress_is_reported(divided):
    X, y = cohort()
    seen = []
    scores_of(X, y, 3, listener=seen.append)
    assert seen[0].phase == "score pairs"
    assert seen[-1].done == seen[-1].total == seen[0].total > 0


def test_codes_name_what_is_wrong():
    with pytest.raises(SampleError, match=r"sample number 1 has no value \(NaN\) for feature number 0"):
        sign_codes([[1.0, 2.0], [np.nan, 1.0]], [0, 1])
    sign_codes([[1.0, 2.0], [np.nan, 1.0]], [0, -1])  # a sample that takes no part
    with pytest.raises(InputError, match="a pair takes two features, and there is 1"):
        sign_codes([[1.0]], [0])
    with pytest.raises(InputError, match="give one for each"):
        sign_codes([[1.0, 2.0]], [0, 1])
    import pandas as pd

    with pytest.raises(InputError, match="two features are called 'A'"):
        sign_codes(pd.DataFrame([[1.0, 2.0, 3.0]], columns=["A", "B", "A"]), [0])
    with pytest.raises(InputError, match="missing must be one of"):
        sign_codes([[1.0, 2.0]], [0], missing="drop")


def test_features_are_found_by_name_or_position():
    assert positions_of([["b", "a"]], ("a", "b"), 2).tolist() == [[1, 0]]
    assert positions_of([], ("a", "b"), 2).tolist() == []
    assert positions_of([3, 5], ("3", "4", "5", "6", "7", "8"), 6).tolist() == [3, 5]
    with pytest.raises(InputError, match="pivot has 'c', which is no feature of the cohort"):
        positions_of(["c"], ("a", "b"), 2, "pivot")
    with pytest.raises(InputError, match="have no names: give positions"):
        positions_of(["c"], None, 2)
    with pytest.raises(InputError, match="features has position 2, and there are 2"):
        positions_of([2], None, 2)


def test_contrasts_without_a_side_are_refused_and_lonely_groups_are_known():
    cells = Cells.of([0, 0, 1], groups=[0, 1, 1])
    assert cells.lonely_groups(1).tolist() == [0]
    assert cells.lonely_groups(1, [0]).tolist() == [0]
    assert len(cells.contrast(1).groups) == 1
    with pytest.raises(InputError, match="no group holds samples of class number 1"):
        Cells.of([0, 1], groups=[0, 1]).contrast(1)
    with pytest.raises(InputError, match="rest must be one of"):
        cells.contrast(1, rest="all")
    with pytest.raises(InputError, match="group_agg must be one of"):
        cells.contrast(1, aggregate="max")


def test_samples_that_take_no_part_do_not_count():
    X, y = cohort(p=10)
    cells = Cells.of(np.where(np.arange(23) < 4, -1, y))
    codes = sign_codes(X, cells)
    assert set(codes.rows.tolist()) == set(range(4, 23))
    (scored,) = best_pairs(codes, [cells.contrast(1)], None)
    assert found_of(scored) == found_of(scores_of(X[4:], y[4:]))
    less, greater, observed = pair_counts(codes, [0], [1])
    assert int(observed.sum()) == 19
    assert (less + greater <= observed).all()


def test_contrast_of_cells():
    assert Contrast.between([2], [0, 1]).negative.tolist() == [0, 1]


def test_a_pivot_that_does_not_compete_leaves_no_pair():
    X, y = cohort(p=10)
    for disjoint in (False, True):
        assert len(scores_of(X, y, 5, features=np.arange(5), pivot=[7], disjoint=disjoint)) == 0


@pytest.mark.parametrize("gaps", [False, True])
def test_few_of_many_features_keep_their_ranks_among_all(gaps):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2000, (8, 3000)).astype(float), np.arange(8) % 2
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X) if gaps else X
    chosen = [0, 700, 1500, 2998]
    groups = [[(X[y == 1].tolist(), X[y == 0].tolist())]]
    expected = naive.ordered_pairs(groups, 3000, min_observed=0.5, features=chosen)
    assert_same(found_of(scores_of(X, y, features=chosen)), expected)
    assert_same(found_of(scores_of(X, y, pairs=list(combinations(chosen, 2)))), expected)
