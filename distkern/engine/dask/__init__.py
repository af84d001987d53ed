"""The only place that imports dask or distributed."""
