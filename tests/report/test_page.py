import subprocess
import sys

import numpy as np
import pytest
from pages import Page, assert_self_contained

import distkern as dk
from distkern.core.errors import InputError, InputTypeError
from distkern.report import write_report
from distkern.reproduce import citation, published


def cohort(classes=("a", "b"), each=6, n=20, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.array(classes), each)
    X = rng.normal(size=(len(labels), n))
    for k, name in enumerate(classes):
        X[labels == name, k] += 3
    return X, labels


@pytest.fixture
def stored(tmp_path):
    X, labels = cohort()
    gram = dk.compute_gram(dk.Kendall(ties="b"), X, store=tmp_path / "few.zarr", executor="serial", progress=False)
    return gram, labels


def made(tmp_path, **given):
    path = write_report(tmp_path / "out" / "report.html", **given)
    text = path.read_text(encoding="utf-8")
    return Page(text), text


def evaluated(gram, labels, **given):
    return dk.cross_validate_gram(
        None, gram, labels, **({"outer": 2, "inner": 2, "repeats": 3, "C": [0.1, 1.0]} | given)
    )


def test_the_result_is_compared_with_the_published_score(tmp_path, stored):
    gram, labels = stored
    evaluation = evaluated(gram, labels)
    reference = published("CT", "SVMkdtALL")
    page, _ = made(
        tmp_path,
        gram=gram,
        labels=labels,
        evaluation=evaluation,
        reference=reference,
        reference_label=citation("SVMkdtALL"),
    )
    mean, spread = 100 * evaluation.mean(), 100 * evaluation.std()
    assert (
        f"Mean accuracy {mean:.1f} % ± {spread:.1f} over 3 repeats of 2-fold cross-validation on 12 samples (a or b), "
        "with the Kendall kernel (tau-b); SVMkdtALL in table 2 of Jiao & Vert (2015): 85.78 % ."
    ) in page.text
    direction = "above" if mean > 85.78 else "below"
    assert f"ours is {abs(round(mean, 1) - 85.78):.1f} points {direction}" in page.text
    assert "50.0 % always answering “a”" in page.text


def test_the_page_states_kernel_samples_store_and_protocol(tmp_path, stored):
    gram, labels = stored
    evaluation = evaluated(gram, labels)
    page, text = made(tmp_path, gram=gram, labels=labels, evaluation=evaluation)
    info = gram.info()
    for text_on_page in (
        "k(x, y) = (n c − n d ) / √(t x t y )",
        "Jiao & Vert",
        "NumPy array 12 × 20",
        info["fingerprint"]["rows"],
        "a 6 50.0 %",
        f"{info['tiles']} of {info['tiles']} tiles",
        "Peak resident memory of the largest process",
        "few.zarr",
        f"{dk.__version__}",
        "gram = dk.compute_gram(dk.Kendall(ties='b'), X, store='few.zarr')",
        "evaluation = dk.cross_validate_gram(None, gram, y, C=[0.1, 1.0], outer=2, inner=2, repeats=3, seed=0)",
    ):
        assert text_on_page in page.text, text_on_page
    assert "<sub>c</sub>" in text
    assert str(tmp_path) not in text
    for metric in ("accuracy", "balanced_accuracy"):
        folds = 100 * getattr(evaluation, metric)
        assert f"{100 * evaluation.mean(metric):.1f} {100 * evaluation.std(metric):.1f}" in page.text
        assert f"{folds.min():.1f} {folds.max():.1f}" in page.text
    assert f"Area under the ROC curve {evaluation.mean('auc'):.3f}" in page.text


def test_the_page_is_self_contained_and_accessible(tmp_path, stored):
    gram, labels = stored
    page, text = made(tmp_path, gram=gram, labels=labels, evaluation=evaluated(gram, labels))
    assert_self_contained(page, text)
    assert len(page.all("svg")) == 9
    assert len(page.all("table")) >= 4
    assert len(text) < 1_500_000


def test_names_are_escaped(tmp_path):
    nasty = '<b onclick="x">$x$</b> & id="y"'
    X, labels = cohort(classes=(nasty, "</svg><script>alert(1)</script>"))
    evaluation = evaluated(dk.Kendall()(X), labels)
    page, text = made(
        tmp_path,
        gram=dk.ArrayGram(dk.Kendall()(X)),
        labels=labels,
        evaluation=evaluation,
        reference=50.0,
        reference_label="<i>they</i>",
        title="<u>T</u>",
        loading="y = '<s>'",
    )
    assert not [tag for tag, _ in page.tags if tag in ("b", "script", "i", "u", "s")]
    assert nasty in page.text
    assert "<i>they</i>" in page.text
    assert "<u>T</u>" in page.text
    assert "&lt;b onclick=" in text


def test_a_page_without_evaluation_and_labels(tmp_path, stored):
    page, _ = made(tmp_path, gram=stored[0])
    assert "The Gram matrix of 12 × 12 values of the Kendall kernel (tau-b)." in page.text
    assert "Mean accuracy" not in page.text
    assert len(page.all("svg")) == 2
    assert "cross_validate_gram" not in page.text


def test_a_page_of_an_array(tmp_path):
    page, _ = made(tmp_path, gram=np.eye(2), labels=["a", "b"])
    assert "Gram matrix on 2 samples" in page.text
    assert "gram = dk.ArrayGram(K)" in page.text
    assert len(page.all("svg")) == 1  # two samples have no second component


@pytest.mark.slow
def test_a_page_of_many_classes(tmp_path):
    X, labels = cohort(classes=tuple(f"class {k:02d}" for k in range(9)), each=4)
    gram = dk.ArrayGram(dk.Linear()(X))
    page, text = made(tmp_path, gram=gram, labels=labels, evaluation=evaluated(gram, labels))
    assert "class 08 4 11.1 %" in page.text
    assert "class 08 (4)" in text


@pytest.mark.slow
def test_the_code_on_the_page_gives_the_same_result(tmp_path, stored):
    gram, labels = stored
    evaluation = evaluated(gram, labels, C=None)
    np.savez(tmp_path / "few.npz", y=labels)
    np.save(tmp_path / "few.npy", cohort()[0])
    loading = "import numpy as np\nX, y = 'few.npy', np.load('few.npz')['y']"
    page, _ = made(tmp_path, gram=gram, labels=labels, evaluation=evaluation, loading=loading)
    assert len(page.all("svg")) == 6  # no C was chosen, and there are no probabilities
    code = (
        "".join(page.words)
        .split("How to reproduce it")[1]
        .split("Software versions")[0]
        .replace("few.zarr", "new.zarr")
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(evaluation.mean()), str(evaluation.std())]


def test_an_existing_file_is_kept_unless_overwrite_is_set(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"exists.*overwrite=True"):
        write_report(path, gram=np.eye(3))
    assert path.read_text(encoding="utf-8") == "mine"
    assert write_report(path, gram=np.eye(3), overwrite=True) == path
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    with pytest.raises(InputError, match="is a folder"):
        write_report(tmp_path, gram=np.eye(3), overwrite=True)
    with pytest.raises(InputError, match="cannot write"):
        write_report(path / "inner.html", gram=np.eye(3))
    assert [left.name for left in tmp_path.iterdir()] == ["report.html"]


def test_arguments_of_different_samples_are_refused(tmp_path, stored):
    gram, labels = stored
    evaluation = evaluated(gram, labels)
    path = tmp_path / "report.html"
    with pytest.raises(InputError, match=r"\(11,\) for 12 samples"):
        write_report(path, gram=gram, labels=labels[:-1])
    with pytest.raises(InputError, match="evaluation is of 12 samples and the matrix of 3"):
        write_report(path, gram=np.eye(3), evaluation=evaluation)
    with pytest.raises(InputError, match="classes a, b and labels has a, c"):
        write_report(path, gram=gram, labels=np.where(labels == "b", "c", "a"), evaluation=evaluation)
    with pytest.raises(InputError, match="no evaluation to compare"):
        write_report(path, gram=gram, reference=85.78)
    with pytest.raises(InputError, match="between 0 and 100"):
        write_report(path, gram=gram, evaluation=evaluation, reference=-1)
    with pytest.raises(InputTypeError, match="not dict"):
        write_report(path, gram=gram, evaluation=evaluation.to_dict())
    with pytest.raises(InputError, match="different samples"):
        write_report(path, gram=gram[:, :4])
    assert not path.exists()


@pytest.mark.parametrize("module", ["jinja2", "matplotlib"])
def test_a_missing_extra_is_named_before_arguments_are_read(module, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(dk.MissingExtraError, match=r"pip install 'distkern\[report\]'"):
        write_report(tmp_path / "report.html", gram="nothing")


def test_the_matplotlib_settings_of_the_user_are_not_changed(tmp_path):
    import matplotlib as mpl

    with mpl.rc_context({"text.color": "#ff0000", "font.size": 30.0}):
        _, text = made(tmp_path, gram=np.eye(3))
        assert mpl.rcParams["text.color"] == "#ff0000"
        assert "#ff0000" not in text
