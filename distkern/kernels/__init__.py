"""What is computed: one file a family of kernels, their algebra, and the registry of their names."""
