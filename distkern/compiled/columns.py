"""Columns of a matrix that is read by blocks of rows: the non-zeros of each column, in the order of the rows."""

from __future__ import annotations

from distkern.core.jit import compiled


@compiled
def add_sparse_rows(  # type: ignore[no-untyped-def]
    data, indices, indptr, first_row, start, stop, places, values, rows
):
    """Write the non-zeros in columns ``start`` to ``stop`` of sorted CSR rows to their places.

    Parameters
    ----------
    data, indices, indptr
        The rows; the entries of a row ascend by column.
    first_row
        Number of the first row.
    places
        Position of the next non-zero of each column, (stop − start,); moved on.
    values, rows
        Value and row of each non-zero, column by column; filled.
    """
    for row in range(len(indptr) - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            column = indices[entry]
            if column >= stop:
                break
            if column >= start:
                place = places[column - start]
                values[place], rows[place] = data[entry], first_row + row
                places[column - start] += 1


@compiled
def add_dense_rows(block, first_row, start, places, values, rows):  # type: ignore[no-untyped-def]
    """Write the non-zeros of dense rows, of the columns from ``start`` on, to their places; see `add_sparse_rows`."""
    for row in range(block.shape[0]):
        for column in range(len(places)):
            value = block[row, start + column]
            if value != 0:
                place = places[column]
                values[place], rows[place] = value, first_row + row
                places[column] += 1
