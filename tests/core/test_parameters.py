"""Parameters of the wrong kind: an error of distkern in a sentence, wherever they are given."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import distkern as dk
from distkern.core.parameters import entries, one_of, whole_number

X = np.eye(4)
K = X + np.eye(4)
Y, SCORES = [0, 0, 1, 1], [0.0, 1.0, 2.0, 3.0]
GRAM = dk.ArrayGram(K, row_ids=list("abcd"), col_ids=list("abcd"))
VOTES = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]])
IMAGES = np.ones((2, 4, 4))

CALLS = {
    "ids of bags": lambda: dk.Bags.from_arrays([X, X], ids=1e300),
    "weights of bags": lambda: dk.Bags.from_arrays([X, X], weights=-0.0),
    "labels of bags": lambda: dk.Bags.from_arrays([X], labels=pd.NA),
    "bags": lambda: dk.save_bags(3, "nowhere.zarr"),
    "ids": lambda: dk.compute_gram(dk.Linear(), X, store="nowhere.zarr", ids=3),
    "slice of names": lambda: GRAM["a":"b"],
    "points of images": lambda: dk.bags_from_images(IMAGES, pd.NA),
    "threshold of two numbers": lambda: dk.bags_from_images(IMAGES, 2, threshold=np.array([1.0, 2.0])),
    "no threshold": lambda: dk.bags_from_images(IMAGES, 2, threshold=None),
    "client": lambda: dk.Dask(3),
    "threads": lambda: dk.Threads("a"),
    "spec of text": lambda: dk.from_spec("{"),
    "spec of a number": lambda: dk.from_spec(3),
    "items": lambda: dk.Rankings.from_ranks(VOTES, items=2 + 0j),
    "decimal items": lambda: dk.Rankings.from_ranks(VOTES, items=Decimal("0.5")),
    "kind": lambda: dk.Rankings.from_ranks(VOTES, kind=-1),
    "ordering": lambda: dk.Rankings.from_orderings([np.array(1.0), 2]),
    "names": lambda: dk.ArrayGram(K, row_ids=float, col_ids=float),
    "parts": lambda: dk.SumGram(np.nan, 1.0),
    "factors": lambda: dk.SumGram([GRAM, GRAM], "ab"),
    "numbers of clusters": lambda: dk.cluster_numbers(K, -1),
    "no numbers of clusters": lambda: dk.cluster_numbers(K, None),
    "references": lambda: dk.cluster_numbers(K, [1, 2], references="a"),
    "C": lambda: dk.cross_validate_gram(None, K, Y, C=np.nan, outer=2, inner=2),
    "inner": lambda: dk.cross_validate_gram(None, K, Y, inner="auto", outer=2),
    "outer": lambda: dk.cross_validate_gram(None, K, Y, outer=float),
    "seed": lambda: dk.cross_validate_gram(None, K, Y, outer=2, inner=2, seed="a"),
    "loss": lambda: dk.RankSVM(loss={}).fit(K, SCORES),
    "multi_class": lambda: dk.KernelLogistic(multi_class={}).fit(K, Y),
    "ties": lambda: dk.KernelCox(ties=3).fit(K, dk.survival_y(np.arange(len(K)), Y)),
    "rank_ratio": lambda: dk.SurvivalSVM(rank_ratio="a").fit(K, dk.survival_y(np.arange(len(K)), Y)),
    "power": lambda: dk.SGDRanker(power="a").fit(K, SCORES),
    "alpha": lambda: dk.KernelRidge(alpha="a").fit(K, SCORES),
    "large alpha": lambda: dk.KernelRidge(alpha=10**400).fit(K, SCORES),
    "large tol": lambda: dk.KernelRidge(tol=10**400).fit(K, SCORES),
    "kernels": lambda: dk.MLSRRanker(pd.NA).fit(X, SCORES),
    "lams": lambda: dk.MLSRRankerCV([dk.Linear()], lams=float).fit(X, SCORES),
    "one neighbour as true": lambda: dk.kernel_neighbors(K, True),
    "neighbours": lambda: dk.write_neighbors(3, 4),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_parameter_of_the_wrong_kind_is_refused_in_a_sentence(call):
    with pytest.raises((dk.InputError, dk.InputTypeError), match=r"\w+ \w+ \w+"):
        call()


@pytest.mark.parametrize("value", ["abc", b"abc", 3, None, 1.5, np.array(2.0), float, pd.NA])
def test_a_single_value_is_no_list(value):
    with pytest.raises(dk.InputTypeError, match="ids must be a list, not "):
        entries(value, "ids")


@pytest.mark.parametrize("value", [[1, 2], (1, 2), np.array([1, 2]), pd.Series([1, 2]), range(1, 3), {1: 0, 2: 0}])
def test_entries_of_any_sequence(value):
    assert entries(value, "ids") == [1, 2]


@pytest.mark.parametrize("value", [0, -1, True, 1.0, "1", None, np.nan, np.array([1]), 1 + 0j])
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(dk.InputError, match="repeats must be a whole number of 1 or more, not "):
        whole_number(value, "repeats", 1)


def test_whole_numbers_of_numpy_are_whole_numbers():
    assert whole_number(np.uint8(7), "repeats", 7) == 7


@pytest.mark.parametrize("value", [None, pd.NA, 0, ["auto"], np.array(["auto", "cg"]), "Auto", "", b"auto", float])
def test_what_is_none_of_the_choices_is_refused(value):
    with pytest.raises(dk.InputError, match="solver must be one of auto, cg, not "):
        one_of(value, "solver", ("auto", "cg"))


@pytest.mark.parametrize("solver", [pd.NA, ["auto"], None])
def test_every_learner_refuses_a_solver_that_is_no_word(solver):
    for learner in (dk.KernelFisherDiscriminant(solver=solver), dk.KernelPCA(eigen_solver=solver)):
        with pytest.raises(dk.InputError, match="solver must be one of"):
            learner.fit(K, Y)
