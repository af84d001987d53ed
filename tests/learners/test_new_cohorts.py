"""What happens with a new cohort: a right call or a clear refusal, for every way to a model and to kernel values."""

import itertools
import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline

import distkern as dk
from distkern.core.feature_names import warn_of_spreadsheets
from distkern.datasets import load_breast
from distkern.learners.predictor import PreparedColumns

NKI = load_breast("nki")
GENES = list(NKI.to_df().dropna(axis=1).columns[:60])
VALUES, STATUS = NKI.to_df()[GENES], NKI.obs["er"].to_numpy().astype(str)
TRAINING, Y = VALUES.iloc[:100], STATUS[:100]
NEW, TRUTH = VALUES.iloc[100:], STATUS[100:]
SHUFFLED = np.random.default_rng(0).permutation(60)

MODELS = {
    "store": lambda gram: dk.CohortPredictor(dk.KernelSVC().fit(gram, Y), gram),
    "store, standardized": lambda gram: dk.CohortPredictor(standardized().fit(gram, Y), gram),
    "prepared": lambda gram: dk.CohortPredictor(
        dk.KernelSVC().fit(gram, Y), PreparedColumns(dk.Kendall(), gram.prepared_columns(), features=GENES)
    ),
    "trained": lambda gram: dk.train_classifier(TRAINING, Y, repeats=1, C=[1.0]).predictor,
    "samples": lambda gram: dk.KernelSVC(kernel=dk.Kendall()).fit(TRAINING, Y),
    "samples, standardized": lambda gram: standardized(kernel=dk.Kendall()).fit(TRAINING, Y),
    "tau-b": lambda gram: dk.KernelSVC(kernel=dk.Kendall(ties="b")).fit(TRAINING, Y),
    "Spearman": lambda gram: dk.KernelSVC(kernel=dk.Spearman()).fit(TRAINING, Y),
    "discriminant": lambda gram: dk.KernelFisherDiscriminant(kernel=dk.Kendall()).fit(TRAINING, Y),
    "logistic": lambda gram: dk.KernelLogistic(kernel=dk.Kendall()).fit(TRAINING, Y),
    "pairs": lambda gram: dk.KTopScoringPairs(9).fit(TRAINING, Y),
    "votes": lambda gram: dk.AllPairsMajorityVote().fit(TRAINING, Y),
    "weighted votes": lambda gram: dk.AllPairsMajorityVote(weighted=True).fit(TRAINING, Y),
    "SUQUAN": lambda gram: dk.SUQUANClassifier("fixed", "normal").fit(TRAINING, Y),
    "nearest": lambda gram: dk.NearestProfile().fit(TRAINING, Y),
}
FILES = ("store, standardized", "samples", "pairs", "SUQUAN", "nearest")
PREDICTORS = ("store", "store, standardized", "prepared", "trained", "store, standardized from a file")
ALL = [*MODELS, *(f"{name} from a file" for name in FILES)]


def standardized(**kernel):
    return make_pipeline(dk.KernelStandardizer(**kernel), dk.KernelSVC())


@pytest.fixture(scope="module")
def gram(tmp_path_factory):
    return dk.compute_gram(dk.Kendall(), TRAINING, store=tmp_path_factory.mktemp("k") / "k.zarr", progress=False)


@pytest.fixture(scope="module")
def make(gram, tmp_path_factory):
    """Models by name, each made once."""
    folder, known = tmp_path_factory.mktemp("models"), {}

    def model(name):
        if name not in known:
            base = name.removesuffix(" from a file")
            known[name] = (
                MODELS[name](gram) if base == name else dk.load_model(dk.save_model(model(base), folder / base))
            )
        return known[name]

    return model


def without(share):
    """The new tumours without a share of the genes."""
    kept = np.random.default_rng(1).permutation(60)[: round(60 * (1 - share))]
    return NEW.iloc[:, np.sort(kept)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_shuffled_and_surplus_genes_and_one_patient_alone_have_the_same_calls(make, name):
    model = make(name)
    calls = model.predict(NEW)
    assert balanced_accuracy_score(TRUTH, calls) > 0.8
    np.testing.assert_array_equal(model.predict(NEW.iloc[:, SHUFFLED].assign(another=7.0)), calls)
    alone = [model.predict(NEW.iloc[[row], SHUFFLED])[0] for row in range(5)]
    assert alone == calls[:5].tolist()


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("name", PREDICTORS)
def test_missing_genes_are_averaged_over_if_asked_for(make, name, share):
    predictor = make(name)
    lacking = sorted(set(GENES) - set(without(share).columns))
    with pytest.raises(
        dk.InputError, match=rf"lacks {round(60 * share)} of the 60 .*missing='interleaving'.*or tr"
    ) as one:
        predictor.predict(without(share))
    assert sorted(one.value.fields["features"]) == lacking
    predictor.missing = "interleaving"
    try:
        calls = predictor.predict(without(share).iloc[:, ::-1])
        assert balanced_accuracy_score(TRUTH, calls) > (0.7 if share == 0.7 else 0.8)  # 18 genes are left
        gaps = NEW.assign(**dict.fromkeys(lacking, np.nan))
        np.testing.assert_array_equal(predictor.predict(gaps), predictor.predict(without(share)))
        with pytest.raises(dk.SampleError, match=f"sample '{NEW.index[1]}' orders no two of the 60 features"):
            predictor.predict(constant())
    finally:
        predictor.missing = "error"


REMEDIES = {
    "pairs": r"of 9 pairs compare \(.*\): add them, or give absent='abstain'",
    "votes": r"lacks 18 features, which all pairs compare \(.*\): add them",
    "weighted votes": r"lacks 18 features, which all pairs compare",
    "SUQUAN": "lacks 18 of the 60 .* ranks among fewer features are others; give all",
    "nearest": "lacks 18 of the 60 .* or compare the common ones with missing='drop'",
}
"""What models without kernel values of whole samples say; the others offer to average."""


@pytest.mark.parametrize("name", ALL)
def test_missing_genes_are_counted_and_named(make, name):
    said = REMEDIES.get(name.removesuffix(" from a file"), "lacks 18 of the 60 .*'interleaving' .* train on the common")
    with pytest.raises(dk.InputError, match=said):
        make(name).predict(without(0.3))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("frame", [np.asarray, anndata.AnnData], ids=["DataFrame", "AnnData"])
def test_other_names_repeated_names_and_transposed_tables_are_refused(make, name, frame):
    wrap = (lambda table: table) if frame is np.asarray else frame
    model = make(name)
    ensembl = NEW.set_axis([f"ENSG{number:011d}" for number in range(60)], axis=1)
    with pytest.raises(
        dk.InputError, match=r"has none of the .* it has 'ENSG00000000000', .*Check that both use the sa"
    ):
        model.predict(wrap(ensembl))
    repeated = NEW.set_axis([*GENES[:-1], GENES[0]], axis=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Variable names are not unique")
        repeated = wrap(repeated)
    with pytest.raises(dk.InputError, match=f"two features of .* are called '{GENES[0]}'"):
        model.predict(repeated)
    with pytest.raises(
        dk.InputError, match=rf"is transposed: its samples are called '{GENES[0]}', .*Read it with rows"
    ):
        model.predict(wrap(NEW.T))


@pytest.mark.parametrize("name", ALL)
def test_transposed_arrays_single_dimensions_and_texts_are_refused(make, name):
    model = make(name)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*does not have valid feature names")
        with pytest.raises(dk.InputError, match=r"has 50 features"):
            model.predict(NEW.to_numpy().T)
        with pytest.raises(dk.InputError, match=r"Expected 2D array|must have two"):
            model.predict(NEW.to_numpy()[0])
    with pytest.raises(dk.InputError, match="a Series is one sample or one feature"):
        model.predict(NEW.iloc[0])
    with pytest.raises(dk.InputError, match="not real numbers"):
        model.predict(NEW.astype(str))
    with pytest.raises(dk.InputError, match="the cohort has no samples"):
        model.predict(NEW.iloc[:0])


@pytest.mark.parametrize("name", ALL)
def test_arrays_are_taken_by_position_with_a_warning(make, name):
    model = make(name)
    if model.n_features_in_ < 60:  # a file of rules keeps their genes alone
        with (
            pytest.warns(UserWarning, match="does not have valid feature names"),
            pytest.raises(dk.InputError, match="X has 60 features, but KTopScoringPairs is expecting"),
        ):
            model.predict(NEW.to_numpy())
        return
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(model.predict(NEW.to_numpy()), model.predict(NEW))


@pytest.mark.parametrize("name", ALL)
def test_missing_values_are_refused_by_name(make, name):
    model = make(name)
    column = model.pair_names_[0][0] if hasattr(model, "pair_names_") else GENES[7]
    gaps = NEW.copy()
    gaps.loc[NEW.index[3], column] = np.nan
    with pytest.raises(dk.SampleError, match=rf"'{NEW.index[3]}' has no value \(NaN\) for feature '{column}'"):
        model.predict(gaps)


def constant():
    """The new tumours; all values of the second are equal."""
    table = NEW.copy()
    table.iloc[1] = 3.0
    return table


@pytest.mark.parametrize("name", ALL)
def test_a_sample_whose_values_are_all_equal_is_refused_or_reported(make, name):
    model, base = make(name), name.removesuffix(" from a file")
    if base in ("tau-b", "Spearman", "nearest"):
        with pytest.raises(dk.SampleError, match=f"sample '{NEW.index[1]}' is constant, so it orders no pair"):
            model.predict(constant())
        return
    with pytest.warns(
        UserWarning, match=f"1 sample ties all features, so that .* says nothing of the sample: '{NEW.index[1]}'"
    ):
        calls = model.predict(constant())
    assert np.delete(calls, 1).tolist() == np.delete(model.predict(NEW), 1).tolist()
    with pytest.warns(UserWarning, match="3 samples tie "):
        model.predict(pd.concat([constant().iloc[[1]]] * 3, keys="abc").droplevel(1))


# Kernel values ------------------------------------------------------------------------------------------------------


COUNT = itertools.count()


@pytest.fixture(scope="module")
def ways(gram, tmp_path_factory):
    """Ways to the kernel values between new tumours and the training samples."""
    folder = tmp_path_factory.mktemp("ways")

    def stored(X, Y=TRAINING, **options):
        path = folder / f"{next(COUNT)}.zarr"
        return dk.compute_gram(dk.Kendall(), X, Y, store=path, progress=False, **options)

    def appended(X):
        grown = dk.append_gram(stored(TRAINING, None), X, progress=False)
        return grown.to_numpy()[len(TRAINING) :, : len(TRAINING)]

    return {
        "compute_gram": lambda X: stored(X).to_numpy(),
        "append_gram": appended,
        "cross": lambda X: gram.cross(X).to_numpy(),
        "kernel": lambda X: dk.Kendall()(X, TRAINING),
        "interleaving": lambda X: stored(X, missing="interleaving").to_numpy(),
    }


@pytest.mark.parametrize("way", ["compute_gram", "append_gram", "cross", "kernel"])
def test_kernel_values_are_those_of_the_same_genes_or_refused(ways, way):
    values, few = ways[way], NEW.iloc[:6]
    expected = dk.Kendall()(few.to_numpy(), TRAINING.to_numpy())
    np.testing.assert_array_equal(values(few.iloc[:, SHUFFLED].assign(another=7.0)), expected)
    np.testing.assert_array_equal(values(few.iloc[[2]]), expected[[2]])
    for share in (0.1, 0.3, 0.7):
        with pytest.raises(dk.InputError, match=f"lacks {round(60 * share)} of the 60 features"):
            values(without(share))
    for wrong, said in {
        "has none of the 60 features": few.add_prefix("ENSG"),
        "two features of .* are called": pd.concat([few, few.iloc[:, :1]], axis=1),
        "two features of .* are called ": few.set_axis([*GENES[:-1], GENES[0]], axis=1),
        "is transposed": few.T,
        r"no value \(NaN\)": few.mask(few == few.iloc[2, 2]),
    }.items():
        with pytest.raises(dk.InputError, match=wrong):
            values(said)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(values(few.to_numpy()), expected)
    zero = values(few.assign(**dict.fromkeys(GENES, 1.0)).iloc[[0]].set_axis(["equal"]))
    assert (zero == 0).all()  # documented: Kendall(ties="zero")


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7])
def test_averaged_kernel_values_are_those_of_gaps(ways, share):
    table = without(share).iloc[:6]
    gaps = NEW.iloc[:6].assign(**dict.fromkeys(set(GENES) - set(table.columns), np.nan))
    np.testing.assert_allclose(ways["interleaving"](table), ways["interleaving"](gaps), atol=1e-12)
    with pytest.raises(dk.InputError, match="has none of the 60"):
        ways["interleaving"](table.add_prefix("ENSG"))


# Names that a spreadsheet changed -----------------------------------------------------------------------------------


CONVERTED = [
    *("1-Mar", "2-Sep", "02-Sep", "Mar-01", "Sep-2", "1-Dec", "2-Sept", "2-Sep-20", "02-Sep-2020"),
    *("2020-09-02", "2001-03-01 00:00:00", "02. Sep", "01. Mrz", "1.Dez", "1-mrt", "X2.Sep", "2.31E+19", "2,31E+19"),
]
KEPT = ["SEPT2", "SEPTIN2", "MARCH1", "MARCHF1", "DEC1", "OCT4", "7157", "NM_000125", "1007_s_at", "mars-2", "set-1"]


@pytest.mark.parametrize("name", CONVERTED)
def test_converted_symbols_are_reported_by_name(name):
    with pytest.warns(UserWarning, match="look like gene symbols that a spreadsheet converted") as caught:
        warn_of_spreadsheets([*GENES, name], "the cohort")
    assert f"({name!r})" in str(caught[0].message)


@pytest.mark.parametrize("name", KEPT)
def test_other_names_are_not(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_spreadsheets([*GENES, name], "the cohort")


def test_two_genes_that_became_one_date_are_not_collapsed(tmp_path):
    file = tmp_path / "cohort.csv"
    file.write_text("id,TP53,1-Mar,MYC,1-Mar\np1,1,2,3,4\n")
    with pytest.raises(
        dk.InputError, match=r"'1-Mar', number 2 and 4: make .* unique, as a spreadsheet .*: restore them"
    ):
        dk.read_expression(file, samples="rows")


@pytest.mark.parametrize("container", [lambda frame: frame, anndata.AnnData], ids=["DataFrame", "AnnData"])
@pytest.mark.parametrize("converted", ["training", "new"])
def test_converted_symbols_are_named_where_the_feature_is_missing(container, converted):
    spoilt = VALUES.rename(columns={GENES[0]: "2-Sep"})
    training, new = (spoilt if converted == which else VALUES for which in ("training", "new"))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*look like gene symbols")
        model = dk.KernelSVC(kernel=dk.Kendall()).fit(container(training.iloc[:100]), Y)
    which = "symbols that are needed" if converted == "training" else "symbols"
    said = f"lacks 1 of the 60 .*; a spreadsheet converted {which}, such as '2-Sep'"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(dk.InputError, match=said):
            model.predict(container(new.iloc[100:]))
    assert any("look like gene symbols" in str(one.message) for one in caught) == (converted == "new")


def test_origin_of_a_linear_kernel_is_a_sample_like_any_other():
    X, y = np.array([[-1.0, 0.0], [-2.0, 1.0], [1.0, 0.0], [2.0, 1.0]]), ["low", "low", "high", "high"]
    model = dk.KernelSVC(kernel=dk.Linear()).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(np.zeros((1, 2)))
        dk.CohortPredictor(
            dk.KernelSVC().fit(dk.Linear()(X), y), PreparedColumns(dk.Linear(), dk.Linear().prepare(X))
        ).predict(np.zeros((1, 2)))
