"""Text tables are known by their content where their name does not tell."""

import gzip

import pytest

from distkern.core.errors import InputError
from distkern.io.registry import find_format


@pytest.mark.parametrize(
    "text",
    [
        "id,a,b\np1,1,2\np2,3,4\n",
        "\n\nid\ta\tb\np1\t1\t2\n",
        "a;b\np1;1;2\n",  # R leaves out the name of the first column
        "\ufeffid,a,b\np1,1,2\n",
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_a_table_without_a_suffix_is_recognised(tmp_path, text, compressed):
    content = text.encode()
    (tmp_path / "cohort.dat").write_bytes(gzip.compress(content) if compressed else content)
    assert find_format(tmp_path / "cohort.dat").name == "text table"


@pytest.mark.parametrize(
    "content",
    [
        b"id,a,b\n",
        b"id,a,b\np1,1\np2,3\n",  # a cell too few
        b"a,b\np1,1,2,3\n",  # two cells too many
        b"some words\nand others\n",
        b"id,a\np1,\x00\n",
        b"id,a\n\xff\xfe\xff\xfe\xff\xfe\n",
        gzip.compress(b"id,a,b\np1,1,2\n", mtime=0)[:12],
    ],
)
def test_other_content_is_no_table(tmp_path, content):
    (tmp_path / "cohort.dat").write_bytes(content)
    with pytest.raises(InputError, match=r"of no known format|of no kind that is read here"):
        find_format(tmp_path / "cohort.dat")
