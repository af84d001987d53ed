import anndata
import numpy as np
import pandas as pd
import pytest

from distkern import InputError, read_expression
from distkern.io.source import as_source
from distkern.io.writing import cohort_written

X = np.array([[1.0, 2.5, -3e-17], [np.nan, 0.1, 1e300], [4.0, 1 / 3, 0.0]])
IDS, GENES = ["p 1", 'p"2', "p,3"], ["TP53", "MYC", "7157"]


def write(path, **options):
    with cohort_written(path, X.shape, IDS, GENES, **options) as add:
        add(X[:2])
        assert not path.exists() or "overwrite" in options
        add(X[2:])
    return path


@pytest.mark.parametrize("name", ["c.csv", "c.tsv", "c.tab.gz", "c.CSV", "c.csv.gz"])
def test_tables_are_read_back_to_the_bit(tmp_path, name):
    found = read_expression(write(tmp_path / name), samples="rows")
    np.testing.assert_array_equal(found.X, X)
    assert (list(found.obs_names), list(found.var_names)) == (IDS, GENES)
    sep = "," if "csv" in name.lower() else "\t"
    frame = pd.read_csv(tmp_path / name, index_col=0, sep=sep, float_precision="round_trip")
    np.testing.assert_array_equal(frame.to_numpy(), X)


def test_npy_and_h5ad_are_read_back_to_the_bit(tmp_path):
    np.testing.assert_array_equal(np.load(write(tmp_path / "c.npy")), X)
    source = as_source(write(tmp_path / "c.h5ad"))
    np.testing.assert_array_equal(source.read(slice(0, 3)), X)
    assert (list(source.ids), list(source.features)) == (IDS, GENES)
    np.testing.assert_array_equal(anndata.read_h5ad(tmp_path / "c.h5ad").X, X)


def test_annotations_of_the_same_samples_are_taken_over(tmp_path):
    given = anndata.AnnData(
        np.zeros((3, 3)),
        pd.DataFrame({"donor": pd.Categorical(list("aab"))}, index=IDS),
        pd.DataFrame({"chromosome": [17, 8, 1]}, index=[*GENES[:2], "KRAS"]),
    )
    given.write_h5ad(tmp_path / "given.h5ad")
    found = anndata.read_h5ad(write(tmp_path / "c.h5ad", like=tmp_path / "given.h5ad"))
    assert found.obs["donor"].tolist() == ["a", "a", "b"]
    assert list(found.var.columns) == []
    assert list(found.var_names) == GENES
    np.testing.assert_array_equal(found.X, X)


def broken(path):
    with cohort_written(path, X.shape, None, None) as add:
        add(X[:1])
        raise RuntimeError


def test_nothing_is_left_of_a_failure_or_replaced_unasked(tmp_path):
    path = tmp_path / "c.csv"
    with pytest.raises(RuntimeError):
        broken(path)
    assert list(tmp_path.iterdir()) == []
    write(path)
    with pytest.raises(InputError, match="exists: give another path, or overwrite=True"):
        write(path)
    write(path, overwrite=True)
    with pytest.raises(InputError, match=r"'c.xlsx' does not tell how to write it: its name must end in \.csv"):
        write(tmp_path / "c.xlsx")


def test_positions_are_names_where_there_are_none(tmp_path):
    with cohort_written(tmp_path / "c.csv", (1, 2), None, None) as add:
        add(np.array([[1.0, 2.0]]))
    assert (tmp_path / "c.csv").read_text() == "id,0,1\n0,1.0,2.0\n"
