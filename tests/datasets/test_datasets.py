"""The data sets that ship with the package equal the published ones."""

from __future__ import annotations

import hashlib
import itertools
import subprocess
import sys
from importlib.resources import files

import numpy as np
import pytest

from distkern.datasets import (
    load_apa,
    load_breast,
    load_celltypes,
    load_colon,
    load_medulloblastoma,
    load_mnist,
    load_pbmc,
)


def test_colon_is_the_cohort_of_alon():
    X, y = load_colon(return_X_y=True)
    assert X.shape == (62, 2000)
    assert X.dtype == np.float64
    assert not np.isnan(X).any()
    assert X.min() == pytest.approx(5.816, abs=5e-4)
    assert X.max() == pytest.approx(20903.18, abs=5e-3)
    assert {word: int((y == word).sum()) for word in set(y)} == {"tumour": 40, "normal": 22}
    # Alon's file alternates tumour and normal tissue of the same patients, and begins with a tumour
    assert y[:4].tolist() == ["tumour", "normal", "tumour", "normal"]


def test_colon_as_anndata_equals_the_arrays():
    X, y = load_colon(return_X_y=True)
    adata = load_colon()
    np.testing.assert_array_equal(adata.X, X)
    assert list(adata.obs["tissue"]) == list(y)
    assert adata.obs_names.is_unique
    assert adata.var_names.is_unique
    assert adata.uns["distkern"]["label"] == "tissue"
    assert "Alon" in adata.uns["distkern"]["citation"]


def test_medulloblastoma_is_the_cohort_of_pomeroy():
    X, y = load_medulloblastoma(return_X_y=True)
    assert X.shape == (60, 7129)
    assert X.dtype == np.float64
    assert (X.min(), X.max()) == (-55360, 207050)
    assert (X == np.round(X)).all()
    assert X[0, :3].tolist() == [-60, -109, 45]
    assert {word: int((y == word).sum()) for word in set(y)} == {"Class0": 39, "Class1": 21}
    assert y[:21].tolist() == ["Class1"] * 21


def test_medulloblastoma_as_anndata_equals_the_arrays():
    X, y = load_medulloblastoma(return_X_y=True)
    adata = load_medulloblastoma()
    np.testing.assert_array_equal(adata.X, X)
    assert list(adata.obs["outcome"]) == list(y)
    assert adata.obs_names.is_unique
    assert adata.var_names.is_unique
    assert adata.var_names[0] == "AFFX-BioB-5_at"
    assert adata.uns["distkern"]["label"] == "outcome"
    assert "Pomeroy" in adata.uns["distkern"]["citation"]


def test_breast_tumours_are_those_of_two_hospitals():
    """Numbers of tumours, probes, genes and missing values as the sources state them, and values of known genes."""
    nki, vdx = load_breast("nki", features="probes"), load_breast("vdx", features="probes")
    assert (nki.shape, int(np.isnan(nki.X).sum())) == ((150, 922), 361)
    assert (vdx.shape, int(np.isnan(vdx.X).sum())) == ((150, 966), 0)
    assert nki["NKI_123", ["NM_000125", "AB020689"]].X.tolist() == [[0.195, -0.114]]
    assert vdx[["VDX_93", "VDX_258"], "200600_at"].X.ravel().tolist() == [10.5145, 10.8004]
    assert nki.var["symbol"]["NM_000125"] == "ESR1"
    assert nki.obs["er"].value_counts().to_dict() == {"positive": 112, "negative": 38}
    assert vdx.obs["er"].value_counts().to_dict() == {"positive": 85, "negative": 65}
    assert int(nki.obs["e.dmfs"].sum()) == 53
    assert nki.obs.loc["NKI_327", ["t.dmfs", "grade", "age"]].tolist() == [1688, 2, 49]
    assert "e.os" not in vdx.obs


def test_genes_are_the_most_variable_probes():
    probes, genes = load_breast("vdx", features="probes"), load_breast("vdx")
    assert genes.var_names.is_unique
    assert set(genes.var["entrez"]) == set(probes.var["entrez"]) - {""}
    assert genes.n_vars == 657
    nameless = next(gene for gene in genes.var_names if not genes.var["symbol"][gene])
    assert nameless == f"LOC{genes.var['entrez'][nameless]}"
    for gene in ("ESR1", nameless, genes.var_names[17]):
        same = probes[:, probes.var["entrez"] == genes.var["entrez"][gene]]
        assert same.X.std(axis=0).max() == genes[:, gene].X.std()
    X, y = load_breast("vdx", return_X_y=True)
    np.testing.assert_array_equal(X, genes.X)
    assert y.tolist() == genes.obs["er"].tolist()
    assert len(genes.var_names.intersection(load_breast("nki").var_names)) == 254


def test_cells_equal_the_reduced_copy():
    X, y = load_pbmc(return_X_y=True)
    assert X.shape == (700, 50)
    assert np.isfinite(X).all()
    assert X[0, :2] == pytest.approx([-7.939618, 5.024914], abs=1e-6)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-4)  # they are principal components
    assert (np.diff(X.var(axis=0)) < 0.01).all()
    counts = dict(zip(*np.unique(y, return_counts=True), strict=True))
    assert (len(counts), counts["Dendritic"], counts["CD19+ B"], counts["CD34+"]) == (10, 240, 95, 13)
    adata = load_pbmc()
    np.testing.assert_array_equal(adata.X, X)
    assert list(adata.obs["cell_type"]) == list(y)
    assert adata.obs_names[0] == "AAAGCCTGGCTAAC-1"


def test_cells_and_profiles_of_two_platforms_share_genes_and_types():
    """Numbers of cells and values as the sources state them."""
    cells, reference = load_celltypes("cells"), load_celltypes("reference")
    assert (cells.shape, cells.X.nnz, cells.X.max(), reference.shape) == ((2638, 7060), 1_578_881, 419, (38, 7060))
    assert (cells.X.data == np.round(cells.X.data)).all()
    assert (cells.X.sum(axis=1).A1 <= cells.obs["total_counts"]).all()
    counted = cells["AAACGCACTGGTAC", "B2M"]
    assert np.log1p(counted.X[0, 0] * 1e4 / counted.obs["total_counts"].iloc[0]) == pytest.approx(5.5779276)
    assert cells.obs["cluster"].value_counts().to_dict() == {
        **{"Naive CD4 T": 697, "Memory CD4 T": 483, "CD14+ Mono": 480, "B": 344, "CD8 T": 271},
        **{"FCGR3A+ Mono": 162, "NK": 155, "DC": 32, "Platelet": 14},
    }
    assert list(cells.var_names) == list(reference.var_names)
    assert reference[["Monocyte", "Naïve B-cells"], "CD3D"].X.ravel().tolist() == [6.1497, 5.7115]
    types = reference.obs["cell_type"]
    assert set(cells.obs["cell_type"]) < set(types)
    assert types.value_counts().to_dict() == {
        **{"Progenitor": 8, "B": 6, "Erythroid": 5, "CD8 T": 4, "CD4 T": 3, "NK": 3, "DC": 2, "Neutrophil": 2},
        **dict.fromkeys(("Basophils", "Eosinophill", "Megakaryocyte", "Monocyte", "NKT"), 1),
    }
    X, y = load_celltypes("cells", return_X_y=True)
    assert (X != cells.X).nnz == 0
    assert y.tolist() == cells.obs["cell_type"].tolist()


def test_digits_are_the_first_thousand_of_mnist():
    images, digits = load_mnist()
    assert (images.shape, images.dtype, images.min(), images.max()) == ((1000, 28, 28), np.uint8, 0, 255)
    assert np.bincount(digits).tolist() == [97, 116, 99, 93, 105, 92, 94, 117, 87, 100]
    assert digits[:5].tolist() == [5, 0, 4, 1, 9]
    assert images[0].sum() == 27525  # a known five
    assert (images[:, 0] == 0).all()


def test_plain_arrays_need_neither_anndata_nor_pandas():
    script = (
        "import sys; from distkern.datasets import load_colon, load_apa, load_medulloblastoma;"
        "load_colon(return_X_y=True); load_medulloblastoma(return_X_y=True); load_apa();"
        "print({'anndata', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_apa_full_ballots_have_diaconis_marginals():
    votes = load_apa()
    assert (len(votes), votes.n_items, int(votes.counts.sum())) == (120, 5, 5738)
    assert set(votes.kind) == {"total"}
    assert {tuple(row) for row in votes.values} == set(itertools.permutations(range(1, 6)))
    first_place = votes.counts @ (votes.values == votes.values.max(axis=1, keepdims=True))
    assert (100 * first_place / 5738).round().tolist() == [18, 14, 28, 20, 20]


def test_apa_with_partial_ballots_has_all_ballots():
    votes = load_apa(partial=True)
    assert (len(votes), int(votes.counts.sum()), set(votes.kind)) == (205, 15449, {"top"})
    named = (~np.isnan(votes.values)).sum(axis=1)
    assert {int(k): int(votes.counts[named == k].sum()) for k in set(named)} == {1: 5141, 2: 2462, 3: 2108, 5: 5738}
    assert (np.nanmax(votes.values, axis=1) == 5).all()
    assert len(votes.distinct()[0]) == 205


@pytest.mark.parametrize(
    "name",
    [
        "breast_nki.npz",
        "breast_vdx.npz",
        "celltypes_cells.npz",
        "celltypes_reference.npz",
        "colon_alon.npz",
        "medulloblastoma_pomeroy.npz",
        "apa_ballots.csv",
        "mnist_train_first1000.npz",
        "pbmc68k_zheng.npz",
    ],
)
def test_files_match_the_checksums_of_the_provenance(name):
    folder = files("distkern.datasets").joinpath("data")
    digest = hashlib.sha256(folder.joinpath(name).read_bytes()).hexdigest()
    assert digest in folder.joinpath("PROVENANCE.md").read_text(encoding="utf-8")
