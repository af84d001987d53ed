"""Where a store lies: a folder, or a prefix of object storage. Either holds bytes under keys such as ``gram/c/0/1``.

A store is created atomically. A folder is built under a temporary name beside its path and then renamed. Object storage
cannot rename, but writes one object whole or not at all: there all arrays lie in a subfolder of the prefix, and
``zarr.json`` at the prefix, which is written last, names the subfolder. Writing this object anew replaces the store.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Protocol
from uuid import uuid4

from distkern.core.errors import DistkernError, InputError, MissingExtraError, StoreError
from distkern.core.files import behind_links
from distkern.core.names import checked_text
from distkern.engine.memory import share_of

ROOT = "zarr.json"
"""The object that makes a store: it describes everything else."""

STALE_SECONDS = 3600
"""Unfinished files that are older than this were left by a writer that was killed."""

SCRATCH = "scratch"
"""Folder of temporary arrays for the workers, which last as long as a pass over the matrix."""

SCRATCH_SECONDS = 7 * 24 * 3600
"""Temporary arrays that are older than this were left by a client that was killed; no pass takes as long."""

PARSED = 32
"""Bytes of memory that a byte of JSON may take when it is parsed: each ``[]`` becomes an object."""

OPTIONS: dict[str, Any] = {}
"""Options of obstore in addition to the environment; by default it tries ten times, for three minutes."""

_FOLDER = re.compile(r"[0-9a-f]{32}(/|$)")
"""Start of the keys below a prefix that belong to one store."""

SCHEMES = ("s3", "gs", "az")
"""Object storage of Amazon and all that speak its protocol, of Google, and of Microsoft."""

ALWAYS_FITS = 2**20
"""Bytes that are read without asking for the free memory, since asking takes longer than reading them."""


# Paths and URLs ----------------------------------------------------------------------------------------------------


def absolute_path(path: Any) -> str:
    """Absolute path of a store, or its URL, so that it means the same to workers in other folders.

    Raises
    ------
    InputError
        If it is neither a path nor a URL of object storage, or contains control characters.

    Examples
    --------
    >>> absolute_path("s3://bucket/cohort.zarr/")
    's3://bucket/cohort.zarr'
    """
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise InputError(f"store must be a path or a URL, not {path!r}") from None
    checked_text(text.encode(errors="replace").decode(), "the path of the store")
    scheme, separator, rest = text.partition("://")
    if separator and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]+", scheme):
        if scheme not in SCHEMES:
            known = ", ".join(f"{name}://" for name in SCHEMES)
            raise InputError(f"stores cannot lie at {scheme}:// ({text!r}): give a path, or a URL with {known}")
        bucket, _, prefix = rest.partition("/")
        keys = [key for key in prefix.split("/") if key]
        if not bucket or not keys or {".", ".."} & set(keys):
            raise InputError(f"{text!r} names no store: give {scheme}://bucket/name.zarr")
        return f"{scheme}://{bucket}/{'/'.join(keys)}"
    if shortened := next((name for name in SCHEMES if text.startswith(f"{name}:/")), None):
        raise InputError(f"{text!r} is a URL that pathlib has shortened: give it as text, with {shortened}://")
    return os.path.abspath(os.path.expanduser(text))


def is_remote(path: str) -> bool:
    """Whether a store lies on object storage."""
    return "://" in path


@contextmanager
def explained(path: str, doing: str) -> Iterator[None]:
    """Turn errors of the file system or object storage into one sentence that names the store."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"cannot {doing} {path!r}: {error.strerror or server_message(error)}") from error
    except Exception as error:
        if not type(error).__module__.startswith("obstore"):
            raise
        raise StoreError(f"cannot {doing} {path!r}: {server_message(error)}") from error


def server_message(error: Exception) -> str:
    """Extract the answer of a server from an error, without the request.

    Examples
    --------
    >>> server_message(OSError("GET http://host/x in 5ms - Status 404: <Error><Code>NoSuchBucket</Code></Error>"))
    'NoSuchBucket'
    >>> server_message(OSError("Error performing GET http://host/x in 5ms - HTTP error: error sending request"))
    'Error performing GET http://host/x in 5ms - HTTP error: error sending request'
    """
    text = str(error).partition("\nDebug source")[0].strip()
    found = [re.search(f"<{tag}>(.*?)</{tag}>", text) for tag in ("Code", "Message")]
    answer = ": ".join(match[1] for match in found if match)
    advice = {"PermissionDeniedError", "UnauthenticatedError"} & {type(error).__name__}
    return " ".join((answer or text).split()) + (": check the credentials in the environment" if advice else "")


def refuse_beyond_memory(path: str, what: str, needed: int, error: type[DistkernError] = StoreError) -> None:
    """Refuse to read an array or list that does not fit in memory, which a store may only claim to hold.

    Raises
    ------
    StoreError
        Before any memory is taken; another error where the store is known to be valid.
    """
    if needed > ALWAYS_FITS and needed > share_of(None, 1):
        raise error(
            f"{what} of {path!r} would take {needed:,} bytes of memory, more than there is: give this process more if "
            "the store is yours; if it is not, its metadata may be false"
        )


# Locations ---------------------------------------------------------------------------------------------------------


class Location(Protocol):
    """Bytes under keys."""

    path: str
    renames: ClassVar[bool]
    """Whether a new store is renamed to its path; otherwise it lies in a subfolder."""

    @property
    def target(self) -> Any:
        """Target of Zarr: the path of a folder, or a store of obstore."""

    def get(self, key: str) -> bytes | None:
        """Read one key whole; None where it does not exist."""

    def put(self, key: str, value: bytes) -> None:
        """Write one key, whole or not at all."""

    def root(self) -> bytes | None:
        """Read the root as it is now; None where there is none."""

    def replace_root(self, before: bytes, after: bytes) -> bool:
        """Replace the root that was read; False if another client has replaced it since."""

    def remove(self, folder: str) -> None:
        """Delete all keys below a folder."""

    def exists(self) -> bool:
        """Whether there is anything that a new store would mix with."""

    def create(self, files: Mapping[str, bytes], replaced: str | None) -> None:
        """Write a store all at once, unless another client has just made one.

        Parameters
        ----------
        files
            All keys of the store, the root last.
        replaced
            Folder of the store that is replaced (``""`` where it has none of its own); None to replace none.
        """

    def sweep(self, folder: str) -> None:
        """Delete old unfinished files, which killed writers left."""

    def free_bytes(self) -> int | None:
        """Free bytes; None where they are not known."""


def location_of(path: str) -> Location:
    """Make the location of an absolute path or URL."""
    return Objects(path) if is_remote(path) else Folder(path)


def exists(path: str) -> bool:
    """Whether anything lies at the path; an empty folder counts as nothing."""
    with explained(path, "look for the store"):
        return location_of(path).exists()


class Folder:
    """A folder on a local or shared disk."""

    renames: ClassVar[bool] = True

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def target(self) -> str:
        """The path."""
        return self.path

    def get(self, key: str) -> bytes | None:
        """Read one file whole."""
        try:
            with open(os.path.join(self.path, key), "rb") as file:
                refuse_beyond_memory(self.path, f"{key!r}", PARSED * os.fstat(file.fileno()).st_size)
                return file.read()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def put(self, key: str, value: bytes) -> None:
        """Write one file under a temporary name and rename it; the folders above it are created."""
        file = Path(self.path, key)
        partial = file.with_name(f"{file.name}.{uuid4().hex}.partial")
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write_through(partial, value)
            os.replace(partial, file)
        finally:
            partial.unlink(missing_ok=True)

    def root(self) -> bytes | None:
        """Read the root, or its replacement where a client was killed before it had written it."""
        found = self.get(ROOT)
        while found is not None and (newer := self.get(_replacing(found))) is not None:
            found = newer
        return found

    def replace_root(self, before: bytes, after: bytes) -> bool:
        """Rename a folder with the new root to a name made from the old root: one client succeeds. Then write it."""
        claim = Path(self.path, _replacing(before)).parent
        building = claim.with_name(f"{claim.name}.{uuid4().hex}.partial")
        try:
            building.mkdir(parents=True)
            _write_through(building / ROOT, after)
            os.rename(building, claim)
        except OSError:
            if self.get(_replacing(before)) is None:  # else another client was faster
                raise
        finally:
            shutil.rmtree(building, ignore_errors=True)
        if self.get(_replacing(before)) != after:
            return False
        self.put(ROOT, after)
        return True

    def remove(self, folder: str) -> None:
        """Delete a folder."""
        shutil.rmtree(os.path.join(self.path, folder))

    def exists(self) -> bool:
        """Whether anything but an empty folder lies at the path."""
        return os.path.exists(self.path) and not (os.path.isdir(self.path) and not os.listdir(self.path))

    def create(self, files: Mapping[str, bytes], replaced: str | None) -> None:
        """Build a folder under a temporary name, and rename it; a symbolic link at the path stays."""
        target = self._behind_links
        building = f"{target}.{uuid4().hex}.new"
        os.makedirs(os.path.dirname(target), exist_ok=True)
        try:
            for key, value in files.items():
                file = Path(building, key)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(value)
            old = f"{target}.{uuid4().hex}.old"
            if replaced is not None:
                os.rename(target, old)
            os.rename(building, target)
            shutil.rmtree(old, ignore_errors=True)
        except OSError:
            if replaced is not None or not self.exists():  # else another client has made it in the meantime
                raise
        finally:
            shutil.rmtree(building, ignore_errors=True)

    @property
    def _behind_links(self) -> str:
        return str(behind_links(Path(self.path)))

    def sweep(self, folder: str) -> None:
        """Delete unfinished files in the store, and unfinished stores beside it; finish replacing the root."""
        newest = self.root()
        if newest is not None and newest != self.get(ROOT):
            self.put(ROOT, newest)
        now, store = time.time(), Path(self._behind_links)
        ours = re.compile(re.escape(store.name) + r"\.[0-9a-f]{32}\.(new|old)")
        building = [*store.rglob("*.partial"), *(one for one in store.parent.iterdir() if ours.fullmatch(one.name))]
        temporary = [*(store / SCRATCH).glob("*/")]
        for left in [*building, *temporary]:
            with suppress(OSError):  # someone else has swept it
                if left.stat().st_mtime < now - (SCRATCH_SECONDS if left in temporary else STALE_SECONDS):
                    shutil.rmtree(left) if left.is_dir() else left.unlink()

    def free_bytes(self) -> int:
        """Room on the disk."""
        folder = self.path
        while not os.path.exists(folder):
            folder = os.path.dirname(folder)
        return shutil.disk_usage(folder).free


def _write_through(file: Path, value: bytes) -> None:
    """Write a file through to the disk; otherwise a renamed file may be empty after a power cut."""
    with open(file, "wb") as opened:
        opened.write(value)
        opened.flush()
        os.fsync(opened.fileno())


def _replacing(root: bytes) -> str:
    """Key of the root that replaced a root in a folder."""
    return f"grown/{blake2b(root, digest_size=16).hexdigest()}/{ROOT}"


class Objects:
    """A prefix of a bucket. Credentials and endpoints come from the environment, as for the tools of the clouds.

    Raises
    ------
    MissingExtraError
        If obstore is not installed.
    """

    renames: ClassVar[bool] = False

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            import obstore
        except ImportError:
            raise MissingExtraError.of("a store on object storage", "cloud") from None
        self._obs = obstore

    @cached_property
    def target(self) -> Any:
        """The store of obstore."""
        from obstore.store import from_url

        return from_url(self.path, **OPTIONS)

    def get(self, key: str) -> bytes | None:
        """Read one object whole."""
        try:
            found = self._obs.get(self.target, key)
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise
            return None
        refuse_beyond_memory(self.path, f"{key!r}", PARSED * found.meta["size"])
        return bytes(found.bytes())

    def put(self, key: str, value: bytes) -> None:
        """Write one object."""
        self._obs.put(self.target, key, value)

    def root(self) -> bytes | None:
        """Read the root."""
        return self.get(ROOT)

    def replace_root(self, before: bytes, after: bytes) -> bool:
        """Write the root if it is still the one that was read."""
        found = self._obs.get(self.target, ROOT)
        if bytes(found.bytes()) != before:
            return False
        version: Any = {key: found.meta[key] for key in ("e_tag", "version") if found.meta[key] is not None}
        try:
            self._obs.put(self.target, ROOT, after, mode=version)
        except self._obs.exceptions.PreconditionError:
            return self.get(ROOT) == after  # our own write, whose answer was lost
        return True

    def remove(self, folder: str) -> None:
        """Delete all objects below a prefix."""
        self._delete([found["path"] for batch in self._obs.list(self.target, f"{folder}/") for found in batch])

    def exists(self) -> bool:
        """Whether there is a store at the prefix, or a key that an interrupted creation cannot have left."""
        return self.get(ROOT) is not None or any(not _FOLDER.match(key) for key in self._children())

    def create(self, files: Mapping[str, bytes], replaced: str | None) -> None:
        """Write all other objects, then the root with a request that succeeds for one client only."""
        root = files[ROOT]
        for key in files.keys() - {ROOT}:
            self.put(key, files[key])
        if replaced is not None:
            self.put(ROOT, root)
            self._forget(replaced)
            return
        try:
            self._obs.put(self.target, ROOT, root, mode="create")
        except self._obs.exceptions.AlreadyExistsError:
            if self.get(ROOT) != root:  # else it is our own write, whose answer was lost
                self._delete(list(files.keys() - {ROOT}))

    def sweep(self, folder: str) -> None:
        """Delete the folders of unfinished stores, and of replaced stores whose client was killed."""
        self._sweep_scratch(f"{folder}/{SCRATCH}/".lstrip("/"))
        for other in self._children():
            if _FOLDER.match(other) and other != folder:
                objects = self._obs.list(self.target, other).collect()
                newest = max((found["last_modified"] for found in objects), default=datetime.now(UTC))
                if (datetime.now(UTC) - newest).total_seconds() > STALE_SECONDS:
                    self._delete([found["path"] for found in objects])

    def _sweep_scratch(self, scratch: str) -> None:
        """Delete old temporary arrays."""
        now = datetime.now(UTC)
        for batch in self._obs.list(self.target, scratch):
            old = [found for found in batch if (now - found["last_modified"]).total_seconds() > SCRATCH_SECONDS]
            self._delete([found["path"] for found in old])

    def free_bytes(self) -> None:
        """Not known for object storage."""

    def _children(self) -> list[str]:
        """Names directly below the prefix: one request for a thousand."""
        found = self._obs.list_with_delimiter(self.target)
        return [*found["common_prefixes"], *(one["path"] for one in found["objects"])]

    def _forget(self, folder: str) -> None:
        """Delete a replaced store: its folder or, if it has none, all keys outside the folders of other stores."""
        for batch in self._obs.list(self.target, folder or None):
            keys = [found["path"] for found in batch]
            self._delete(keys if folder else [key for key in keys if key != ROOT and not _FOLDER.match(key)])

    def _delete(self, keys: list[str]) -> None:
        if keys:
            self._obs.delete(self.target, keys)
