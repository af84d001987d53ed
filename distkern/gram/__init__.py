"""Where it lies: the matrix as tiles on disk, from the plan to the lazy handle."""
