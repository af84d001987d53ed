"""One check of the random state of every learner."""

from __future__ import annotations

from typing import Any

from sklearn.utils import check_random_state

from distkern.core.errors import InputError


def random_state_of(random_state: Any) -> Any:
    """Return the NumPy ``RandomState`` that scikit-learn makes of None, an integer or a ``RandomState``.

    Raises
    ------
    InputError
        If it is none of them.

    Examples
    --------
    >>> int(random_state_of(0).randint(10))
    5
    """
    try:
        return check_random_state(random_state)
    except (ValueError, TypeError) as error:
        raise InputError(
            "random_state must be None, a whole number of 0 to 4,294,967,295 or a numpy RandomState, "
            f"not {random_state!r}"
        ) from error
