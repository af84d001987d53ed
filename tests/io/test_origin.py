from __future__ import annotations

import pytest

from distkern.io.origin import Origin

NAMES = [
    "golub.tsv",
    "a: b.csv",
    "it's.csv",
    'say "x".npy',
    "a with samples='rows': 1.csv",
    "Ä\n\x1b[31m.csv",
    "a\\b.csv",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "options", [{}, {"samples": "rows"}, {"layer": "it's, a 'b'"}, {"label": "x", "values": "ranks"}]
)
def test_origin_is_found_in_its_description(name, options):
    origin = Origin(name, **options)
    assert Origin.in_text(f"{origin}: AnnData 72 × 7,129, 3 distinct") == origin
    assert str(origin).isprintable()


@pytest.mark.parametrize(
    "text", ["", "NumPy array 2 × 3", "'a'", "'a' with x", "'a' with unknown='b': X 1 × 2", "'\\x': 1"]
)
def test_other_descriptions_have_no_origin(text):
    assert Origin.in_text(text) is None


def test_code_reads_the_file_and_nothing_else():
    origin = Origin.in_text("'x.npy\\'); print(1' with samples='rows': AnnData 1 × 2")
    assert eval(origin.code(), {"dk": Reader}) == ("x.npy'); print(1", {"samples": "rows"})
    assert Origin("X.npy").code() == "'X.npy'"
    assert Origin("X.csv", samples="rows", values="ranks").code() is None


class Reader:
    @staticmethod
    def read_expression(path, **options):
        return path, options
