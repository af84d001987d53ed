from __future__ import annotations

import ast
import copy
import pickle
import string
from pathlib import Path

import pytest

import distkern
from distkern import DistkernError, InputError, MissingExtraError, SampleError
from distkern.core import errors
from distkern.core.sentences import Argument, OptionalPart, Sentence

ALL = [cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, DistkernError)]


def _made(cls, *message, **fields):
    return cls(*message, 7, **fields) if cls is SampleError else cls(*message, **fields)


def test_one_except_catches_all_and_the_builtin_kind_is_kept():
    assert issubclass(errors.InputError, ValueError)
    assert issubclass(errors.InputTypeError, TypeError)
    assert issubclass(errors.StoreError, ValueError)
    assert len(ALL) >= 10


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize("cls", ALL)
def test_errors_survive_the_way_from_a_worker(cls, duplicate):
    limit = OptionalPart(", or raise {limit}", limit=Argument("limit"))
    error = _made(cls, "sample {sample!r} is bad{limit}", sample="p1", limit=limit)
    found = duplicate(error)
    assert type(found) is cls
    assert str(found) == "sample 'p1' is bad, or raise limit="
    assert found.args == error.args
    assert found.args[0] == str(found)
    assert found.sentence == error.sentence
    assert found.fields == {"sample": "p1", "limit": limit}
    assert getattr(found, "row", None) == getattr(error, "row", None)


@pytest.mark.parametrize("cls", ALL)
def test_a_message_without_fields_is_taken_as_it_is(cls):
    error = _made(cls, "{'kernel': 1} is damaged")
    assert str(error) == error.args[0] == "{'kernel': 1} is damaged"
    assert error.fields == {}


def test_third_parties_may_write_their_own_constructors():
    class Short(InputError):
        def __init__(self, sample):
            super().__init__("sample {sample!r} is bad", sample=sample)

    class Silent(InputError):
        def __init__(self, sample):
            self.sample = sample

    assert (str(Short("p1")), Short("p1").fields["sample"]) == ("sample 'p1' is bad", "p1")
    assert (str(Silent("p1")), str(Silent("p1").sentence), Silent("p1").fields) == ("p1", "p1", {})
    assert InputError().args == ("",)


def test_a_missing_extra_says_how_to_install_it():
    error = MissingExtraError.of("Reading", "io")
    assert "pip install 'distkern[io]'" in str(error)
    assert error.fields == {"what": "Reading", "extra": "io"}


def _messages():
    """All templates with fields in the package, as nodes of its syntax trees."""
    package = Path(distkern.__file__).parent
    known = {cls.__name__ for cls in ALL} | {Sentence.__name__, OptionalPart.__name__}
    for file in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in known:
                if node.keywords and all(keyword.arg for keyword in node.keywords):
                    yield f"{file.relative_to(package)}:{node.lineno}", node


def test_template_is_constant_and_has_all_its_fields():
    """A template that an f-string makes could hold braces that come from a user's file."""
    found = list(_messages())
    assert len(found) > 50
    for where, node in found:
        template = node.args[0]
        assert isinstance(template, ast.Constant), f"{where}: the template is not a constant string"
        used = {name for _, name, _, _ in string.Formatter().parse(template.value) if name is not None}
        assert used <= {keyword.arg for keyword in node.keywords}, where  # programs may be given more fields
