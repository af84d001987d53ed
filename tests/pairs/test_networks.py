"""Networks are read by other programs as they were written, and never replace a file unless asked to."""

import anndata
import igraph
import numpy as np
import pandas as pd
import pytest

from distkern import InputError, InputTypeError
from distkern.pairs import networks
from distkern.pairs.networks import Ends, Links, as_table, check_suffix, refuse_key, write_links

NAMES = ("a<b", 'c"d', "e & f", "NA")
LINKS = Links(
    np.array([0, 0, 2]),
    np.array([1, 3, 1]),
    {"tau": np.array([0.1 + 0.2, -1.0, np.nan]), "p": np.array([0.0, 1e-300, 1.0])},
)
COLUMNS = ("tau", "p")
ENDS = Ends(NAMES, NAMES, False)


def write(path, links=LINKS, ends=ENDS, **options):
    return write_links(path, [links], ends, COLUMNS, **{"overwrite": False} | options)


@pytest.fixture(autouse=True, params=[1, 2**18])
def rows_at_a_time(request, monkeypatch):
    monkeypatch.setattr(networks, "ROWS", request.param)


@pytest.mark.parametrize(("name", "sep"), [("edges.csv", ","), ("edges.tsv", "\t"), ("EDGES.CSV", ",")])
def test_text(tmp_path, name, sep):
    assert write(tmp_path / name) == 3
    found = pd.read_csv(
        tmp_path / name, sep=sep, keep_default_na=False, na_values={"tau": [""]}, float_precision="round_trip"
    )
    pd.testing.assert_frame_equal(found, as_table(LINKS, ENDS), check_exact=True)


@pytest.mark.parametrize("ends", [ENDS, Ends(None, NAMES, True)])
def test_parquet(tmp_path, ends):
    assert write(tmp_path / "edges.parquet", ends=ends) == 3
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "edges.parquet"), as_table(LINKS, ends), check_exact=True)


def test_graphml(tmp_path):
    write(tmp_path / "edges.graphml")
    graph = igraph.Graph.Read_GraphML(str(tmp_path / "edges.graphml"))
    assert not graph.is_directed()
    names = graph.vs["name"]
    ends = [tuple(names[end] for end in edge.tuple) for edge in graph.es]
    assert [set(pair) for pair in ends] == [{"a<b", 'c"d'}, {"a<b", "NA"}, {"e & f", 'c"d'}]
    np.testing.assert_array_equal(graph.es["tau"], LINKS.values["tau"])
    np.testing.assert_array_equal(graph.es["p"], LINKS.values["p"])


def test_graphml_of_two_tables_tells_their_features_apart(tmp_path):
    write(tmp_path / "edges.graphml", ends=Ends(None, NAMES, True))
    graph = igraph.Graph.Read_GraphML(str(tmp_path / "edges.graphml"))
    assert sorted(zip(graph.vs["table"], graph.vs["name"], strict=True)) == [
        ("X", "0"), ("X", "2"), ("Y", "NA"), ("Y", 'c"d'),
    ]  # fmt: skip
    assert graph.is_bipartite()


@pytest.mark.parametrize("name", ["edges.csv", "edges.parquet", "edges.graphml"])
def test_no_edges(tmp_path, name):
    none = Links(LINKS.first[:0], LINKS.second[:0], {column: values[:0] for column, values in LINKS.values.items()})
    assert write(tmp_path / name, none) == 0
    assert write_links(tmp_path / f"2{name}", [], ENDS, COLUMNS, overwrite=False) == 0
    if name.endswith("csv"):
        assert (tmp_path / name).read_text() == "first,second,tau,p\n"


@pytest.mark.parametrize("name", ["edges.csv", "edges.parquet", "edges.graphml"])
def test_a_file_is_replaced_only_if_asked_and_never_left_in_part(tmp_path, name):
    path = tmp_path / name
    path.write_text("precious")
    with pytest.raises(InputError, match="exists"):
        write(path)

    def broken():
        yield LINKS
        raise RuntimeError("lost worker")

    with pytest.raises(RuntimeError, match="lost worker"):
        write_links(path, broken(), ENDS, COLUMNS, overwrite=True)
    assert path.read_text() == "precious"
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert write(path, overwrite=True) == 3
    assert path.read_bytes() != b"precious"


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"'edges.xlsx' does not end with .csv, .tsv"):
        check_suffix(tmp_path / "edges.xlsx")


def test_keys_of_varp_are_guarded():
    adata = anndata.AnnData(np.eye(3))
    adata.varp["net_q"] = np.eye(3)
    refuse_key(adata, "net", ("tau", "p"), False)
    refuse_key(adata, "net", ("tau", "q"), True)
    with pytest.raises(InputError, match="holds 'net_q' in varp already"):
        refuse_key(adata, "net", ("tau", "q"), False)
    with pytest.raises(InputTypeError, match="AnnData object, not of a ndarray"):
        refuse_key(np.eye(3), "net", ("tau",), False)
