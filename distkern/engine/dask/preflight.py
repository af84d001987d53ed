"""The preflight check of a scheduler, before a client joins it.

A Dask client repeats a connection that cannot succeed until its timeout, and then says little about the cause.
"""

from __future__ import annotations

import socket
import ssl
import time

from distkern.core.errors import InputError
from distkern.engine.dask.security import split_address

PATIENCE = 30.0
"""Seconds to wait for a scheduler to start and answer."""

SILENCE = 3.0
"""Seconds without an answer after which an unencrypted connection is tested for TLS."""

PAUSE = 0.2
"""Seconds between two attempts."""

HOW_TO_TLS = "write tls:// and give --tls-ca-file, --tls-cert and --tls-key"


def check_scheduler(address: str, context: ssl.SSLContext | None, origin: str = "") -> None:
    """Wait until a scheduler answers at an address, with the expected protocol.

    A Dask scheduler sends the first byte of a connection.

    Parameters
    ----------
    address
        ``tcp://host:port`` or ``tls://host:port``.
    context
        The TLS context of the client; None for tcp.
    origin
        Where the address was found, for error messages.

    Raises
    ------
    InputError
        At once if only one end uses TLS, or if one refuses the certificate of the other; after `PATIENCE` seconds if
        nothing answers.
    """
    _, host, port = split_address(address)
    named = f"{address!r}{origin}"
    deadline = time.monotonic() + PATIENCE
    while True:
        left = deadline - time.monotonic()
        try:
            _receive_byte(host, port, context, min(SILENCE, max(left, 0.1)))
            return
        except OSError as error:
            last = error
        if isinstance(last, ssl.SSLError) and not isinstance(last, ssl.SSLEOFError):
            raise InputError(f"TLS with the scheduler at {named} failed: {_cause(last)}") from last
        if isinstance(last, TimeoutError) and context is None and _uses_tls(host, port):
            raise InputError(f"the scheduler at {named} uses TLS: {HOW_TO_TLS}") from last
        if left <= PAUSE:
            raise InputError(f"no Dask scheduler answers at {named}: {last.strerror or last}") from last
        time.sleep(PAUSE)


def _receive_byte(host: str, port: int, context: ssl.SSLContext | None, seconds: float) -> None:
    """Wait for the first byte from a scheduler; only then is it known whether the scheduler accepts the certificate."""
    with socket.create_connection((host, port), timeout=seconds) as plain:
        with plain if context is None else context.wrap_socket(plain) as stream:
            if not stream.recv(1):
                raise ConnectionResetError("the connection was closed")


def _uses_tls(host: str, port: int) -> bool:
    """Whether a server answers a TLS handshake; its certificate is not verified, since nothing is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection((host, port), timeout=SILENCE) as plain, context.wrap_socket(plain):
            return True
    except ssl.SSLError as error:
        return "alert" in str(error).lower()  # only a TLS server sends an alert
    except OSError:
        return False


def _cause(error: ssl.SSLError) -> str:
    """Describe why a TLS handshake failed, and what to change."""
    message = str(error).upper().replace(" ", "_")
    if "ALERT" in message:
        return f"it refused the certificate of --tls-cert ({error}): give the one that its own authority signed"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate was not signed by the authority of --tls-ca-file ({error.verify_message})"
    return f"it does not use TLS ({error}): write tcp:// if it is meant to be unencrypted"
