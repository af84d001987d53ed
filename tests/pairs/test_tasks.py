"""Tasks of all sizes give the same numbers, within the memory that they may take."""

import numpy as np
import pytest
from marks import with_slow
from scipy import sparse

from distkern import MemoryLimitError, Serial, Threads
from distkern.core.events import silent
from distkern.pairs import tasks
from distkern.pairs.cohorts import open_cohort, view
from distkern.pairs.counts import PValueRule
from distkern.pairs.edges import Threshold, adjust, read_edges
from distkern.pairs.ranked import rank_cohort
from distkern.pairs.tasks import Work, compute_list, compute_matrix, pair_seconds, spill_edges, tile_bytes

rng = np.random.default_rng(0)
RULE = PValueRule("two-sided", "auto")
FORMS = {
    "dense": rng.integers(0, 5, (20, 13)).astype(float),
    "sparse": sparse.random(20, 13, density=0.3, format="csr", random_state=1),
    "gaps": np.where(rng.random((20, 13)) < 0.2, np.nan, rng.normal(size=(20, 13))),
}


def work_on(values, folder, Y=None):
    cohort = open_cohort(view(values), None if Y is None else view(Y), None, "pairwise")
    rows, cols = rank_cohort(cohort, str(folder), None)
    return Work(rows, cols, RULE, (None, None))


@pytest.mark.parametrize(
    ("form", "two"),
    with_slow(
        [("dense", False), ("sparse", True), ("gaps", False)], [("dense", True), ("sparse", False), ("gaps", True)]
    ),
)
def test_results_do_not_depend_on_the_tasks(tmp_path, monkeypatch, form, two):
    values = FORMS[form]
    work = work_on(values, tmp_path, values[:, [4, 2, 7]] if two else None)
    assert work.rows.form == form
    first, second = (part.ravel() for part in np.indices((13, 3 if two else 13)))
    whole = compute_matrix(work, Serial(), silent, None)
    listed = compute_list(work, first, second, Serial(), silent, None)
    np.testing.assert_array_equal(listed, [part.ravel() for part in diagonal_of(listed, whole)])
    assert not list(tmp_path.glob("*-*.npz"))  # what was read takes no room on disk any longer
    for seconds, side in ((1e-6, 2), (1e-5, 5)):
        monkeypatch.setattr(tasks, "TASK_SECONDS", seconds)
        monkeypatch.setattr(tasks, "LARGEST_SIDE", side)
        np.testing.assert_array_equal(compute_matrix(work, Threads(2), silent, None), whole)
        shuffled = rng.permutation(len(first))
        found = compute_list(work, first[shuffled], second[shuffled], Threads(2), silent, None)
        np.testing.assert_array_equal(found, [part[shuffled] for part in listed])
        grid, spilled = spill_edges(work, Threshold(1.0, 0.0), Threads(2), silent, None)
        adjust(spilled, 1.0)
        edges = list(read_edges(grid, spilled))
        for edge in (one for part in edges for one in zip(*part, strict=True)):
            assert edge[2:4] == (whole[0][edge[0], edge[1]], whole[1][edge[0], edge[1]])
        undefined = sum(one.undefined for one in spilled)
        assert sum(len(part.first) for part in edges) + undefined == (39 if two else 78)


def diagonal_of(listed, whole):
    """The matrix has tau = 1 on its diagonal, also of a constant column; a list has what is computed."""
    tau = np.array(whole[0])
    if tau.shape[0] == tau.shape[1]:
        np.fill_diagonal(tau, listed[0].reshape(tau.shape).diagonal())
    return tau, whole[1]


def test_an_empty_list_needs_no_task(tmp_path):
    none = np.empty(0, dtype=np.intp)
    tau, p = compute_list(work_on(FORMS["dense"], tmp_path), none, none, Serial(), silent, None)
    assert (len(tau), len(p)) == (0, 0)


@pytest.mark.parametrize("form", FORMS)
def test_tiles_take_more_with_their_side_and_what_does_not_fit_is_refused(tmp_path, form):
    work = work_on(FORMS[form], tmp_path)
    assert tile_bytes(work, 1) < tile_bytes(work, 4) < tile_bytes(work, 13)
    assert 0 < pair_seconds(work) < 1e-3
    with pytest.raises(MemoryLimitError, match="a task on one pair of features takes"):
        compute_matrix(work, Serial(), silent, 10)
