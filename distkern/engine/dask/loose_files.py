"""TLS files that other users could read or replace are refused, as OpenSSH and PostgreSQL refuse such keys.

Whoever reads the key of a cluster can join it and run code; so can whoever replaces the certificate of its authority.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from distkern.core.errors import InputError

MAKE = "`distkern deploy certificates DIR`"
ROOT_USER = 0
READ_BY_GROUP, READ_BY_OTHERS = stat.S_IRGRP | stat.S_IXGRP, stat.S_IROTH | stat.S_IXOTH
WRITTEN_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def refuse_loose(path: Path, secret: bool) -> None:
    """Refuse a file that users other than this one and root could replace, or, where it is secret, read.

    The file must belong to this user or to root, and only its owner may write to it. The folder that holds it, and the
    folders of symbolic links on the way to it, must do so too; where a folder has the sticky bit, others may add files.
    Only its owner may read a secret file; its group may do so where it belongs to root, as the files of a secret of
    Kubernetes do.

    Raises
    ------
    InputError
        If the file is loose.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     key = Path(folder, "key.pem")
    ...     key.touch(mode=0o600)
    ...     refuse_loose(key, secret=True)
    ...     key.chmod(0o666)
    ...     refuse_loose(key, secret=True)
    Traceback (most recent call last):
        ...
    distkern.core.errors.InputError: other users can write to '.../key.pem' (mode 0666): run `chmod 600 .../key.pem`...
    """
    found = path.stat()
    mode = stat.S_IMODE(found.st_mode)
    remedy = f"run `chmod {'600' if secret else '644'} {path}`, or make new certificates with {MAKE}"
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{str(path)!r} is no file: give the path of a file in PEM format")
    _refuse_other_owner(path, found)
    if mode & WRITTEN_BY_OTHERS:
        raise InputError(f"other users can write to {str(path)!r} (mode {mode:04o}): {remedy}")
    readable = READ_BY_OTHERS if found.st_uid == ROOT_USER else READ_BY_OTHERS | READ_BY_GROUP
    if secret and mode & readable:
        raise InputError(f"other users can read the key in {str(path)!r} (mode {mode:04o}): {remedy}")
    for folder in _folders_of(path):
        _refuse_loose_folder(folder, path)


def _folders_of(path: Path) -> Iterator[Path]:
    """The folder that holds a file; where that is a symbolic link, also the folder of the file that it leads to."""
    yield path.parent
    while path.is_symlink():
        path = path.parent / os.readlink(path)
        yield path.parent


def _refuse_loose_folder(folder: Path, path: Path) -> None:
    found = folder.stat()
    _refuse_other_owner(folder, found)
    mode = stat.S_IMODE(found.st_mode)
    if mode & WRITTEN_BY_OTHERS and not mode & stat.S_ISVTX:
        raise InputError(
            f"other users can replace {str(path)!r}, because they can write to the folder {str(folder)!r} (mode "
            f"{mode:04o}): run `chmod 700 {folder}`, or make new certificates with {MAKE}"
        )


def _refuse_other_owner(path: Path, found: os.stat_result) -> None:
    if found.st_uid not in (os.geteuid(), ROOT_USER):
        raise InputError(
            f"{str(path)!r} belongs to another user (number {found.st_uid}), who can change it: copy the TLS files "
            f"into a folder of your own, or make new certificates with {MAKE}"
        )
