"""What counts as a good answer: the right value, or an error whose sentence says what was wrong."""

from __future__ import annotations

import ast
import signal
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import distkern
from distkern import DistkernError

PACKAGE = str(Path(distkern.__file__).parent)
SECONDS = 60
"""Most processor time of a case; one that takes more does not end. One that waits is stopped after 600 s."""

SENTENCES_OF_OTHERS = ("sklearn/utils/", "sklearn/base.py", "sklearn/model_selection/", "click/", "sklearn/metrics/")
"""Libraries that check their input in sentences, as distkern's estimators promise of scikit-learn's checks."""


class Wrong(AssertionError):
    """An answer that is not right."""


class Endless(BaseException):
    """A case took too long."""


@dataclass(frozen=True)
class Case:
    """What is done, in words, and a function that does it: it returns, or raises `Wrong` or an error of the package."""

    what: str
    act: Callable[[], None]


def require(holds: bool, what: str) -> None:
    """Say that an answer is wrong unless a statement about it holds."""
    if not holds:
        raise Wrong(what)


def require_refused(found: Any, why: str) -> None:
    """Say that input without a meaning was accepted."""
    raise Wrong(f"accepted {why}: {str(found)[:200]}")


def require_close(found: Any, expected: Any, scale: float = 1.0, rtol: float = 1e-8) -> None:
    """Compare arrays entry by entry, relative to the largest value of ``expected`` and a scale."""
    found, expected = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    require(found.shape == expected.shape, f"shape {found.shape} instead of {expected.shape}")
    finite = np.isfinite(expected)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    bound = rtol * max(scale, float(np.abs(expected[finite]).max(initial=0.0)))
    with np.errstate(invalid="ignore", over="ignore"):
        wrong = ~same & ~(np.abs(found - expected) <= bound)
    if wrong.any():
        where = tuple(int(part) for part in np.argwhere(wrong)[0]) if found.ndim else ()
        raise Wrong(f"{found[where]!r} instead of {expected[where]!r} at {where}")


def problem_of(case: Case) -> str | None:
    """What is wrong with a case; None if nothing is."""

    def stop(number: int, frame: Any) -> None:
        raise Endless

    before = {number: signal.signal(number, stop) for number in (signal.SIGALRM, signal.SIGPROF)}
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(10 * SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case.act()
    except Wrong as error:
        return f"wrong: {error}"
    except Endless:
        return f"does not end in {SECONDS} s"
    except (DistkernError, ValueError, TypeError) as error:
        return fault_of_error(error)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return f"raised {type(error).__name__}: {str(error)[:200]} ({_where(error)})"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for number, handler in before.items():
            signal.signal(number, handler)
    return None


def fault_of_error(error: BaseException) -> str | None:
    """What is wrong with an error: its words, or that it came from the depth and was not raised as a sentence."""
    fault = fault_of_words(str(error))
    if fault is None and not isinstance(error, DistkernError) and not _is_raised_on_purpose(error):
        fault = "is raw"
    return None if fault is None else f"{type(error).__name__} {fault}: {str(error)[:200]} ({_where(error)})"


def fault_of_words(words: str) -> str | None:
    """What is wrong with the words of an error; None if they are a sentence."""
    if "bug in distkern" in words:
        return "says that it is a bug"
    if "Traceback" in words:
        return "holds a traceback"
    if len(words.split()) < 3:
        return "is no sentence"
    if any(ord(char) < 32 and char not in "\n\t" for char in words):
        return "holds control characters"
    return None


def _is_raised_on_purpose(error: BaseException) -> bool:
    """Whether the innermost line is a ``raise`` of this package, of a checking library, or a call in this folder."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    if any(part in frame.filename for part in SENTENCES_OF_OTHERS):
        return True
    if str(error).startswith(("unsupported operand type", "operand ")):
        return True  # the own answers of Python and NumPy to an operator
    if not frame.filename.startswith(PACKAGE):
        return False
    return any(start <= (frame.lineno or 0) <= stop for start, stop in _raises(frame.filename))


@cache
def _raises(file: str) -> list[tuple[int, int]]:
    tree = ast.parse(Path(file).read_text())
    return [(node.lineno, node.end_lineno or node.lineno) for node in ast.walk(tree) if isinstance(node, ast.Raise)]


def _where(error: BaseException) -> str:
    """The innermost line of this package, for a report."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(PACKAGE)]
    if not frames:
        return "outside of distkern"
    return f"{Path(frames[-1].filename).relative_to(PACKAGE)}:{frames[-1].lineno}"
