import gzip

import pytest

from distkern import InputError, read_gmt

SETS = {"T cell": ("CD3D", "CD3E"), "B cell": ("CD79A", "MS4A1+", "CD3D-"), "ß": ("ÄGEN",)}


def written(path, text, compressed=False):
    data = text.encode("utf-8")
    path.write_bytes(gzip.compress(data) if compressed else data)
    return path


@pytest.mark.parametrize("name", ["sets.gmt", "sets.gmt.gz", "sets"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_sets_come_back_as_they_were_written(tmp_path, name, end):
    text = "".join("\t".join([name, "a description", *genes]) + end for name, genes in SETS.items())
    path = written(tmp_path / name, "\ufeff" + text.rstrip(end), compressed=name.endswith("gz"))
    found = read_gmt(path)
    assert found == SETS
    assert list(found) == list(SETS)


def test_blanks_empty_cells_empty_lines_and_repeated_genes_are_left_out(tmp_path):
    path = written(tmp_path / "sets.gmt", "\n A \t\t x \ty\t\tx\t\n   \nB\thttp://b\tz\n")
    assert read_gmt(str(path)) == {"A": ("x", "y"), "B": ("z",)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A\td\tx\nB,d,x\n", "line 2 of 'sets.gmt' has no tab"),
        ("A\td\tx\n\tdescription\tx\n", "line 2 of 'sets.gmt' has no name in its first cell"),
        ("A\td\n", "line 1 of 'sets.gmt' has no gene after the name 'A'"),
        ("A\td\t\t \n", "line 1 of 'sets.gmt' has no gene after the name 'A'"),
        ("A\td\tx\n\nB\td\tx\nA\td\ty\n", "lines 1 and 4 of 'sets.gmt' both hold the set 'A'"),
        ("\n \n", "'sets.gmt' holds no gene sets"),
        ("A\td\tx\x07\n", "the name of gene 1 of .line 1 of 'sets.gmt'., .* contains a control character"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_gmt(written(tmp_path / "sets.gmt", text))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputError, match="no file of gene sets"):
        read_gmt(tmp_path / "nowhere.gmt")
    (tmp_path / "latin.gmt").write_bytes("A\td\tÄ\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"'latin\.gmt' is not UTF-8"):
        read_gmt(tmp_path / "latin.gmt")
    (tmp_path / "cut.gmt.gz").write_bytes(gzip.compress(b"A\td\tx\n" * 500)[:20])
    with pytest.raises(InputError, match="damaged gzip"):
        read_gmt(tmp_path / "cut.gmt.gz")
