"""A stored matrix in use: handles, products, and other passes over its tiles."""
