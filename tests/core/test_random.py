import numpy as np
import pytest
from scipy.stats import kstest

from distkern.core.random import fill_uniform, philox, sample_keys, uniforms

DIGESTS = np.arange(32, dtype=np.uint8).reshape(2, 16)
ONES = 2**32 - 1
PINNED = ["0x1.f0ab8a8a53406p-1", "0x1.41160991aebe3p-1", "0x1.0677c5116881fp-1"]


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [  # known answers of Random123
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_published_words(counter, key, words):
    assert tuple(int(word) for word in philox(*(np.uint64(word) for word in (*counter, *key)))) == words


def test_numbers_depend_only_on_seed_content_draw_and_position():
    key = sample_keys(5, DIGESTS)[1]
    whole = uniforms(key, 3, 101)
    np.testing.assert_array_equal(uniforms(key, 3, 10), whole[:10])
    np.testing.assert_array_equal(sample_keys(5, DIGESTS[1:])[0], key)
    part = np.empty(7)
    fill_uniform(key, 3, part)
    np.testing.assert_array_equal(part, whole[:7])


def test_seeds_samples_and_draws_give_different_numbers():
    streams = [
        uniforms(key, draw, 50).tolist() for seed in (0, 1, -1) for key in sample_keys(seed, DIGESTS) for draw in (0, 1)
    ]
    assert len({value for stream in streams for value in stream}) == 12 * 50


def test_numbers_stay_the_same_across_versions():
    values = uniforms(sample_keys(0, DIGESTS)[0], 0, 3)
    assert [value.hex() for value in values.tolist()] == PINNED


def test_numbers_are_uniform_and_streams_uncorrelated():
    keys = sample_keys(11, np.arange(160, dtype=np.uint8).reshape(10, 16))
    values = np.stack([uniforms(key, draw, 500) for key in keys for draw in range(10)])
    assert (values >= 0).all()
    assert (values < 1).all()
    assert kstest(values.ravel(), "uniform").pvalue > 0.01
    off = np.corrcoef(values)[np.triu_indices(100, 1)]
    assert abs(off).max() < 6 / np.sqrt(500)
    assert off.std() == pytest.approx(1 / np.sqrt(500), rel=0.1)
