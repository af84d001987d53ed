import sys

import numpy as np
import pytest

from distkern import MissingExtraError, rank_markers, score_sets


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: rank_markers(np.eye(4), [0, 0, 1, 1]), "a table of markers"),
        (lambda: score_sets(np.eye(4), {"a": ["x"]}), "a table of scores"),
    ],
)
def test_a_result_that_needs_pandas_says_so_before_the_work(monkeypatch, call, what):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=rf"{what} needs an optional dependency: pip install 'distkern\[io\]'"):
        call()
