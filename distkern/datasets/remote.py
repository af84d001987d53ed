"""Files that do not ship with the package: downloaded once, compared with their checksum, and kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from distkern.core.errors import InputError, MissingExtraError

FOLDER_VARIABLE = "DISTKERN_DATA"
"""Environment variable that names the folder of downloaded files; by default they lie in the user's cache."""


@dataclass(frozen=True)
class RemoteFile:
    """A file at an address, by its checksum.

    Parameters
    ----------
    name
        Name of the file in the folder of downloaded files.
    url
        Address without a login.
    sha256
        Checksum of its bytes, in hexadecimal digits.
    """

    name: str
    url: str
    sha256: str

    def fetch(self, what: str) -> Path:
        """Return the path of the file; it is downloaded if it is not there, or is another one.

        Parameters
        ----------
        what
            The function that needs it, for messages.

        Raises
        ------
        MissingExtraError
            If pooch is not installed.
        InputError
            If the file cannot be downloaded or kept, or its checksum is wrong; then nothing is kept.
        """
        try:
            import pooch
        except ImportError as error:
            raise MissingExtraError.of(what, "data") from error
        keeper = pooch.create(
            path=pooch.os_cache("distkern"),
            base_url="",
            registry={self.name: f"sha256:{self.sha256}"},
            urls={self.name: self.url},
            env=FOLDER_VARIABLE,
        )
        try:
            return Path(keeper.fetch(self.name))
        except (OSError, ValueError) as error:  # errors of the network are OSErrors; a wrong checksum is none
            reason = str(error) if isinstance(error, OSError) else "the file there has another checksum"
            raise InputError(
                f"cannot get {self.url} ({reason}): download it on a machine with a network, and save it as "
                f"{str(keeper.abspath / self.name)!r}; {FOLDER_VARIABLE} names another folder"
            ) from error
