"""Progress bars on terminals and in notebooks."""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from typing import Any

from distkern.core.events import Listener, Progress, close, silent


class Bars:
    """Draws one tqdm bar per phase.

    Parameters
    ----------
    tqdm
        The class of the bars, for a terminal or a notebook.
    """

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None
        self._phase = self._note = ""

    def __call__(self, event: Progress) -> None:
        """Draw the state of a phase."""
        if event.phase != self._phase or self._bar is None:
            self.close()
            self._bar, self._phase = self._tqdm(desc=event.phase, total=event.total, initial=event.done), event.phase
        if event.note != self._note:
            self._note = event.note
            self._bar.set_postfix_str(event.note)
        self._bar.update(event.done - self._bar.n)
        if event.done >= event.total:
            self.close()

    def close(self) -> None:
        """End the current bar without completing it."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class Late:
    """Passes events on only after some seconds, so that short work draws no bar.

    Parameters
    ----------
    listener
        Receives the events.
    seconds
        Seconds from now on during which events are dropped.
    """

    def __init__(self, listener: Listener, seconds: float) -> None:
        self._listener = listener
        self._first_at = time.monotonic() + seconds

    def __call__(self, event: Progress) -> None:
        """Pass an event on, unless it is too early."""
        if time.monotonic() >= self._first_at:
            self._listener(event)

    def close(self) -> None:
        """Close the listener."""
        close(self._listener)


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and "IPKernelApp" in shell.config


def progress_listener(progress: Any = None) -> Listener:
    """Return the listener that an argument ``progress=`` of a public function names.

    Parameters
    ----------
    progress
        ``None``: a bar on a terminal or in a notebook, else nothing. ``True``: always a bar. ``False``: no bar. A
        function: it is called with each `Progress` event.
    """
    if callable(progress):
        return progress
    notebook = in_notebook()
    if progress is False or (progress is None and not notebook and not sys.stderr.isatty()):
        return silent
    if notebook and find_spec("ipywidgets") is not None:
        from tqdm.notebook import tqdm as bar
    else:
        from tqdm.std import tqdm as bar
    return Bars(bar)
