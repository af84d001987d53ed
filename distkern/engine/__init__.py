"""Executors, and what running tasks on them needs: memory, progress, versions. Knows nothing of kernels."""
