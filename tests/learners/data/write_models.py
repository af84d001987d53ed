"""Write one model file of each kind, and what the models answer: ``python write_models.py FOLDER``.

``format-1/`` was written by distkern 0.1. Later versions must load these files and give the same answers. Write a new
folder only for a new file format.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline

import distkern as dk

rng = np.random.default_rng(0)
SAMPLES = rng.normal(size=(16, 5))
NEW = rng.normal(size=(6, 5))
LABELS = np.array(["no", "yes", "maybe"])[np.arange(16) % 3]
TARGETS = SAMPLES[:, 0] + 0.1 * np.arange(16)
KERNEL = dk.Gaussian(2.0)


def models():
    """Fitted models by name; each takes the samples themselves."""
    gram = dk.ArrayGram(KERNEL(SAMPLES))
    predictor = make_pipeline(dk.KernelStandardizer(), dk.KernelSVC()).fit(gram, LABELS)
    columns = dk.learners.predictor.PreparedColumns(KERNEL, KERNEL.prepare(SAMPLES), n_features=5)
    return {
        "KernelFisherDiscriminant": dk.KernelFisherDiscriminant(kernel=KERNEL).fit(SAMPLES, LABELS),
        "KernelKMeans": dk.KernelKMeans(2, kernel=KERNEL, random_state=0).fit(SAMPLES),
        "KernelPCA": dk.KernelPCA(2, kernel=KERNEL).fit(SAMPLES),
        "KernelRidge": dk.KernelRidge(0.1, kernel=KERNEL).fit(SAMPLES, TARGETS),
        "KernelSVC": dk.KernelSVC(kernel=dk.Kendall("b"), probability=True).fit(SAMPLES, LABELS),
        "KernelSVR": dk.KernelSVR(kernel=KERNEL).fit(SAMPLES, TARGETS),
        "KernelStandardizer": dk.KernelStandardizer(kernel=KERNEL).fit(SAMPLES),
        "LSRRanker": dk.LSRRanker(0.1, kernel=KERNEL).fit(SAMPLES, TARGETS),
        "MLSRRanker": dk.MLSRRanker([KERNEL, dk.Linear()], lam=0.1).fit(SAMPLES, TARGETS),
        "MLSRRankerCV": dk.MLSRRankerCV([KERNEL, dk.Linear()], lams=[0.01, 0.1]).fit(SAMPLES, TARGETS),
        "MallowsMixture": dk.MallowsMixture(2, n_init=2, random_state=0).fit(SAMPLES),
        "RankSVM": dk.RankSVM(kernel=KERNEL).fit(SAMPLES, TARGETS),
        "SGDRanker": dk.SGDRanker(0.1, kernel=KERNEL, random_state=0).fit(SAMPLES, TARGETS),
        "pipeline": make_pipeline(dk.KernelStandardizer(kernel=KERNEL), dk.KernelSVC()).fit(SAMPLES, LABELS),
        "predictor": dk.CohortPredictor(predictor, columns),
    }


def answers(model):
    """All that a model says of the new samples, by the name of the method."""
    found = {}
    for name in ("predict", "decision_function", "predict_proba", "transform", "score_samples"):
        try:
            found[name] = np.asarray(getattr(model, name)(NEW))
        except AttributeError:  # a method that this estimator does not have
            continue
    return found


if __name__ == "__main__":
    import distkern.learners.predictor

    folder = Path(sys.argv[1])
    expected = {}
    for name, model in models().items():
        dk.save_model(model, folder / f"{name}.npz")
        expected |= {f"{name}.{method}": values for method, values in answers(model).items()}
    np.savez_compressed(folder / "answers.npz", **expected)
