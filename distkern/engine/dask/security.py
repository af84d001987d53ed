"""TLS certificates, and the refusal of schedulers that are reachable from other machines without encryption."""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from distributed.security import Security

from distkern.core.errors import InputError, MissingExtraError
from distkern.engine.dask.loose_files import refuse_loose

ENCRYPTED = ("tls", "wss")
"""Protocols of Dask that encrypt."""

REMEDY = (
    "and everybody who can reach it can run code: use TLS, with certificates made by `distkern deploy certificates "
    "DIR` and a tls:// address, or allow it with --insecure or DISTKERN_INSECURE=1"
)


def on_loopback(host: str) -> bool:
    """Whether a host name stands for loopback addresses of this machine only.

    Examples
    --------
    >>> on_loopback("127.0.0.1"), on_loopback("::1"), on_loopback("0.0.0.0"), on_loopback("10.0.0.1")
    (True, True, False, False)
    """
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return all(ipaddress.ip_address(str(address).partition("%")[0]).is_loopback for address in found)


def split_address(address: str) -> tuple[str, str, int]:
    """Split ``protocol://host:port``; the protocol defaults to tcp.

    Raises
    ------
    InputError
        If the text is not such an address.

    Examples
    --------
    >>> split_address("tls://[::1]:8786"), split_address("node7:8786")
    (('tls', '::1', 8786), ('tcp', 'node7', 8786))
    """
    protocol, _, location = address.rpartition("://")
    host, _, port = location.rpartition(":")
    if not host or not port.isdecimal():
        raise InputError(
            f"{address!r} is not the address of a scheduler: write protocol, host and port, such as tls://10.0.0.1:8786"
        )
    return protocol or "tcp", host.strip("[]"), int(port)


def refuse_unencrypted(address: str, insecure: bool) -> None:
    """Refuse a scheduler that is not encrypted and not on this machine's loopback.

    Raises
    ------
    InputError
        Unless the protocol is encrypted, the host is loopback, or ``insecure`` is set.

    Examples
    --------
    >>> refuse_unencrypted("tls://10.0.0.1:8786", insecure=False)
    >>> refuse_unencrypted("tcp://10.0.0.1:8786", insecure=False)
    Traceback (most recent call last):
        ...
    distkern.core.errors.InputError: 'tcp://10.0.0.1:8786' is not encrypted and not on this machine's loopback, ...
    """
    protocol, host, _ = split_address(address)
    if not (insecure or protocol in ENCRYPTED or on_loopback(host)):
        raise InputError(f"{address!r} is not encrypted and not on this machine's loopback, {REMEDY}")


@dataclass(frozen=True)
class Certificates:
    """Paths of the TLS files of a cluster, all in PEM format.

    Parameters
    ----------
    ca
        Certificate of the authority that signed the certificates of all members of the cluster.
    cert, key
        Certificate of this member, and its private key.
    """

    ca: Path
    cert: Path
    key: Path

    @classmethod
    def within(cls, folder: Path) -> Certificates:
        """Return the paths in a folder that `write_certificates` made."""
        return cls(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")

    def options(self) -> list[str]:
        """Return the command line options that ``distkern``, ``dask scheduler`` and ``dask worker`` share."""
        return ["--tls-ca-file", str(self.ca), "--tls-cert", str(self.cert), "--tls-key", str(self.key)]

    def security(self) -> Security:
        """Make the security settings of Dask, for every role; peers without a certificate are refused.

        Raises
        ------
        InputError
            If a file is missing, cannot be read, or is not valid, or other users could read the key or replace a file.
        """
        for path in (self.ca, self.cert, self.key):
            if not path.is_file():
                raise InputError(
                    f"there is no file {str(path)!r}: check the path, or make certificates with `distkern deploy "
                    "certificates DIR`"
                )
        own = {
            f"tls_{role}_{part}": str(getattr(self, part))
            for role in ("client", "scheduler", "worker")
            for part in ("cert", "key")
        }
        security = Security(require_encryption=True, tls_ca_file=str(self.ca), **own)
        context_of(security)
        return security


def context_of(security: Security) -> ssl.SSLContext | None:
    """Make the TLS context of a client; None if no certificates are configured.

    Raises
    ------
    InputError
        If the files cannot be used, or other users could read the key or replace a file.
    """
    role = security.get_tls_config_for_role("client")
    for part in ("ca_file", "cert", "key"):
        if (named := role[part]) and "\n" not in named and Path(named).exists():  # else it is the content itself
            refuse_loose(Path(named), secret=part == "key" or (part == "cert" and not role["key"]))
    try:
        return security.get_connection_args("client")["ssl_context"]
    except (OSError, ValueError) as error:  # an ssl.SSLError is an OSError
        named = (security.tls_ca_file, security.tls_client_cert, security.tls_client_key)  # type: ignore[attr-defined]
        files = ", ".join(repr(name) for name in named if name)
        raise InputError(
            f"the TLS files {files} cannot be used ({error}): give PEM files, and the key of that certificate"
        ) from error


def temporary_security() -> Security:
    """Make certificates in memory, for a cluster that this process starts and stops.

    Raises
    ------
    MissingExtraError
        If the package ``cryptography`` is not installed.
    """
    try:
        return Security.temporary()
    except ImportError as error:
        raise MissingExtraError.of("TLS", "tls") from error


def write_certificates(folder: Path, days: int = 365) -> Certificates:
    """Make a certificate authority, and one certificate that all members of a cluster share.

    The private key of the authority is not kept, so that no other certificate can ever be signed. To exclude a member,
    make new certificates in a new folder. Only the owner of the folder can read it.

    Parameters
    ----------
    folder
        Where ``ca.pem``, ``cert.pem`` and ``key.pem`` are written; it must not exist.
    days
        Days for which the certificates are valid.

    Raises
    ------
    InputError
        If the path exists, or the folder cannot be made.
    MissingExtraError
        If the package ``cryptography`` is not installed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     made = write_certificates(Path(parent, "tls"))
    ...     oct(made.key.parent.stat().st_mode & 0o777), made.security().require_encryption
    ('0o700', True)
    """
    made = Certificates.within(folder)
    contents = _signed(days)
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        raise InputError(
            f"{str(folder)!r} exists: give another folder, or delete it to make new certificates"
        ) from None
    except OSError as error:
        raise InputError(f"cannot make {str(folder)!r}: {error.strerror or error}; give another folder") from error
    try:
        folder.chmod(0o700)
        for path, content in zip((made.ca, made.cert, made.key), contents, strict=True):
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise InputError(
            f"cannot write into {str(folder)!r}: {error.strerror or error}; give another folder"
        ) from error
    return made


def _signed(days: int) -> tuple[bytes, bytes, bytes]:
    """Return the certificate of a new authority, a certificate signed by it, and the key of the latter, as PEM."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        raise MissingExtraError.of("making certificates", "tls") from error

    authority, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = _named("distkern certificate authority")
    usages = [x509.oid.ExtendedKeyUsageOID.SERVER_AUTH, x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]
    identity = x509.SubjectKeyIdentifier.from_public_key(authority.public_key())
    ca = (
        _certificate(issuer, issuer, authority.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(identity, critical=False)
        .sign(authority, hashes.SHA256())
    )
    cert = (
        _certificate(_named("distkern cluster"), issuer, own.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identity), critical=False)
        .sign(authority, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    key = own.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return ca.public_bytes(pem), cert.public_bytes(pem), key


def _named(name: str) -> Any:
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _certificate(subject: Any, issuer: Any, key: Any, days: int) -> Any:
    from cryptography import x509

    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # the clocks of a cluster differ
        .not_valid_after(now + timedelta(days=days))
    )


def _usage(signs_certificates: bool) -> Any:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        **dict.fromkeys(
            (
                "content_commitment",
                "key_encipherment",
                "data_encipherment",
                "key_agreement",
                "encipher_only",
                "decipher_only",
            ),
            False,
        ),
    )
