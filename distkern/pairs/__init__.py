"""The other axis: features as columns, and work on pairs of them."""
