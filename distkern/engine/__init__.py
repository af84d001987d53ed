"""Who runs it: idempotent tasks, executors, memory. Knows nothing of kernels."""
