"""``distkern predict`` on the files of a new cohort: a right call or a clear refusal."""

from __future__ import annotations

import json

import anndata
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import distkern as dk
from distkern.cli.main import main
from distkern.datasets import load_breast

NKI = load_breast("nki")
GENES = list(NKI.to_df().dropna(axis=1).columns[:60])
TRAINING, Y = NKI.to_df()[GENES].iloc[:100], NKI.obs["er"].to_numpy().astype(str)[:100]
NEW = NKI.to_df()[GENES].iloc[100:]
PATIENT = NEW.index[1]

MODELS = {
    "kernel": lambda: dk.train_classifier(TRAINING, Y, repeats=1, C=[1.0]).predictor,
    "rules": lambda: dk.KTopScoringPairs(9).fit(TRAINING, Y),
    "nearest": lambda: dk.NearestProfile(dk.Kendall(), margin=0.0).fit(TRAINING, Y),
}


@pytest.fixture(scope="module")
def predict(tmp_path_factory):
    """Run the command with a model on a table, which is written first."""
    folder = tmp_path_factory.mktemp("predict")
    for name, make in MODELS.items():
        dk.save_model(make(), folder / f"{name}.model")

    def run(model, table, *words, suffix=".csv", samples="rows"):
        file = folder / f"new{suffix}"
        if suffix == ".h5ad":
            anndata.AnnData(table).write_h5ad(file)
        else:
            table.rename_axis("id").to_csv(file)
            words = ("--samples", samples, *words)
        return CliRunner().invoke(main, ["predict", str(folder / f"{model}.model"), str(file), *words])

    run.load = lambda model: dk.load_model(folder / f"{model}.model")
    return run


def calls(result):
    assert result.exit_code == 0, result.output
    return pd.DataFrame(json.loads(result.stdout)["calls"])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("suffix", [".csv", ".h5ad"])
def test_shuffled_genes_others_and_one_patient(predict, model, suffix):
    expected = predict.load(model).predict(NEW).tolist()
    shuffled = NEW.iloc[:, np.random.default_rng(0).permutation(60)].assign(another=5.0)
    assert calls(predict(model, shuffled, "--json", suffix=suffix))["call"].tolist() == expected
    alone = calls(predict(model, shuffled.iloc[[1]], "--json", suffix=suffix))
    assert alone[["sample", "call"]].to_numpy().tolist() == [[PATIENT, expected[1]]]
    if suffix == ".csv":
        across = predict(model, shuffled.T, "--json", samples="columns")
        assert calls(across)["call"].tolist() == expected


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7])
@pytest.mark.parametrize(("model", "missing"), [("kernel", "interleaving"), ("rules", "abstain"), ("nearest", "drop")])
def test_missing_genes(predict, model, missing, share):
    kept = np.sort(np.random.default_rng(1).permutation(60)[: round(60 * (1 - share))])
    fewer = NEW.iloc[:, kept]
    refused = predict(model, fewer)
    assert refused.exit_code == 3
    assert f"--missing {missing}" in refused.output or (model, missing) == ("rules", "abstain")
    called = calls(predict(model, fewer, "--json", "--missing", missing))
    assert (called["missing_features"] == 60 - len(kept)).all() or model == "rules"
    if model == "rules" and share > 0.1:  # fewer than half of the pairs are left
        assert called["call"].isna().all()
    else:
        assert set(called["call"]) == {"negative", "positive"}
    other = next(one for one in ("interleaving", "abstain", "drop") if one != missing)
    assert f"--missing {other} is for" in predict(model, fewer, "--missing", other).output


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("table", "said"),
    [
        (NEW.add_prefix("ENSG"), "has none of the"),
        (NEW.set_axis([*GENES[:-1], GENES[0]], axis=1), f"are called '{GENES[0]}'"),
        (NEW.T, "is transposed: its samples are called"),
        (NEW.mask(NEW == NEW.loc[PATIENT]), f"'{PATIENT}' has no value (NaN)"),
        (NEW.astype(str).replace(str(NEW.iloc[0, 0]), "high"), "has the text 'high'"),
    ],
    ids=["other names", "repeated", "transposed", "NaN", "text"],
)
def test_what_cannot_be_called_is_refused(predict, model, table, said):
    result = predict(model, table)
    if model == "rules" and said.endswith("(NaN)"):
        assert result.exit_code == 3 or "undecided" in result.output
        return
    assert result.exit_code == 3, result.output
    assert said in result.output


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("model", ["kernel", "rules"])
def test_a_patient_whose_values_are_all_equal_is_unsure(predict, model):
    table = NEW.copy()
    table.loc[PATIENT] = 3.0
    result = predict(model, table, "--json")
    assert "1 sample ties" in result.stderr
    assert f"says nothing of the sample: '{PATIENT}'" in result.stderr
    found = calls(result).set_index("sample")["unsure"]
    assert bool(found[PATIENT])
    others = calls(predict(model, NEW, "--json")).set_index("sample")["unsure"]
    assert others.drop(PATIENT).equals(found.drop(PATIENT))
    assert not others[PATIENT]


def test_profiles_leave_that_patient_unassigned(predict):
    table = NEW.copy()
    table.loc[PATIENT] = 3.0
    assert calls(predict("nearest", table, "--json")).set_index("sample")["call"][PATIENT] == "unassigned"


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("suffix", [".csv", ".h5ad"])
def test_symbols_that_a_spreadsheet_converted_are_named(predict, suffix):
    result = predict("kernel", NEW.rename(columns={GENES[3]: "2-Sep"}), suffix=suffix)
    assert result.exit_code == 3
    assert f"lacks 1 of the 60 features that are needed: '{GENES[3]}'" in result.output
    assert "a spreadsheet converted symbols, such as '2-Sep'" in result.output
    assert "1 of 60 features of" in result.output
    assert "('2-Sep') look like gene symbols" in result.output
