"""The vote of all pairs equals a double loop over pairs; with weights it equals the mean values of Kendall's kernel."""

from fractions import Fraction
from itertools import combinations

import naive_pairs as naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import any_cohort, with_gaps

from distkern import AllPairsMajorityVote, Gaussian, Kendall, compute_gram, load_model, save_model
from distkern.core.errors import InputError, InputTypeError, MemoryLimitError, SampleError
from distkern.engine import memory
from distkern.pairs import signs, tiles


def naive_votes(X, y, x, min_observed=0):
    """Votes for class 0 and for class 1 of all pairs of a sample."""
    ones, zeros = X[y == 1].tolist(), X[y == 0].tolist()
    votes = [0, 0]
    for i, j in combinations(range(len(x)), 2):
        s = naive.score(ones, zeros, i, j, min_observed)
        if s and (x[i] < x[j] or x[i] > x[j]):
            votes[int((s > 0) == (x[i] < x[j]))] += 1
    return votes


def published_votes(X, y, x):
    """The rule of the published table: every pair votes."""
    ones, zeros = X[y == 1].tolist(), X[y == 0].tolist()
    pairs = list(combinations(range(len(x)), 2))
    pairs = pairs[:-1] if len(pairs) % 2 == 0 else pairs
    votes = 0
    for i, j in pairs:
        s = naive.score(ones, zeros, i, j)
        votes += x[i] < x[j] if s > 0 else not x[i] < x[j] if s < 0 else x[j] < x[i]
    return [len(pairs) - votes, votes]


@st.composite
def two_classes(draw):
    X = draw(any_cohort)
    X = np.vstack([X, X[:1, ::-1]])
    y = np.array([0, 1, *(draw(st.integers(0, 1)) for _ in range(len(X) - 2))])
    return X, y


@pytest.mark.filterwarnings("ignore:.*tie.* all features")  # drawn samples may be constant
@given(two_classes(), st.booleans())
def test_votes_equal_the_naive_ones(drawn, gaps):
    X, y = drawn
    X = with_gaps(X) if gaps else X
    model = AllPairsMajorityVote(missing="skip", executor="serial").fit(X, y)
    for x, f, label in zip(X, model.decision_function(X), model.predict(X), strict=True):
        zero, one = naive_votes(X, y, x.tolist(), 0.5)
        assert f == pytest.approx((one - zero) / max(1, one + zero))
        assert label == (int(one > zero) if one != zero else int((y == 1).sum() > (y == 0).sum()))


@pytest.mark.filterwarnings("ignore:.*tie.* all features")  # drawn samples may be constant
@given(two_classes())
def test_published_votes_equal_the_naive_ones(drawn):
    X, y = drawn
    model = AllPairsMajorityVote(zero="paper", executor="serial").fit(X, y)
    for x, f in zip(X, model.decision_function(X), strict=True):
        zero, one = published_votes(X, y, x.tolist())
        assert f == pytest.approx((one - zero) / max(1, one + zero))


def cohort(p, m=14, seed=0, levels=5, classes=2):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, levels, (m, p)).astype(float), np.arange(m) % classes
    X[y == 1, : p // 3] += 1
    return X, y, rng.integers(0, levels, (4, p)).astype(float)


def dense_votes(X, y, z, published=False):
    """Votes for class 0 and for class 1 from dense matrices of signs."""

    def of(x):
        return np.sign(x[None, :] - x[:, None])

    less, upper = of(z), np.triu(np.ones((len(z),) * 2, dtype=bool), 1)
    ones, zeros = (y == 1).sum(), (y == 0).sum()
    s = np.sign(sum(of(x) for x in X[y == 1]) * zeros - sum(of(x) for x in X[y == 0]) * ones)
    if not published:
        return [int((s * less == sign)[upper].sum()) for sign in (-1, 1)]
    if upper.sum() % 2 == 0:
        upper[-2, -1] = False
    for_one = np.where(s > 0, less > 0, np.where(s < 0, less <= 0, less < 0))
    return [int((~for_one)[upper].sum()), int(for_one[upper].sum())]


@pytest.mark.parametrize("p", [2, 3, 63, 64, 65, 128, 130, 300])
def test_rows_of_any_number_of_words_equal_the_naive_votes(p):
    X, y, Z = cohort(p)
    for published in (False, True):
        model = AllPairsMajorityVote(zero="paper" if published else "abstain").fit(X, y)
        plane = signs.SignPlanes(p, *model.signs_[0])
        expected = [dense_votes(X, y, z, published) for z in Z]
        assert plane.votes(Z, published=published).tolist() == expected


@pytest.mark.parametrize("executor", ["serial", 3])
def test_tiles_and_workers_do_not_change_the_signs(monkeypatch, executor, client):
    X, y, _ = cohort(300)
    expected = AllPairsMajorityVote().fit(X, y).signs_
    monkeypatch.setattr(tiles, "SIDE", 64)
    monkeypatch.setattr(tiles, "FEW_COMPARISONS", 0)
    np.testing.assert_array_equal(AllPairsMajorityVote(executor=executor).fit(X, y).signs_, expected)
    np.testing.assert_array_equal(AllPairsMajorityVote(executor=client).fit(X, y).signs_, expected)


def test_several_classes_are_each_compared_with_the_rest():
    X, y, Z = cohort(20, m=30, classes=3)
    model = AllPairsMajorityVote().fit(X, y)
    f = model.decision_function(Z)
    for c in range(3):
        np.testing.assert_array_equal(f[:, c], AllPairsMajorityVote().fit(X, y == c).decision_function(Z))
    np.testing.assert_array_equal(model.predict(Z), f.argmax(axis=1))


# Weighted by scores --------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*tie.* all features")  # drawn samples may be constant
@given(two_classes())
def test_weighted_votes_equal_the_naive_sum_over_pairs(drawn):
    X, y = drawn
    model = AllPairsMajorityVote(weighted=True).fit(X, y)
    ones, zeros, p = X[y == 1].tolist(), X[y == 0].tolist(), X.shape[1]
    for x, f in zip(X.tolist(), model.decision_function(X), strict=True):
        total = Fraction(0)
        for i, j in combinations(range(p), 2):
            total += naive.score(ones, zeros, i, j) * (int(x[i] < x[j]) - int(x[i] > x[j]))
        assert f == pytest.approx(float(total * 2 / (p * (p - 1))))


@pytest.mark.parametrize("classes", [2, 3])
def test_weighted_votes_of_samples_a_store_and_an_array_are_the_same(tmp_path, classes):
    X, y, Z = cohort(20, m=30, classes=classes)
    everything = np.vstack([X, Z])
    gram = compute_gram(Kendall(ties="zero"), everything, store=tmp_path / "gram.zarr", progress=False)
    train, test = np.arange(30), np.arange(30, 34)
    expected = AllPairsMajorityVote(weighted=True).fit(X, y).decision_function(Z)
    model = AllPairsMajorityVote(weighted=True, kernel="precomputed").fit(gram[np.ix_(train, train)], y)
    np.testing.assert_allclose(model.decision_function(gram[np.ix_(test, train)]), expected, atol=1e-15)
    values = gram.to_numpy()
    model = AllPairsMajorityVote(weighted=True, kernel="precomputed").fit(values[:30, :30], y)
    np.testing.assert_allclose(model.decision_function(values[30:, :30]), expected, atol=1e-15)
    if classes == 3:
        means = np.stack([values[30:, :30][:, y == c].mean(axis=1) for c in range(3)], axis=1)
        np.testing.assert_array_equal(model.predict(values[30:, :30]), means.argmax(axis=1))


def test_another_kernel_of_samples():
    X, y, Z = cohort(20, m=30)
    kernel = Gaussian(3.0)
    values = kernel(np.vstack([Z, X]))[:4, 4:]
    expected = (values[:, y == 1].mean(axis=1) - values[:, y == 0].mean(axis=1)) / 2
    np.testing.assert_allclose(AllPairsMajorityVote(True, kernel=kernel).fit(X, y).decision_function(Z), expected)


# Names, files, errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_features_are_found_by_name_in_any_order(weighted):
    X, y, Z = cohort(70)
    names = [f"gene {k}" for k in range(70)]
    frame, new = (pd.DataFrame(part, columns=names) for part in (X, Z))
    model = AllPairsMajorityVote(weighted=weighted).fit(frame, y)
    expected = model.decision_function(new)
    more = new.assign(other=1.0)[["other", *names[::-1]]]
    np.testing.assert_array_equal(model.decision_function(more), expected)
    with pytest.raises(InputError, match=r"X lacks 2 features, which all pairs compare \('gene 3', 'gene 9'\)"):
        model.predict(new.drop(columns=["gene 3", "gene 9"]))


@pytest.mark.parametrize("options", [{}, {"zero": "paper"}, {"weighted": True}])
def test_a_saved_model_predicts_as_before(tmp_path, options):
    X, y, Z = cohort(70)
    model = AllPairsMajorityVote(**options).fit(X, np.array(["ill", "well"])[y])
    loaded = load_model(save_model(model, tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.decision_function(Z), model.decision_function(Z))
    np.testing.assert_array_equal(loaded.predict(Z), model.predict(Z))


def test_planes_of_other_features_are_refused():
    X, y, Z = cohort(70)
    model = AllPairsMajorityVote().fit(X, y)
    model.signs_ = model.signs_[:, :, :-1]
    with pytest.raises(InputError, match="do not belong to 70 features"):
        model.predict(Z)


def test_missing_values_are_named_or_abstain():
    X, y, Z = cohort(10)
    X[3, 2] = Z[1, 4] = np.nan
    frame, new = (pd.DataFrame(part, columns=list("abcdefghij")) for part in (X, Z))
    with pytest.raises(SampleError, match=r"sample '3' has no value .* feature 'c'"):
        AllPairsMajorityVote().fit(frame, y)
    with pytest.raises(SampleError, match=r"sample '1' has no value .* feature 'e'"):
        AllPairsMajorityVote().fit(frame.fillna(0), y).predict(new)
    model = AllPairsMajorityVote(missing="skip").fit(frame, y)
    zero, one = naive_votes(X, y, Z[1].tolist(), 0.5)
    assert model.decision_function(new)[1] == pytest.approx((one - zero) / (one + zero))


def test_parameters_that_contradict_each_other_are_refused():
    X, y, _ = cohort(10)
    for options, message in (
        ({"zero": "vote"}, "zero must be one of abstain, paper"),
        ({"weighted": 1}, "weighted must be True or False"),
        ({"kernel": Kendall()}, "votes that are not weighted take no kernel"),
        ({"zero": "paper", "weighted": True}, "zero='paper' is the published vote"),
        ({"zero": "paper", "missing": "skip"}, "zero='paper' is the published vote"),
        ({"missing": "drop"}, "missing must be one of"),
        ({"min_observed": 2}, "min_observed must be a fraction"),
    ):
        with pytest.raises((InputError, InputTypeError), match=message):
            AllPairsMajorityVote(**options).fit(X, y)
    with pytest.raises(InputError, match="got 1 class"):
        AllPairsMajorityVote().fit(X, np.zeros(14))
    with pytest.raises(InputError, match="a pair takes two features"):
        AllPairsMajorityVote().fit(X[:, :1], y)
    frame = pd.DataFrame(X).rename(columns={3: 0})
    for weighted in (False, True):
        with pytest.raises(InputError, match="two features are called '0'"):
            AllPairsMajorityVote(weighted=weighted).fit(frame, y)


def test_signs_that_do_not_fit_are_refused(monkeypatch):
    X, y, _ = cohort(100)
    monkeypatch.setattr(memory, "available_memory", lambda: 100)
    with pytest.raises(MemoryLimitError, match="the codes of 14 samples of 100 features take"):
        AllPairsMajorityVote().fit(X, y)
    monkeypatch.setattr(signs, "share_of", lambda limit, tasks: 100)
    monkeypatch.setattr(memory, "available_memory", lambda: 10**9)
    with pytest.raises(MemoryLimitError, match="the signs of all pairs of 100 features take"):
        AllPairsMajorityVote().fit(X, y)


def test_equal_weighted_votes_are_equal_whatever_the_number_of_samples():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(21, 3)), np.arange(21) % 3
    model = AllPairsMajorityVote(weighted=True).fit(X, y)
    new = rng.permuted(np.tile(np.arange(3.0), (60, 1)), axis=1)  # six orders, so that many votes are equal
    together = model.decision_function(new)
    np.testing.assert_array_equal(
        together, np.concatenate([model.decision_function(new[k : k + 1]) for k in range(60)])
    )
    assert len(np.unique(together, axis=0)) == 6
