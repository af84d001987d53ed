import io
import sys

from distkern.core.events import Progress, silent
from distkern.engine.progress import progress_listener


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_no_bar_is_drawn_without_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert progress_listener(None) is silent
    assert progress_listener(False) is silent


def test_one_bar_per_phase_is_drawn_on_a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    listener = progress_listener(None)
    for phase, total in (("prepare rows", 2), ("compute tiles", 3)):
        for done in range(total + 1):
            listener(Progress(phase, done, total))
    drawn = terminal.getvalue()
    assert "prepare rows: 100%" in drawn
    assert "compute tiles: 100%" in drawn
    assert "3/3" in drawn


def test_a_function_receives_every_event():
    events = []
    progress_listener(events.append)(Progress("x", 1, 2))
    assert events == [Progress("x", 1, 2)]
