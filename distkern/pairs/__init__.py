"""The other axis: work on all pairs of features."""
