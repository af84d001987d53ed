"""Commands on a terminal that is not there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios


def on_terminal(*words, columns=100, **variables):
    """Run distkern with stdout and stderr on a terminal; return its exit code and all that it writes."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    env = {**kept, "TERM": "xterm-256color", **variables}
    command = [sys.executable, "-m", "distkern", *map(str, words)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        written = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(ours, 65536):
                written += part
    os.close(ours)
    return process.returncode, written.decode().replace("\r\n", "\n")


def plain(text):
    """Remove what styles a text."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
