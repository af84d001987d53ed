from __future__ import annotations

import copy
import pickle

import pytest

from distkern.core.sentences import Argument, Call, OptionalPart, Parameter, SameCall, Sentence


@pytest.mark.parametrize(
    ("reference", "python"),
    [
        (Argument("labels"), "labels="),
        (Argument("samples", "rows"), "samples='rows'"),
        (Argument("overwrite", True), "overwrite=True"),
        (Argument("seed", None), "seed=None"),
        (Parameter("memory_limit"), "memory_limit="),
        (Call("compute_gram"), "compute_gram"),
        (Call("repair_gram", ("a.zarr",)), "repair_gram('a.zarr')"),
        (Call("Kendall", (Argument("ties", "zero"),)), "Kendall(ties='zero')"),
        (SameCall(), "the same call"),
    ],
)
def test_references_are_written_as_python_by_default(reference, python):
    assert str(reference) == python
    assert str(Sentence("use {it}", it=reference)) == f"use {python}"


def test_plain_fields_are_formatted_by_the_template():
    sentence = Sentence("{file!r} takes {size:,} bytes", file="a.csv", size=12345)
    assert str(sentence) == "'a.csv' takes 12,345 bytes"


def test_finished_text_may_hold_braces():
    assert str(Sentence("the spec {'kernel': 1} is damaged")) == "the spec {'kernel': 1} is damaged"
    assert str(Sentence("{spec} is damaged", spec="{'kernel': 1}")) == "{'kernel': 1} is damaged"


def test_every_part_is_rendered_for_the_same_reader():
    inner = Sentence("pass {limit}", limit=Argument("limit"))
    outer = Sentence("{advice}{more}", advice=inner, more=OptionalPart(", or {ids}", ids=Argument("ids")))
    names = {"limit": "--limit", "ids": None}
    assert str(outer) == "pass limit=, or ids="
    assert outer.render(lambda reference: names[reference.name]) == "pass --limit"


def test_a_reference_without_counterpart_keeps_its_python_name_outside_optional_parts():
    assert Sentence("pass {ids}", ids=Argument("ids")).render(lambda reference: None) == "pass ids="


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_sentences_can_be_copied_and_pickled(duplicate):
    sentence = Sentence("{a}{b}", a=Argument("a"), b=OptionalPart("{call}", call=Call("f", (1,))))
    assert duplicate(sentence) == sentence
    assert str(duplicate(sentence)) == "a=f(1)"
