"""The look at samples: where they can be read, in parallel, without zeros, and before anything is written."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import distkern as dk
from distkern.build import look as module
from distkern.build.look import Looking, empty_features, look
from distkern.core.errors import DistkernError, SampleError
from distkern.engine.executors import Serial, Threads
from distkern.io.digests import DIGEST_KINDS, dense_digests, sample_digests
from distkern.io.formats.numpy_arrays import MappedReader
from distkern.io.source import as_source

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(0.3, size=(41, 30)).astype(float)
COUNTS[COUNTS.sum(axis=1) == 0, 0] = 1.0
IDS = [f"cell {row}" for row in range(41)]


@pytest.fixture
def small_tasks(monkeypatch):
    """Seven samples a task, three at a time at first."""
    monkeypatch.setattr(module, "LOOK_BYTES", 7 * 8 * 30)
    monkeypatch.setattr(module, "STRIP_BYTES", 3 * 8 * 30)


@pytest.mark.parametrize("pool", [Serial(), Threads(3)], ids=["serial", "threads"])
@pytest.mark.parametrize("made", [np.asarray, sparse.csr_array, sparse.csc_array], ids=["dense", "csr", "csc"])
@pytest.mark.parametrize("number", DIGEST_KINDS)
def test_it_finds_the_digest_and_the_number_of_nonzeros_of_each_sample(small_tasks, pool, made, number):
    found = look([dk.Kendall()], as_source(made(COUNTS)), IDS, Looking(pool, format=number))
    np.testing.assert_array_equal(found.digests, (dense_digests if number == 1 else sample_digests)(COUNTS))
    np.testing.assert_array_equal(found.filled, (COUNTS != 0).sum(axis=1))
    assert len({receipt.i for receipt in found.receipts}) >= 6


@pytest.mark.parametrize("made", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_first_wrong_sample_is_named_whichever_task_ends_first(small_tasks, made):
    wrong = COUNTS.copy()
    wrong[40, 3] = wrong[19, 5] = wrong[18, 7] = np.nan
    wrong[8] = 0.0
    for pool in (Serial(), Threads(4)):
        for kernel, said in (
            (dk.Kendall(), "sample 'cell 18' has no value (NaN) for feature 'gene 7'"),
            (dk.Kendall(ties="b"), "sample 'cell 8' is constant"),
        ):
            source = as_source(made(wrong), ids=IDS)
            source.features = tuple(f"gene {k}" for k in range(30))
            with pytest.raises(SampleError, match=re.escape(said)):
                look([kernel], source, IDS, Looking(pool))


def test_nothing_is_written_where_a_sample_is_wrong(tmp_path):
    wrong = COUNTS.copy()
    wrong[40, 3] = np.nan
    with pytest.raises(SampleError, match="'cell 40'"):
        dk.compute_gram(dk.Kendall(), wrong, ids=IDS, store=tmp_path / "k.zarr", progress=False)
    assert not list(tmp_path.iterdir())


def outcome(check, X):
    try:
        return check(X, IDS[: X.shape[0]])
    except DistkernError as error:
        return str(error)


KERNELS = [
    dk.Kendall(),
    dk.Kendall(ties="b"),
    dk.Mallows(0.1),
    dk.Kendall(ties="b") + 2.0 * dk.Mallows(0.5),
    (dk.Kendall() * dk.Kendall()).normalized(),
]


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, (4, 3), elements=st.sampled_from([0.0, 0.0, -0.0, 1.0, 2.0, np.nan, np.inf, -np.inf])))
def test_kernels_say_the_same_of_samples_whose_zeros_are_left_out(X):
    rows = as_source(sparse.csr_matrix(X)).read_sparse(slice(None))
    for kernel in KERNELS:
        assert kernel.takes_sparse
        assert outcome(kernel.check, rows) == outcome(kernel.check, X)


def test_sparse_samples_are_never_made_dense(tmp_path, monkeypatch):
    def refuse(self, *args, **kwargs):
        raise AssertionError("made dense")

    X = sparse.csr_array(COUNTS * (COUNTS > 1))
    monkeypatch.setattr(sparse.csr_array, "toarray", refuse)
    monkeypatch.setattr(sparse.csr_array, "todense", refuse)
    gram = dk.compute_gram(dk.Kendall(), X, store=tmp_path / "k.zarr", landmarks=5, progress=False)
    assert gram.info()["sparse"]
    dk.append_gram(gram.path, X[:6], ids=list("abcdef"), progress=False)


def test_more_samples_are_read_at_a_time_where_they_are_few_bytes_and_the_kernel_takes_them_so():
    X = sparse.csr_array(COUNTS * (COUNTS > 2))
    heights = {}
    for kernel in (dk.Kendall(), dk.Gaussian(1.0)):
        task = module.LookTask((kernel,), as_source(X), slice(0, 41), 3 * 8 * 30, 2, "")
        heights[kernel.name] = [part.stop - part.start for part, _ in task.strips()]
    assert heights["gaussian"] == [3] * 13 + [2]
    assert heights["kendall"][:3] == [3, 6, 12]
    assert sum(heights["kendall"]) == 41


@pytest.mark.parametrize("made", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_features_without_a_value_are_found_in_every_task(small_tasks, made):
    lacking = COUNTS.copy()
    lacking[0, 3] = lacking[22, 4] = lacking[40, 29] = np.nan
    assert empty_features([as_source(COUNTS), as_source(made(lacking))], Looking(Threads(2))).tolist() == [3, 4, 29]


def test_workers_look_at_a_file_and_the_client_reads_a_few_samples_of_it(tmp_path, client, monkeypatch):
    np.save(tmp_path / "x.npy", RNG.normal(size=(200, 5)))
    take, read = MappedReader.take, []

    def counted(self, rows):
        values = take(self, rows)
        read.append(len(values))
        return values

    monkeypatch.setattr(MappedReader, "take", counted)
    monkeypatch.setattr("distkern.build.compute.SHORT_SECONDS", 0.0)
    phases = set()
    options = {"store": tmp_path / "k.zarr", "progress": lambda event: phases.add(event.phase)}
    dk.compute_gram(dk.Gaussian("median"), tmp_path / "x.npy", **options)
    assert sum(read) == 16
    assert {"choose parameters", "check samples"} <= phases


def test_a_sample_that_a_worker_refuses_is_named(tmp_path, client):
    wrong = RNG.normal(size=(200, 5))
    wrong[150, 2] = np.nan
    np.save(tmp_path / "x.npy", wrong)
    for kernel in (dk.Kendall(), dk.Gaussian("median")):
        with pytest.raises(SampleError, match=r"sample '?(number )?150'? .* feature number 2"):
            dk.compute_gram(kernel, tmp_path / "x.npy", store=tmp_path / "k.zarr", progress=False)


def test_the_log_of_a_run_counts_the_memory_of_the_look(tmp_path, monkeypatch):
    seen = []
    original = module.look_at

    def with_more(task):
        found = original(task)
        seen.append(found.receipt)
        more = found.receipt.rest_bytes + 2**40
        return found._replace(receipt=found.receipt.__class__(**{**vars(found.receipt), "peak_bytes": more}))

    monkeypatch.setattr(module, "look_at", with_more)
    gram = dk.compute_gram(dk.Kendall(), COUNTS, store=tmp_path / "k.zarr", executor="serial", progress=False)
    (run,) = gram.info()["runs"]
    assert seen
    assert run["above_rest_bytes"] == 2**40
    grown = dk.append_gram(gram, COUNTS[:3] + 1, executor="serial", progress=False)
    assert grown.info()["runs"][-1]["above_rest_bytes"] == 2**40
