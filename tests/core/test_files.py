"""Files are written atomically, and never replace another one unless asked to."""

from __future__ import annotations

from pathlib import Path

import pytest

from distkern.core.errors import InputError
from distkern.core.files import as_path, folder_written_whole, refuse_existing, write_text, written_whole


def fail_halfway(path, error):
    with written_whole(path, overwrite=True) as file:
        file.write(b"half")
        raise error


def write_meanwhile(path):
    with written_whole(path) as file:
        file.write(b"mine")
        path.write_text("theirs")


def test_failed_block_leaves_no_file(tmp_path):
    kept = tmp_path / "kept.txt"
    kept.write_text("before")
    for error in (ValueError, KeyboardInterrupt):
        for path in (kept, tmp_path / "new.txt"):
            with pytest.raises(error):
                fail_halfway(path, error)
    assert [found.name for found in tmp_path.iterdir()] == ["kept.txt"]
    assert kept.read_text() == "before"


def test_file_written_meanwhile_is_kept(tmp_path):
    path = tmp_path / "x.txt"
    with pytest.raises(InputError, match=r"x\.txt' exists: give another path, or overwrite=True"):
        write_meanwhile(path)
    assert path.read_text() == "theirs"
    assert len(list(tmp_path.iterdir())) == 1


def test_existing_file_is_refused_or_replaced(tmp_path):
    path = tmp_path / "x.txt"
    refuse_existing(path, overwrite=False)
    write_text(path, "zwölf\n")
    assert path.read_bytes() == "zwölf\n".encode()
    with pytest.raises(InputError, match="exists"):
        write_text(path, "no", overwrite=False)
    write_text(path, "yes")
    assert path.read_text() == "yes"
    with pytest.raises(InputError, match="is a folder: give the path of a file"):
        refuse_existing(tmp_path, overwrite=True)


def test_unwritable_path_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "x.txt", tmp_path / "absent" / "x.txt"):
        with pytest.raises(InputError, match=r"cannot write '.*x\.txt': .*; give another path"):
            write_text(path, "x")


def test_leading_tilde_becomes_the_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    assert as_path("~/x.csv") == Path("/home/ada/x.csv")
    assert as_path(Path("~/x.csv")) == Path("/home/ada/x.csv")
    assert as_path("a~/~") == Path("a~/~")
    assert as_path("~nobody-of-this-name/x") == Path("~nobody-of-this-name/x")


def test_a_symbolic_link_stays_and_what_it_points_to_is_written(tmp_path):
    (tmp_path / "disk").mkdir()
    for link, target in (("file", "disk/file"), ("new", "disk/new"), ("folder", "disk/folder")):
        (tmp_path / link).symlink_to(tmp_path / target)
    (tmp_path / "disk" / "file").write_text("before")
    (tmp_path / "disk" / "folder").mkdir()
    for link in ("file", "new"):
        write_text(tmp_path / link, "after", overwrite=True)
    with pytest.raises(InputError, match="exists: give another path"):
        write_text(tmp_path / "file", "no", overwrite=False)
    with folder_written_whole(tmp_path / "folder", overwrite=True) as building:
        (building / "one").write_text("after")
    assert all((tmp_path / link).is_symlink() for link in ("file", "new", "folder"))
    found = {str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*")} - {"folder/one"}  # seen through the link
    assert found == {"disk", "file", "new", "folder", "disk/file", "disk/new", "disk/folder", "disk/folder/one"}
    assert {(tmp_path / "disk" / one).read_text() for one in ("file", "new", "folder/one")} == {"after"}
