"""Kinds of files that are not read say what to do."""

from __future__ import annotations

import gzip

import pytest

from distkern.core.errors import InputError
from distkern.io.expression import read_expression
from distkern.io.foreign import FILES
from distkern.io.labels import read_columns
from distkern.io.points import bags_from_file
from distkern.io.source import as_source

KINDS = [("x.mat", "MATLAB 5.0 MAT-file", "a MATLAB file")]


@pytest.mark.parametrize(("name", "text", "kind"), KINDS)
@pytest.mark.parametrize("name_of", ["own", "none", "txt", "compressed"])
def test_a_kind_is_known_by_name_and_by_content_with_all_options(tmp_path, name, text, kind, name_of):
    path = tmp_path / {"own": name, "none": "cohort", "txt": "cohort.txt", "compressed": "cohort.txt.gz"}[name_of]
    path.write_bytes(gzip.compress(text.encode()) if name_of == "compressed" else text.encode())
    said = set()
    for samples in (None, "rows", "columns"):
        with pytest.raises(InputError, match=f"is {kind}, which is not read: ") as raised:
            read_expression(path, samples=samples)
        said.add(str(raised.value))
    assert len(said) == 1
    for read in (as_source, read_columns, lambda path: bags_from_file(path, "who")):
        with pytest.raises(InputError, match=f"is {kind}, which is not read: "):
            read(path)


def test_every_ending_is_refused_with_advice(tmp_path):
    for kind in FILES:
        for suffix in kind.suffixes:
            path = tmp_path / f"cohort{suffix.upper()}"
            path.write_bytes(b"id,a\np,1\n")
            with pytest.raises(InputError, match=f"is {kind.name}, which is not read: "):
                read_expression(path, samples="rows")


def test_what_is_read_is_not_taken_for_them(tmp_path):
    (tmp_path / "a.txt").write_text("#1\tp1\n!x\t1\n^y\t2\n")
    assert read_expression(tmp_path / "a.txt", samples="columns").shape == (1, 2)
