"""Files come whole or not at all, and never over another one unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from distkern.core.errors import InputError
from distkern.core.files import as_path, refuse_existing, write_text, written_whole


def fail_halfway(place, error):
    with written_whole(place, overwrite=True) as file:
        file.write(b"half")
        raise error


def write_meanwhile(place):
    with written_whole(place) as file:
        file.write(b"mine")
        place.write_text("theirs")


def test_a_block_that_fails_leaves_nothing(tmp_path):
    kept = tmp_path / "kept.txt"
    kept.write_text("before")
    for error in (ValueError, KeyboardInterrupt):
        for place in (kept, tmp_path / "new.txt"):
            with pytest.raises(error):
                fail_halfway(place, error)
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]
    assert kept.read_text() == "before"


def test_another_file_that_came_meanwhile_is_kept(tmp_path):
    place = tmp_path / "x.txt"
    with pytest.raises(InputError, match=r"x\.txt' exists: give another path, or overwrite=True"):
        write_meanwhile(place)
    assert place.read_text() == "theirs"
    assert len(list(tmp_path.iterdir())) == 1


def test_what_is_there_is_refused_or_replaced(tmp_path):
    place = tmp_path / "x.txt"
    refuse_existing(place, overwrite=False)
    write_text(place, "zwölf\n")
    assert place.read_bytes() == "zwölf\n".encode()
    with pytest.raises(InputError, match="exists"):
        write_text(place, "no", overwrite=False)
    write_text(place, "yes")
    assert place.read_text() == "yes"
    with pytest.raises(InputError, match="is a folder: give the path of a file"):
        refuse_existing(tmp_path, overwrite=True)


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "x.txt", tmp_path / "absent" / "x.txt"):
        with pytest.raises(InputError, match=r"cannot write '.*x\.txt': .*; give another path"):
            write_text(place, "x")


def test_a_tilde_is_a_home_at_the_beginning_only(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    assert as_path("~/x.csv") == Path("/home/ada/x.csv")
    assert as_path(Path("~/x.csv")) == Path("/home/ada/x.csv")
    assert as_path("a~/~") == Path("a~/~")
    assert as_path("~nobody-of-this-name/x") == Path("~nobody-of-this-name/x")
