from __future__ import annotations

import click
import pytest

from distkern import (
    Convolution,
    Diffusion,
    Gaussian,
    Kendall,
    KernelIGV,
    Linear,
    Mallows,
    QuantileLinear,
    Spearman,
    Table,
)
from distkern.cli.kernels import kernel_of


def test_kernels_are_built_from_options():
    assert kernel_of("kendall", "b", ()) == Kendall(ties="b")
    assert kernel_of("mallows", None, ("lam=2", "scaled=True")) == Mallows(lam=2, scaled=True)
    assert kernel_of('{"kernel": "sum", "left": {"kernel": "linear"}, "right": {"kernel": "kendall"}}', None, ()) == (
        Linear() + Kendall()
    )
    assert kernel_of("gaussian", None, ("sigma=median",)) == Gaussian(sigma="median")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("kendal", None, ()), "generalized-variance, kendall,"),
        (("kendall", "c", ()), 'ties must be "zero" or "b"'),
        (("linear", "b", ()), "has no parameter 'ties'; it has none"),
        (("mallows", None, ("lambda=2",)), "it has lam, scaled, ties"),
        (("mallows", None, ("scaled=yes",)), "is true or false, not 'yes'"),
        (("mallows", None, ("lam=two",)), "is a number, not 'two'"),
        (("mallows", None, ("lam",)), "write NAME=VALUE"),
        (("{kernel: kendall}", None, ()), "cannot be read"),
        (('{"ties": "b"}', None, ()), "needs the name of the kernel"),
        (('{"kernel": ["kendall"]}', None, ()), "needs the name of the kernel"),
        (('{"kernel": null}', None, ()), "needs the name of the kernel"),
        (('{"kernel": "normalized", "base": {"kernel": ["linear"]}}', None, ()), "'base' is a kernel: give its name"),
        (('{"kernel": "sum", "left": 1, "right": 2}', None, ()), "'left' is a kernel: give its name"),
    ],
)
def test_bad_kernels_are_explained(words, said):
    with pytest.raises(click.BadParameter) as raised:
        kernel_of(*words)
    assert said in raised.value.message


def test_parameters_of_inner_kernels_are_set():
    made = kernel_of("kernel-igv", None, ("base=polynomial", "base__degree=3", "eta=1"))
    assert made == KernelIGV(kernel_of("polynomial", None, ("degree=3",)), eta=1)
    assert kernel_of("normalized", None, ('base={"kernel": "mean-map"}', "base__base__sigma=2")).base.base == Gaussian(
        2
    )
    assert kernel_of("mean-map", None, ("base=kendall", "base__ties=b")).base == kernel_of("kendall", "b", ())
    table = kernel_of("kernel-igv", None, ('base={"kernel": "table", "K": [[1, 0], [0, 1]], "names": ["CD4", "CD8"]}',))
    assert table == KernelIGV(Table([[1, 0], [0, 1]], ["CD4", "CD8"]))
    assert kernel_of("convolution", None, ("base=diffusion", "base__beta=0.5")) == Convolution(Diffusion(0.5))


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (("base=gaus",), "there is no kernel 'gaus'"),
        (("base__scale=1",), "the kernel 'gaussian' has no parameter 'scale'; it has sigma"),
        (("eta__x=1",), "the parameter 'eta' of the kernel 'kernel-igv' is no kernel"),
        (("nobody__x=1",), "the kernel 'kernel-igv' has no parameter 'nobody'"),
        (("base=1",), "the parameter 'base' is a kernel: give its name, such as base=linear"),
        (("eta=much",), "the parameter 'eta' is a number"),
    ],
)
def test_bad_parameters_of_inner_kernels_are_explained(tmp_path, run, params, said):
    words = [word for param in params for word in ("--param", param)]
    done = run("gram", tmp_path / "bags.zarr", tmp_path / "x.zarr", "--kernel", "kernel-igv", *words)
    assert done.exit_code == 2
    assert said in done.stderr


def test_targets_of_quantile_kernels_are_words_or_numbers():
    assert kernel_of("quantile-linear", None, ("target=normal", "center=true")) == QuantileLinear("normal", center=True)
    assert kernel_of("quantile-linear", "mid", ("target=[1, 2, 4]",)) == QuantileLinear((1, 2, 4), ties="mid")
    assert kernel_of("spearman", None, ()) == Spearman()
