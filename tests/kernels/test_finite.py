"""Tables of a finite set: the contract of every kernel, bags of names, rows of counts, networks, and refusals."""

import json

import naive_bags as naive
import networkx
import numpy as np
import pandas as pd
import pytest
from contracts import KernelContract
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.linalg import expm

from distkern import (
    Bags,
    Gaussian,
    InputError,
    InputTypeError,
    KernelBhattacharyya,
    KernelIGV,
    KernelSVC,
    Linear,
    LowRank,
    MeanMap,
    SampleError,
    Table,
    append_gram,
    compute_gram,
    from_spec,
    load_model,
    network_kernel,
    save_model,
)

ROOTS = np.random.default_rng(3).normal(size=(5, 4)).round(2)
K = (ROOTS @ ROOTS.T).round(4)
K = (K + K.T) / 2 + 0.001 * np.eye(5)
NAMES = ("a", "b", "c", "d", "e")
COUNTED = arrays(np.float64, st.tuples(st.integers(1, 5), st.just(5)), elements=st.sampled_from([0.0, 1.0, 2.5]))
"""Rows of counts of five components."""


def usable(counts):
    counts = counts.copy()
    counts[~counts.any(axis=1), 2] = 1.0
    return counts


class TestTable(KernelContract):
    kernel = Table(K)

    def naive(self, x, y):
        return K[int(x[0])][int(y[0])]

    def cohorts(self):
        return arrays(np.float64, st.tuples(st.integers(1, 6), st.just(1)), elements=st.integers(0, 4).map(float))

    def test_prepared_blocks_of_other_features_are_refused(self):
        with pytest.raises(InputError, match="have 2 features"):
            self.kernel.prepare(np.zeros((3, 2)))

    def test_diagonal_equals_that_of_the_matrix(self):
        X = np.arange(5.0)[:, None]
        np.testing.assert_array_equal(self.kernel.diagonal(self.kernel.prepare(X)), np.diag(self.kernel(X)))

    def test_nan_is_refused_by_name(self):
        with pytest.raises(SampleError, match=r"sample number 1 .*NaN"):
            self.kernel([[0.0], [np.nan]])

    def test_what_is_no_component_is_refused(self):
        for wrong in (5.0, -1.0, 0.5):
            with pytest.raises(SampleError, match="whole numbers from 0 to 4"):
                self.kernel([[0.0], [wrong]])
        with pytest.raises(InputError, match="make bags of components"):
            self.kernel([[0.0, 1.0]])


class CountContract(KernelContract):
    """A kernel between bags on a table, whose samples are rows of counts."""

    def cohorts(self):
        return COUNTED

    def usable(self, X):
        return usable(X)

    def test_prepared_blocks_of_other_features_are_refused(self):
        with pytest.raises(InputError, match="4 columns and the table 5"):
            self.kernel.prepare(np.ones((2, 4)))

    def test_diagonal_equals_that_of_the_matrix(self):
        X = usable(np.random.default_rng(0).integers(0, 3, (9, 5)).astype(float))
        np.testing.assert_allclose(self.kernel.diagonal(self.kernel.prepare(X)), np.diag(self.kernel(X)), rtol=1e-14)

    def test_nan_is_refused_by_name(self):
        X = np.ones((2, 5))
        X[1, 2] = np.nan
        with pytest.raises(SampleError, match=r"sample number 1 .*NaN.* feature number 2"):
            self.kernel(X)


class TestMeanMapOfCounts(CountContract):
    kernel = MeanMap(Table(K), dimensions=0)

    def naive(self, x, y):
        a, b = np.array(x) / sum(x), np.array(y) / sum(y)
        return a @ K @ b


class TestIGVOfCounts(CountContract):
    kernel = KernelIGV(Table(K), 0.2, unit_norm=False, dimensions=0)
    tolerance = 1e-10

    def naive(self, x, y):
        bags = [([v for v in z if v], [k for k, v in enumerate(z) if v]) for z in (x, y)]
        return naive.kernel_igv(*bags, 0.2, lambda s, t: K[s][t])


class TestLowRankOfCounts(TestMeanMapOfCounts):
    kernel = MeanMap(LowRank(Table(K), landmarks=((0.0,), (1.0,), (2.0,), (3.0,), (4.0,))), dimensions=0)
    tolerance = 1e-9


BASES = [MeanMap, lambda base: KernelIGV(base, 0.1), lambda base: KernelBhattacharyya(base, 3, 0.1)]


@given(COUNTED)
def test_rows_of_counts_bags_of_names_and_explicit_features_agree(counts):
    """With K = FFᵀ a component is the vector F[a], and the kernel on it is that on a linear base."""
    counts, table = usable(counts), Table(K, NAMES)
    points = Bags.from_arrays(
        [np.linalg.cholesky(K)[row > 0] for row in counts], [row[row > 0].tolist() for row in counts]
    )
    listed = [[name for name, count in zip(NAMES, 2 * row, strict=True) for _ in range(int(count))] for row in counts]
    for kernel in BASES:
        expected = kernel(Linear())(points)
        for base, samples in [
            (table, counts),
            (table, sparse.csr_array(counts)),
            (table, pd.DataFrame(counts, columns=NAMES)[list("cadeb")]),
            (table, table.bags(counts)),
            (table, table.bags(sparse.csr_matrix(counts))),
            (table, table.bags(listed)),
            (table, table.bags([dict(zip(NAMES, row, strict=True)) for row in counts])),
            (Table(K), Bags.from_counts(counts)),
            (LowRank(table, 5), counts),
        ]:
            np.testing.assert_allclose(kernel(base)(samples), expected, rtol=1e-7, atol=1e-9)


def test_reference_values_of_unlike_components():
    """K = I: det(I + (diag a − aaᵀ)/η) = Π (1 + a_i/η) (1 − Σ a_i²/(η + a_i))."""
    counts, eta = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), 0.1
    for samples in (counts, Bags.from_counts(counts)):
        raw = KernelIGV(Table(np.eye(3)), eta, unit_norm=False)(samples)
        np.testing.assert_allclose(raw, [[1 / 6, 0.060150376], [0.060150376, 1 / 6]], rtol=1e-8)
        a = counts.sum(axis=0) / 4
        np.testing.assert_allclose(1 / raw[0, 1], np.prod(1 + a / eta) * (1 - (a**2 / (eta + a)).sum()), rtol=1e-12)
        np.testing.assert_allclose(KernelIGV(Table(np.eye(3)), eta)(samples)[0, 1], 0.360902256, rtol=1e-8)
        np.testing.assert_allclose(MeanMap(Table(np.eye(3)))(samples), counts @ counts.T / 4, rtol=1e-14)


def test_columns_are_found_by_name_and_unknown_ones_are_listed():
    table, counts = Table(K, NAMES), pd.DataFrame([[1.0, 2.0], [3.0, 0.0]], columns=["d", "b"], index=["p", "q"])
    whole = pd.DataFrame([[0, 2, 0, 1, 0], [0, 0, 0, 3, 0]], columns=NAMES).astype(float)
    np.testing.assert_allclose(MeanMap(table)(counts), MeanMap(table)(whole), rtol=1e-12)
    assert table.bags(counts).ids == ("p", "q")
    with pytest.raises(InputError, match=r"the table has no components 'x', 'y' \(2 such\)"):
        MeanMap(table)(pd.DataFrame([[1.0, 2.0, 1.0]], columns=["a", "x", "y"]))
    with pytest.raises(InputError, match=r"no components 'x', 'y' \(2 such\): leave them out"):
        table.bags([["a", "x"], {"y": 2.0}])
    with pytest.raises(InputError, match="two columns are called 'a'"):
        MeanMap(table)(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))
    with pytest.raises(InputError, match="have 3 columns and the table has 5 components"):
        MeanMap(table)(np.ones((2, 3)))
    np.testing.assert_allclose(MeanMap(table)(counts, counts[["b", "d"]]), MeanMap(table)(counts), rtol=1e-14)


def test_bags_and_counts_that_do_not_fit_are_refused():
    table = Table(K, NAMES)
    for make, said in [
        (lambda: table.bags(["abc"]), "sample 0 is the text 'abc': give a list of names"),
        (lambda: table.bags([["a", None]]), "sample 0 has a component without a name"),
        (lambda: table.bags([["a", "b"]], weights=[[1.0]]), "has 2 names and 1 weights"),
        (lambda: table.bags([["a"]], weights=[]), "1 samples and 0 lists of weights"),
        (lambda: table.bags([{"a": 1.0}], weights=[[1.0]]), "dicts, which have weights of their own"),
        (lambda: table.bags([["a"], []]), "bag '1' is empty"),
        (lambda: table.bags([{"a": -1.0}]), "weight that is not a positive number"),
        (lambda: Table(K).bags([[7]]), "without names the components are 0 to 4"),
        (lambda: MeanMap(table)([[1, 1, -1, 0, 0]]), "the count -1 of feature number 2"),
        (lambda: MeanMap(table)([[1, 1, 1, 0, 0], [0] * 5]), "all counts of sample number 1 are 0"),
        (
            lambda: MeanMap(table)(table.bags([["a"]]), np.ones((1, 5))),
            "the cohort has rows of counts, and",
        ),
        (lambda: MeanMap(Gaussian(1.0), dimensions=0), "dimensions must be a whole number of 1 or more"),
    ]:
        with pytest.raises((InputError, InputTypeError)) as error:
            make()
        assert said in str(error.value) or "features and Y has" in str(error.value)


def test_bags_have_names_weights_and_labels():
    table = Table(K, NAMES)
    bags = table.bags({"p": ["b", "a", "b"], "q": {"e": 0.5, "a": 0.0}}, labels=["ill", "well"])
    assert bags.ids == ("p", "q")
    assert list(bags.labels) == ["ill", "well"]
    assert bags.points("p").ravel().tolist() == [0.0, 1.0]
    assert bags.weights.tolist() == [1.0, 2.0, 0.5]
    assert table.bags([["b", "a"]], weights=[[3, 4]]).weights.tolist() == [4.0, 3.0]
    assert Table(K).bags([[1, 0, 1]]).weights.tolist() == [1.0, 2.0]
    assert Table(np.eye(2), [1, 2]).bags([[2, 2, 1]]).weights.tolist() == [1.0, 2.0]  # names, not positions


def test_a_table_that_is_no_kernel_is_refused():
    for wrong, said in [
        ([[1.0, 2.0]], "must be a square matrix"),
        ([[1.0, 0.5], [0.4, 1.0]], r"not symmetric: K\[0, 1\] is 0.5 and K\[1, 0\] is 0.4"),
        ([[1.0, 2.0], [2.0, 1.0]], "smallest eigenvalue is -1 and its largest 3"),
        ([[np.nan]], "K must be finite numbers; one is nan"),
        ([[1.0, np.inf], [np.inf, 1.0]], "K must be finite numbers"),
        ("K", "K must be rows of as many numbers each"),
        (pd.DataFrame(np.eye(2), ["a", "b"], ["b", "a"]), "rows and the columns of K have other names"),
    ]:
        with pytest.raises(InputError, match=said):
            Table(wrong)
    for names, said in [(["a"], "K has 2 components and names has 1"), (["a", "a"], "two components are called 'a'")]:
        with pytest.raises(InputError, match=said):
            Table(np.eye(2), names)
    near = np.array([[1.0, 1e-14], [0.0, 1.0]])
    assert Table(near).matrix[0, 1] == Table(near).matrix[1, 0] == 5e-15


def test_a_frame_names_its_components_and_a_spec_keeps_them():
    table = Table(pd.DataFrame(np.eye(2), ["x", "y"], ["x", "y"]))
    assert table.names == ("x", "y")
    assert from_spec(json.loads(json.dumps(KernelIGV(table).spec()))) == KernelIGV(table)
    assert repr(table) == "Table(2 components)"
    assert Table(sparse.csr_array(np.eye(2))) == Table(np.eye(2))


@pytest.mark.parametrize("kernel", [MeanMap, KernelIGV, KernelBhattacharyya])
@pytest.mark.parametrize("as_bags", [False, True])
def test_a_store_and_a_model_answer_as_the_kernel_does(kernel, as_bags, tmp_path):
    rng = np.random.default_rng(0)
    counts = pd.DataFrame(usable(rng.poisson(1.0, (12, 4)).astype(float)), columns=list("dbae"))
    table = Table(K, NAMES)
    known, new = counts[:9], counts[9:].reset_index(drop=True).set_axis(["x", "y", "z"])
    expected = kernel(table)(counts)
    first, other = (table.bags(known), table.bags(new)) if as_bags else (known, new)
    gram = compute_gram(kernel(table), first, store=tmp_path / "k.zarr", tile=4, progress=False)
    np.testing.assert_allclose(gram.to_numpy(), expected[:9, :9], rtol=1e-12)
    np.testing.assert_allclose(np.asarray(gram.cross(other).to_numpy()), expected[9:, :9], rtol=1e-10)
    model = KernelSVC().fit(gram, ["ill", "well", "ill"] * 3)
    loaded = load_model(save_model(model, tmp_path / "model.npz", gram))
    np.testing.assert_allclose(loaded.decision_function(other), model.decision_function(gram.cross(other)), rtol=1e-9)
    grown = append_gram(gram.path, other, progress=False)
    np.testing.assert_allclose(grown.to_numpy(), expected, rtol=1e-10)


# Networks -----------------------------------------------------------------------------------------------------------

EDGES = [("a", "b", 1.0), ("b", "c", 2.0), ("d", "c", 0.5), ("e", "f", 1.5)]
LAPLACIAN = np.array(
    [
        [1.0, -1.0, 0.0, 0.0, 0.0, 0.0],
        [-1.0, 3.0, -2.0, 0.0, 0.0, 0.0],
        [0.0, -2.0, 2.5, -0.5, 0.0, 0.0],
        [0.0, 0.0, -0.5, 0.5, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.5, -1.5],
        [0.0, 0.0, 0.0, 0.0, -1.5, 1.5],
    ]
)


@pytest.mark.parametrize("beta", [0.0, 0.3, 2.0])
def test_the_kernels_of_a_network_are_the_printed_ones(beta):
    diffusion, regularised = network_kernel(EDGES, beta=beta), network_kernel(EDGES, "laplacian", beta)
    assert diffusion.names == regularised.names == ("a", "b", "c", "d", "e", "f")
    np.testing.assert_allclose(diffusion.matrix, expm(-beta * LAPLACIAN), atol=1e-13)
    np.testing.assert_allclose(regularised.matrix, np.linalg.inv(np.eye(6) + beta * LAPLACIAN), atol=1e-13)


def test_edges_are_pairs_frames_and_graphs():
    expected = network_kernel(EDGES, beta=0.7)
    graph = networkx.Graph()
    graph.add_weighted_edges_from(EDGES)
    frame = pd.DataFrame(EDGES, columns=["source", "target", "weight"])
    both_ways = EDGES + [(b, a, w) for a, b, w in EDGES] + [("a", "a", 3.0)]
    for same in (graph, frame, both_ways, np.array(EDGES, dtype=object)):
        assert network_kernel(same, "diffusion", 0.7) == expected
    lone = network_kernel([("a", "b")], names=["c", "b", "a"])
    assert lone.names == ("c", "b", "a")
    np.testing.assert_allclose(lone.matrix[0], [1.0, 0.0, 0.0], atol=1e-15)


def test_wrong_edges_are_refused():
    for make, said in [
        (lambda: network_kernel([]), "there is no edge"),
        (lambda: network_kernel([("a",)]), "give two names, or two names and a weight"),
        (lambda: network_kernel(["ab"]), "edge 0 is 'ab'"),
        (lambda: network_kernel([("a", "b", -1.0)]), "the weight of edge 0 is -1.0"),
        (lambda: network_kernel([("a", "b", "much")]), "the weight of edge 0 is 'much'"),
        (lambda: network_kernel([("a", "b", 1.0), ("b", "a", 2.0)]), "between 'a' and 'b' has the weights 1 and 2"),
        (lambda: network_kernel([("a", None)]), "has no name"),
        (lambda: network_kernel([("a", "b")], names=["a"]), "names lacks 'b'"),
        (lambda: network_kernel([("a", "b")], "heat"), "kind must be one of diffusion, laplacian, not 'heat'"),
        (lambda: network_kernel([("a", "b")], beta=-1.0), "beta must be a finite number of 0 or more"),
        (lambda: network_kernel([("a", "b")], beta="1"), "beta must be a number, not '1'"),
        (lambda: network_kernel([("a", "b", 1e308), ("a", "c", 1e308)]), "scale them down"),
    ]:
        with pytest.raises((InputError, InputTypeError), match=said):
            make()
