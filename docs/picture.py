"""The picture of the first page: ``python docs/picture.py`` writes docs/static/picture.png."""

from pathlib import Path

import matplotlib.pyplot as plt

import distkern as dk
from distkern import plot

colon = dk.datasets.load_colon()
nki, vdx = dk.datasets.load_breast("nki"), dk.datasets.load_breast("vdx")
common = nki.to_df().dropna(axis=1).columns.intersection(vdx.to_df().dropna(axis=1).columns)
trained = dk.train_classifier(nki.to_df()[common], nki.obs["er"], repeats=2)
calls = {
    "NKI, held out": trained.evaluation.held_out,
    "VDX, another platform": dk.predict_external(trained.predictor, vdx.to_df(), vdx.obs["er"]),
}
votes = dk.datasets.load_apa()

fig, axes = plt.subplots(1, 3, figsize=(14, 4.4), layout="constrained")
gram = dk.ArrayGram(dk.Kendall(ties="b")(colon)).centered().unit_norm()
plot.plot_gram(gram, colon.obs["tissue"].astype(str), ax=axes[0])
axes[0].set_title("Similarity of 62 colon tissues", fontsize=11, pad=18)
plot.plot_roc(calls, ax=axes[1])
axes[1].set_title("Receptor status, trained on another platform", fontsize=11, pad=18)
model = dk.KernelKMeans(2, kernel=dk.Kendall(), random_state=0).fit(votes, sample_weight=votes.counts)
group = votes[model.labels_ == 0]
plot.plot_preferences(group, order=dk.consensus_ranking(group, method="kemeny").order, ax=axes[2])
axes[2].set_title("Preferences of one of two groups of voters", fontsize=11, pad=18)
out = Path(__file__).parent / "static" / "picture.png"
fig.savefig(out, dpi=90)
print(f"written to {out}")
