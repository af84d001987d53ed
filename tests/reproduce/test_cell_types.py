"""Types of cells from another platform: the measures, and the findings that the page states."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics import accuracy_score, recall_score

from distkern.reproduce import cell_types


def test_measures_are_those_of_the_called_labels():
    rng = np.random.default_rng(0)
    truth, scores, labels = rng.choice(list("abc"), 60), rng.normal(0, 0.01, (60, 4)), np.array(list("abcd"))
    found = cell_types.measures(truth, scores, labels)
    called = labels[scores.argmax(axis=1)]
    leads = np.array([row[-1] - row[-2] for row in np.sort(scores, axis=1)])
    assert found["accuracy"] == accuracy_score(truth, called)
    assert found["balanced"] == pytest.approx(recall_score(truth, called, labels=list("abc"), average="macro"))
    surest = leads.argsort()[6:]
    assert found["surest"] == pytest.approx(accuracy_score(truth[surest], called[surest]))
    clear = leads > cell_types.MARGIN
    assert 0 < clear.mean() < 1
    assert found["unassigned"] == pytest.approx(1 - clear.mean())
    assert found["assigned"] == pytest.approx(accuracy_score(truth[clear], called[clear]))


def test_forms_are_those_of_files():
    counts = csr_matrix(np.array([[1.0, 0.0, 3.0], [2.0, 2.0, 0.0]], dtype=np.float32))
    log, scaled = cell_types.forms(counts, np.array([4, 8]))
    np.testing.assert_allclose(log.toarray(), np.log1p(counts.toarray()), rtol=1e-6)
    assert scaled.toarray().tolist() == [[2500.0, 0.0, 7500.0], [2500.0, 2500.0, 0.0]]
    assert log.dtype == scaled.dtype == np.float32


@pytest.mark.slow
def test_kendall_does_as_well_as_spearman_and_the_form_does_not_matter():
    table = list(cell_types.rows(quick=True))
    assert [(row["kernel"], row["label"], row["genes"]) for row in table] == [
        (kernel, label, genes)
        for genes in (7060, 1831)
        for label in ("nearest", "quantile 0.8")
        for kernel in ("Kendall", "Spearman")
    ]
    for kendall, spearman in zip(table[::2], table[1::2], strict=True):
        assert kendall["identical"] == spearman["identical"] == kendall["cells"] == 264
        assert abs(kendall["accuracy"] - spearman["accuracy"]) < 0.02
        assert 0.74 < kendall["accuracy"] < kendall["assigned"]
        assert kendall["accuracy"] < kendall["surest"]
