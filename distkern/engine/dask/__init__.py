"""The Dask executor, and starting and joining Dask clusters; only this folder imports dask and distributed."""
