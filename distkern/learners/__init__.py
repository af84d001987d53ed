"""Thin scikit-learn estimators that take a Gram matrix, an ndarray, or raw data with a kernel."""
