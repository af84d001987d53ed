import naive
import numpy as np
import pandas as pd
import pytest
from contracts import KernelContract
from hypothesis import given
from scipy import sparse, stats
from strategies import any_cohort

from distkern import InputError, QuantileLinear, SampleError, Spearman, compute_gram, from_spec
from distkern.kernels.kendall import Kendall


class QuantileContract(KernelContract):
    orderings = True
    tolerance = 1e-9

    def numbers(self, n):
        raise AssertionError("a formula")

    def naive(self, x, y):
        target = self.numbers(len(x))
        mean = sum(target) / len(target) if self.kernel.center else 0.0
        first, second = (naive.on_target(z, target, self.kernel.ties) for z in (x, y))
        return sum((a - mean) * (b - mean) for a, b in zip(first, second, strict=True))


class TestUniform(QuantileContract):
    kernel = QuantileLinear()

    def numbers(self, n):
        return [(r + 1) / (n + 1) for r in range(n)]


class TestNormalCentredMid(QuantileContract):
    kernel = QuantileLinear("normal", ties="mid", center=True)

    def numbers(self, n):
        return [stats.norm.ppf((r + 1) / (n + 1)) for r in range(n)]


class TestExponential(QuantileContract):
    kernel = QuantileLinear("exponential")

    def numbers(self, n):
        return [stats.expon.ppf((r + 1) / (n + 1)) for r in range(n)]


class TestCauchy(QuantileContract):
    kernel = QuantileLinear("cauchy")

    def numbers(self, n):
        return [stats.cauchy.ppf((r + 1) / (n + 1)) for r in range(n)]


class TestSpearman(KernelContract):
    kernel = Spearman()
    orderings = True
    refuses_constant = True

    def naive(self, x, y):
        return naive.spearman(x, y)


X = np.random.default_rng(0).integers(0, 9, (12, 40)).astype(float)


@given(any_cohort)
def test_spearman_equals_scipy(X):
    X = TestSpearman().usable(X)
    K = Spearman()(X)
    for i in range(len(X)):
        for j in range(i):
            assert K[i, j] == pytest.approx(stats.spearmanr(X[i], X[j]).statistic, abs=1e-14)


@given(any_cohort)
def test_spearman_is_the_centred_uniform_target_at_unit_norm(X):
    X = TestSpearman().usable(X)
    np.testing.assert_allclose(QuantileLinear(center=True).normalized()(X), Spearman()(X), rtol=1e-12, atol=1e-12)


def test_a_given_target_is_put_by_rank_not_by_order():
    assert QuantileLinear((10, 20, 30))([[2, 3, 1]], [[7, 8, 9]]).item() == 10 * 20 + 20 * 30 + 30 * 10
    assert QuantileLinear((10, 20, 30))([[2, 3, 1]], [[1, 0, 0]]).item() == 20 * 30 + 30 * 15 + 10 * 15


@pytest.mark.parametrize("how", ["median", "mean"])
def test_a_learned_target_is_that_of_the_cohort(how):
    expected = getattr(np, how)(np.sort(X, axis=1), axis=0)
    fixed = QuantileLinear(how).resolve(X)
    np.testing.assert_allclose(fixed.target, expected, rtol=1e-15)
    np.testing.assert_array_equal(QuantileLinear(how)(X[:3], X), fixed(X[:3], X))
    with pytest.raises(InputError, match="learned from a cohort: call resolve"):
        QuantileLinear(how).prepare(X)


@pytest.mark.parametrize("kernel", [Spearman(), QuantileLinear("normal"), QuantileLinear("median", center=True)])
def test_stores_files_frames_and_sparse_rows_give_the_same_bits(tmp_path, kernel):
    counts = np.where(X > 6, X, 0.0)
    expected = kernel(counts)
    np.save(tmp_path / "counts.npy", counts)
    frame = pd.DataFrame(counts, columns=[f"g{j}" for j in range(40)], index=[f"s{i}" for i in range(12)])
    cohorts = {"array": counts, "file": tmp_path / "counts.npy", "frame": frame, "sparse": sparse.csr_array(counts)}
    for name, cohort in cohorts.items():
        gram = compute_gram(kernel, cohort, store=tmp_path / f"{name}.zarr", tile=5, progress=False)
        np.testing.assert_array_equal(gram.to_numpy(), expected)
        np.testing.assert_allclose(gram.matmat(np.eye(12)), expected, rtol=1e-12)
        new = frame.iloc[:2] if name == "frame" else counts[:2]
        np.testing.assert_allclose(gram.cross(new), expected[:2], rtol=1e-12)


@pytest.mark.parametrize("kernel", [Spearman(), QuantileLinear("median")])
def test_landmarks_with_all_samples_give_the_matrix(tmp_path, kernel):
    gram = compute_gram(kernel, X, store=tmp_path / "s.zarr", landmarks=12, progress=False)
    np.testing.assert_allclose(gram.to_numpy(), kernel(X), rtol=1e-6, atol=1e-6)


def test_a_kernel_with_a_long_target_is_short_in_print_and_whole_in_its_spec():
    kernel = QuantileLinear(np.arange(20_000.0))
    assert repr(kernel).startswith("QuantileLinear(target=<20,000 numbers, ")
    assert len(repr(kernel)) < 90
    assert repr(kernel) != repr(QuantileLinear(np.arange(20_000.0) + 1))
    assert from_spec(kernel.spec()) == kernel
    assert repr(QuantileLinear((1, 2))) == "QuantileLinear(target=(1.0, 2.0), ties='mean', center=False)"


def test_infinite_values_are_ranked_and_bits_do_not_depend_on_the_unit():
    Y = X.copy()
    Y[0, 3], Y[1, 4] = np.inf, -np.inf
    for kernel in (Spearman(), QuantileLinear("normal")):
        np.testing.assert_array_equal(kernel(np.arctan(Y)), kernel(Y))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: QuantileLinear("normale"), "target must be 'median', 'mean', 'normal', .*got 'normale'"),
        (lambda: QuantileLinear((1.0, 3.0, 2.0)), "must ascend, and number 2 is 2.0 after 3.0"),
        (lambda: QuantileLinear((1.0, np.nan)), "must be finite numbers"),
        (lambda: QuantileLinear((1.0,)), "two numbers or more"),
        (lambda: QuantileLinear((1.0, 2.0))(X), "holds 2 numbers and the samples have 40 features"),
        (lambda: QuantileLinear((-1e200, 1e200))([[1, 2]]), "squares are beyond"),
        (lambda: QuantileLinear(ties="first"), "ties must be"),
        (lambda: QuantileLinear("median")(np.where(X == 3, np.inf, X)), "infinite value"),
        (lambda: QuantileLinear()([[1.0]]), "the samples have 1"),
        (lambda: Spearman()([[2.0, 2.0]]), "sample number 0 is constant"),
        (lambda: Spearman()([[2.0, np.nan]]), "has no value"),
    ],
)
def test_bad_input_is_refused(call, said):
    with pytest.raises((InputError, SampleError), match=said):
        call()


def test_agrees_with_kendall_on_the_sign_of_two_features():
    pairs = np.random.default_rng(1).normal(size=(6, 2))
    np.testing.assert_array_equal(Spearman()(pairs), Kendall("b")(pairs))
