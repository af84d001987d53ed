"""A Gram matrix as an operator, wherever it lies: blocks, products with vectors, and lazy views."""
