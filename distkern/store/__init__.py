"""Where a Gram matrix lies: its location, its manifest, its arrays, tiles and samples, and the log of its runs."""
