import pickle

import pytest

from distkern import DistkernError, MissingExtraError, SampleError
from distkern.core import errors

ALL = [cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, DistkernError)]


def test_one_except_catches_all_and_the_builtin_kind_is_kept():
    assert issubclass(errors.InputError, ValueError)
    assert issubclass(errors.InputTypeError, TypeError)
    assert issubclass(errors.StoreError, ValueError)
    assert len(ALL) >= 10


@pytest.mark.parametrize("cls", ALL)
def test_errors_survive_the_way_from_a_worker(cls):
    error = SampleError("what", 7) if cls is SampleError else cls("what")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is cls
    assert str(copy) == "what"
    assert getattr(copy, "row", None) == getattr(error, "row", None)


def test_a_missing_extra_says_how_to_install_it():
    assert "pip install 'distkern[io]'" in str(MissingExtraError.of("Reading", "io"))
