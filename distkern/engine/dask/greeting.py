"""Greeting a scheduler before joining it: Dask repeats a hopeless attempt until its time is up, and says little."""

from __future__ import annotations

import socket
import ssl
import time

from distkern.core.errors import InputError
from distkern.engine.dask.security import split_address

PATIENCE = 30.0
"""Seconds in which a scheduler may come up and answer."""

SILENCE = 3.0
"""Seconds after which a scheduler that says nothing may be waiting for TLS to begin."""

PAUSE = 0.2
"""Seconds between two attempts."""

HOW_TO_TLS = "write tls:// and give --tls-ca-file, --tls-cert and --tls-key"


def greet(address: str, context: ssl.SSLContext | None, origin: str = "") -> None:
    """Wait until a scheduler of the right protocol answers, which a Dask scheduler does by speaking first.

    Parameters
    ----------
    address
        ``tcp://host:port`` or ``tls://host:port``.
    context
        What TLS is spoken with; None for tcp.
    origin
        Words that say where the address came from, for errors.

    Raises
    ------
    InputError
        At once if one end speaks TLS and the other does not, or one refuses the other's certificate; after `PATIENCE`
        if nobody answers.
    """
    _, host, port = split_address(address)
    named = f"{address!r}{origin}"
    deadline = time.monotonic() + PATIENCE
    while True:
        left = deadline - time.monotonic()
        try:
            _hear(host, port, context, min(SILENCE, max(left, 0.1)))
            return
        except OSError as error:
            last = error
        if isinstance(last, ssl.SSLError) and not isinstance(last, ssl.SSLEOFError):
            raise InputError(f"TLS with the scheduler at {named} failed: {_why(last)}") from last
        if isinstance(last, TimeoutError) and context is None and _speaks_tls(host, port):
            raise InputError(f"the scheduler at {named} speaks TLS: {HOW_TO_TLS}") from last
        if left <= PAUSE:
            raise InputError(f"no Dask scheduler answers at {named}: {last.strerror or last}") from last
        time.sleep(PAUSE)


def _hear(host: str, port: int, context: ssl.SSLContext | None, seconds: float) -> None:
    """Wait for the first byte of a scheduler; a refused client certificate shows only then."""
    with socket.create_connection((host, port), timeout=seconds) as plain:
        with plain if context is None else context.wrap_socket(plain) as stream:
            if not stream.recv(1):
                raise ConnectionResetError("it hung up")


def _speaks_tls(host: str, port: int) -> bool:
    """Say whether a listener answers TLS; with whom does not matter, so that its certificate is not looked at."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection((host, port), timeout=SILENCE) as plain, context.wrap_socket(plain):
            return True
    except ssl.SSLError as error:
        return "alert" in str(error).lower()  # only who speaks TLS sends one
    except OSError:
        return False


def _why(error: ssl.SSLError) -> str:
    """Say in a user's words what ended a handshake."""
    said = str(error).upper().replace(" ", "_")
    if "ALERT" in said:
        return f"it refused the certificate of --tls-cert ({error}): take the one that its own authority signed"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not one of the authority of --tls-ca-file ({error.verify_message})"
    return f"it does not speak TLS ({error}): write tcp:// if it is meant to be unencrypted"
