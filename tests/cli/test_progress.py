"""Progress on stderr: time left, steps without units, and what stays on a terminal."""

from __future__ import annotations

import time
from types import SimpleNamespace

import click
import pytest

from distkern.cli import progress
from distkern.cli.progress import Display, Work, echo, position_in
from distkern.core.events import Progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand, without the thread that looks at it."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(Display, "_watch", lambda self: None)
    return clock


def test_lines_of_a_log(clock, capsys):
    display = Display(terminal=False)
    display(Progress("compute tiles", 20, 100))  # an earlier run finished 20
    clock.now += 9
    display(Progress("compute tiles", 38, 100))
    assert capsys.readouterr().err == ""
    clock.now += 1
    display(Progress("compute tiles", 40, 100))
    assert capsys.readouterr().err == "compute tiles: 40 of 100, about 30.0 s left\n"
    clock.now += 30
    display(Progress("compute tiles", 100, 100))
    assert capsys.readouterr().err == "compute tiles: 100 of 100 in 40.0 s\n"
    display(Progress("plan", 0, 1, "waiting for workers"))
    display(Progress("plan", 0, 1, "waiting for workers"))
    assert capsys.readouterr().err == "plan: waiting for workers\n"


def test_a_step_without_units_is_shown_by_the_time_that_it_takes(clock, capsys):
    display = Display(terminal=False)
    with display.step("training"):
        clock.now += 9
        display._tick()
        assert capsys.readouterr().err == ""
        clock.now += 1
        display._tick()
        assert capsys.readouterr().err == "training: 10.0 s\n"
        display(Progress("evaluate", 1, 2))  # the phase is shown, and not the step around it
        clock.now += 10
        display._tick()
        assert capsys.readouterr().err == "evaluate: 1 of 2\n"
        display(Progress("evaluate", 2, 2))
        display._tick()
        assert capsys.readouterr().err == "evaluate: 2 of 2 in 10.0 s\ntraining: 20.0 s\n"
    assert capsys.readouterr().err == "training: done in 20.0 s\n"
    with display.step("short"):
        clock.now += 5
    with display.step("gram", kept=False):
        clock.now += 50
    assert capsys.readouterr().err == ""


def test_a_terminal_draws_one_line_again_and_keeps_what_took_long(clock, capsys):
    display = Display(terminal=True)
    with display.step("reading"):
        clock.now += 1
        display._tick()
        assert capsys.readouterr().err == ""
        clock.now += 1
        display._tick()
        assert capsys.readouterr().err == "\r\x1b[Kreading: 2.0 s"
        clock.now += 0.1
        display._tick()
        assert capsys.readouterr().err == ""
        display.write("Warning: look")
        assert capsys.readouterr().err == "\r\x1b[KWarning: look\n"
        clock.now += 2
        display._tick()
        assert capsys.readouterr().err == "\r\x1b[Kreading: 4.1 s"
    assert capsys.readouterr().err == "\r\x1b[Kreading: done in 4.1 s\n"
    display(Progress("short", 1, 2))
    display(Progress("short", 2, 2))
    assert capsys.readouterr().err == ""


def test_a_result_is_printed_where_no_line_is_drawn(clock, capsys):
    with click.Context(click.Command("work")) as context:
        shown = context.meta["distkern.display"] = Display(terminal=True)
        with shown.step("working", kept=False):
            clock.now += 3
            shown._tick()
            assert capsys.readouterr().err == "\r\x1b[Kworking: 3.0 s"
            echo("result")
            assert capsys.readouterr() == ("result\n", "\r\x1b[K")
            echo("more")
        assert capsys.readouterr() == ("more\n", "")


def test_the_share_of_a_file_that_is_read_tells_the_time_left(clock, tmp_path):
    file = tmp_path / "cohort.csv"
    file.write_bytes(b"x" * 1000)
    work = Work("reading", file)
    assert position_in(file) is None
    with file.open("rb", buffering=0) as stream:
        stream.read(250)
        if position_in(file) is None:
            pytest.skip("this system does not tell how far a file is read")
        assert position_in(file) == (250, 1000)
        clock.now += 10
        work.look()
        assert work.words() == "reading: 25 %, about 30.0 s left"


def test_a_silent_step_is_shown_by_the_thread(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.02)
    monkeypatch.setattr(progress, "REDRAWN_AFTER", 0.01)
    display = Display(terminal=False)
    with display.step("thinking"):
        deadline, said = time.monotonic() + 30, ""
        while "thinking" not in said and time.monotonic() < deadline:
            time.sleep(0.01)
            said += capsys.readouterr().err
    assert "thinking: " in said
    assert display._stopped is None


def test_a_command_that_takes_long_says_so(run, monkeypatch, tmp_path):
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
    monkeypatch.setattr(progress, "REDRAWN_AFTER", 0.001)
    table = tmp_path / "cohort.csv"
    table.write_text("id,a,b,c\n" + "".join(f"s{row},{row},{-row},{row % 3}\n" for row in range(30)))
    words = ("gram", table, tmp_path / "cohort.zarr", "--samples", "rows", "--kernel", "kendall")
    loud = run(*words)
    assert "reading 'cohort.csv': done in" in loud.stderr
    assert run(*words, "-q").stderr == ""
