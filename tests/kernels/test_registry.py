"""Names of kernels: unique, found without a registration, and independent of what was imported before."""

import dataclasses
import subprocess
import sys

import pytest

import distkern
from distkern import Bhattacharyya, InputError, Kernel, from_spec
from distkern.kernels import bags
from distkern.kernels.registry import our_kernels


def test_every_public_kernel_is_found_by_its_name():
    public = [getattr(distkern, name) for name in distkern.__all__]
    kernels = {
        value for value in public if isinstance(value, type) and issubclass(value, Kernel) and value is not Kernel
    }
    found = set(our_kernels().values())
    assert kernels < found
    assert {cls.__name__ for cls in found - kernels} == {
        "Concordance",
        "Sum",
        "Product",
        "Scaled",
        "Power",
        "Normalized",
        "Anchored",
    }
    assert list(our_kernels()) == sorted(our_kernels())


@pytest.mark.parametrize("cls", our_kernels().values(), ids=our_kernels())
def test_no_two_kernels_share_a_name_and_none_reserves_a_field(cls):
    assert our_kernels()[cls.name] is cls
    assert not {field.name for field in dataclasses.fields(cls)} & {"kernel", "module"}
    assert [other for other in our_kernels().values() if other.name == cls.name] == [cls]


def test_importing_the_base_loads_no_family_and_from_spec_loads_them():
    code = (
        "import sys; from distkern.kernels.base import Kernel\n"
        "assert 'distkern.kernels.kendall' not in sys.modules\n"
        "from distkern import from_spec; print(from_spec({'kernel': 'entropy', 'beta': 2.0}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Entropy(dimensions=None, beta=2.0" in done.stdout


def test_kernels_between_bags_are_found_in_their_folder():
    assert bags.Bhattacharyya is Bhattacharyya


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"kernel": "kendal"}, r"no kernel is called 'kendal'; there are .*kendall"),
        ({"kernel": ["kendall"]}, "no kernel is called"),
        ({}, "no kernel is called None"),
        ({"kernel": ""}, "no kernel is called ''"),
        ({"kernel": "kendall", "lam": 2}, "cannot be built from"),
        ({"kernel": "scaled", "base": {"kernel": "x"}, "factor": 2.0}, "no kernel is called 'x'"),
    ],
)
def test_specs_that_describe_no_kernel_are_refused(spec, said):
    with pytest.raises(InputError, match=said):
        from_spec(spec)
