"""Algorithms on a Gram matrix, wherever it lies: they see blocks and products of it, and never a file."""
