"""Gram matrices as linear operators: blocks, products with vectors, and lazy views, for stored matrices and arrays."""
