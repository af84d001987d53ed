"""The figure of docs/when-it-helps.md: ``python docs/comparison.py`` writes docs/figures/kernels-compared.svg."""

from pathlib import Path

import matplotlib as mpl
import pandas as pd

mpl.use("agg")
from matplotlib import pyplot as plt

from distkern.plot import plot_estimates

FIGURES = Path(__file__).parent / "figures"

mpl.rcParams.update({"svg.hashsalt": "distkern", "svg.fonttype": "none", "font.size": 9})
table = pd.read_csv(FIGURES / "kernels-compared.csv", comment="#").dropna(subset="gain")
table[["gain", "gain_low", "gain_high"]] *= 100
asked = table.drop_duplicates("question")
asked = pd.concat([asked[asked["setting"] == setting] for setting in ("within", "across", "changed")])
questions, methods = list(asked["question"]), list(table["method"].unique())
ends = asked["setting"].value_counts(sort=False).cumsum().iloc[:-1]
figure, axes = plt.subplots(1, len(methods), figsize=(14, 5.6), layout="constrained", sharey=True)
for ax, method in zip(axes, methods, strict=True):
    own = table[table["method"] == method].set_index("question").reindex(questions)
    plot_estimates(questions, own["gain"], intervals=own[["gain_low", "gain_high"]], reference=0, ax=ax)
    ax.set_title(method.replace(" of ", "\nof "), fontsize=9.5)
    ax.set_xlim(-50, 50)
    for end in ends:
        ax.axhline(end - 0.5, color="0.8", linewidth=0.8)
figure.supxlabel("balanced accuracy gained over the linear kernel on z-scores, in points", fontsize=9.5)
out = FIGURES / "kernels-compared.svg"
figure.savefig(out, metadata={"Date": None})
print(f"written to {out}")
