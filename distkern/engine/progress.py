"""Progress bars: on a terminal, in a notebook, and none anywhere else."""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from typing import Any

from distkern.core.events import Listener, Progress, silent


class Bars:
    """Draws one bar a phase with tqdm, in colour or as a widget as the place allows."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None
        self._phase = self._note = ""

    def __call__(self, event: Progress) -> None:
        """Draw where the phase stands."""
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
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class Late:
    """Lets a listener hear of work only once it has taken some seconds.

    Parameters
    ----------
    listener
        Who hears of it.
    seconds
        How long after the first event.
    """

    def __init__(self, listener: Listener, seconds: float) -> None:
        self._listener = listener
        self._heard_from = time.monotonic() + seconds

    def __call__(self, event: Progress) -> None:
        """Hand an event on, if it is time."""
        if time.monotonic() >= self._heard_from:
            self._listener(event)

    def close(self) -> None:
        """Leave a bar as it stands."""
        close = getattr(self._listener, "close", None)
        if close is not None:
            close()


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and "IPKernelApp" in shell.config


def progress_listener(progress: Any = None) -> Listener:
    """Choose who draws progress.

    Parameters
    ----------
    progress
        ``None``: a bar on a terminal or in a notebook, nothing elsewhere. ``True``: a bar always. ``False``: none. A
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
