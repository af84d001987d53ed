"""Tables and figures of papers, computed again: published numbers beside ours."""

from __future__ import annotations

from distkern.reproduce.kendall_accuracy import citation, published, published_average
from distkern.reproduce.tables import Table

__all__ = ["TABLES", "citation", "published", "published_average"]

TABLES = {
    table.name: table
    for table in (
        Table(
            "kendall-accuracy",
            "distkern.reproduce.authors_table:accuracies",
            "Jiao & Vert (2015), table 2",
            "accuracy of two classifiers with four kernels on cancer cohorts",
        ),
        Table(
            "kendall-sensitivity",
            "distkern.reproduce.cancer_cohorts:sensitivities",
            "Jiao & Vert (2015), figure 2, middle",
            "accuracy of the support vector machine against C",
        ),
        Table(
            "kendall-wilcoxon",
            "distkern.reproduce.kendall_wilcoxon:rows",
            "Jiao & Vert (2015), section 6",
            "Wilcoxon's test of the support vector machine with Kendall's kernel against every other method",
        ),
        Table(
            "pair-accuracy",
            "distkern.reproduce.pair_accuracy:accuracies",
            "Jiao & Vert (2015), table 2",
            "accuracy of classifiers made of top scoring pairs on cancer cohorts",
        ),
        Table(
            "pair-curve",
            "distkern.reproduce.pair_accuracy:curves",
            "Jiao & Vert (2015), figure 2, right",
            "accuracy against the number of top scoring pairs",
        ),
        Table(
            "smoothing",
            "distkern.reproduce.smoothing:rows",
            "Jiao & Vert (2015), figure 3",
            "accuracy of the smoothed Kendall kernel against the width of the noise",
        ),
        Table(
            "apa-clusters",
            "distkern.reproduce.apa_clusters:rows",
            "Suquan slides (2017), clustering of the ballots of the APA",
            "silhouettes of kernel k-means, of k-means in the rankings and of Mallows mixtures",
        ),
        Table(
            "suquan-simulation",
            "distkern.reproduce.suquan_simulation:rows",
            "Suquan slides (2017), simulations",
            "accuracy and recovered target where the distribution of the values has been corrupted",
        ),
        Table(
            "suquan-breast",
            "distkern.reproduce.suquan_breast:rows",
            "Suquan slides (2017), breast cancer prognosis; other cohorts stand in for those of the slides",
            "AUC of a linear model with fixed and with learned targets",
        ),
        Table(
            "mlsrrank",
            "distkern.reproduce.mlsrrank:rows",
            "Zhou et al. (2016), tables I and II",
            "ranking compounds by their activity, one kernel and several",
        ),
        Table(
            "mlsrrank-curve",
            "distkern.reproduce.mlsrrank:curve_rows",
            "Zhou et al. (2016), figure 1",
            "ranking compounds with more and more training compounds",
        ),
        Table(
            "jester",
            "distkern.reproduce.mlsrrank_jester:rows",
            "Zhou et al. (2016), table III",
            "differences between one reader's ratings of jokes",
        ),
        Table(
            "point-sets",
            "distkern.reproduce.point_sets:rows",
            "Kondor & Jebara (2003), figures 6 and 7",
            "accuracy on shapes and digits as sets of points and as images, against C",
        ),
        Table(
            "k-igv",
            "distkern.reproduce.semigroup:rows",
            "Cuturi, Fukumizu & Vert (2005), table 1",
            "errors of support vector machines on digits as sets of pixels",
        ),
        Table(
            "k-igv-surface",
            "distkern.reproduce.semigroup:surface_rows",
            "Cuturi, Fukumizu & Vert (2005), figure 6",
            "error of k-IGV against σ and η",
        ),
        Table(
            "k-igv-curve",
            "distkern.reproduce.semigroup:curve_rows",
            "Cuturi, Fukumizu & Vert (2005), figure 7",
            "error of k-IGV and of a Gaussian kernel against the number of pixels",
        ),
        Table(
            "transfer",
            "distkern.reproduce.transfer:rows",
            "van de Vijver et al. (2002) and Wang et al. (2005)",
            "oestrogen receptor status called in one hospital by a model of the other, one tumour at a time",
        ),
        Table(
            "kernels-compared",
            "distkern.reproduce.kernels_compared:rows",
            "Jiao & Vert (2018), section 6, on the cohorts that ship",
            "kernels of orders beside kernels of values and top-scoring pairs, within cohorts and across platforms",
        ),
        Table(
            "kernel-settings",
            "distkern.reproduce.kernel_settings:rows",
            "Jiao & Vert (2018), section 6, on the cohorts that ship",
            "λ of Mallows' kernel, window and noise of the smoothed Kendall kernel, and treatment of ties",
        ),
        Table(
            "planted-groups",
            "distkern.reproduce.planted_groups:rows",
            "Jiao & Vert (2018), section 6.3, on drawn ballots",
            "groups of voters found again from partial ballots: kernel k-means beside mixtures",
        ),
        Table(
            "hidden-items",
            "distkern.reproduce.hidden_items:rows",
            "Jiao & Vert (2018), section 6.3, and Goldberg et al. (2001), on ballots with gaps",
            "groups of real voters found again where ballots lose items: kernel k-means beside mixtures",
        ),
        Table(
            "cell-types",
            "distkern.reproduce.cell_types:rows",
            "Novershtern et al. (2011) and 10x Genomics (2016)",
            "types of blood cells called from microarray profiles: Kendall's beside Spearman's nearest profile",
        ),
        Table(
            "survival-transfer",
            "distkern.reproduce.survival_transfer:rows",
            "van de Vijver et al. (2002) and Wang et al. (2005)",
            "risk of relapse in one hospital by a model of the other, one tumour at a time",
        ),
    )
}
"""The tables that `distkern reproduce` computes, by name."""
