"""Data frames on their way to the program, as Parquet, and other Python values as its flags."""

from __future__ import annotations

import csv
import io
import os
import pathlib
from collections.abc import Iterable
from typing import Any


def to_file(table: Any, folder: pathlib.Path, name: str = "table.parquet") -> str:
    """Returns the path of a table that the program can read.

    A path stays as it is. A frame of pandas, of Polars, a pyarrow Table, or anything that
    ``pandas.DataFrame`` takes is written to the folder: numbers, booleans, text and missing values
    stay what they are, categories become text, and dates and times ISO 8601 text.
    """
    if isinstance(table, (str, os.PathLike)):
        return os.fspath(table)
    import pyarrow.parquet

    path = folder / name
    pyarrow.parquet.write_table(_plain(_arrow(table)), path)
    return str(path)


def _arrow(table: Any):
    import pandas
    import pyarrow

    if isinstance(table, pyarrow.Table):
        return table
    if hasattr(table, "__arrow_c_stream__") and not isinstance(table, pandas.DataFrame):  # Polars, DuckDB and others
        return pyarrow.table(table)
    frame = table if isinstance(table, pandas.DataFrame) else pandas.DataFrame(table)
    if not all(isinstance(column, str) for column in frame.columns):
        unnamed = [column for column in frame.columns if not isinstance(column, str)]
        raise TypeError(f"the names of columns must be text; got {unnamed[0]!r} ({type(unnamed[0]).__name__})")
    return pyarrow.Table.from_pandas(frame, preserve_index=False)


def _plain(table):
    """Only numbers, booleans and text."""
    import pyarrow
    import pyarrow.compute
    from pyarrow import types

    columns = []
    for name, column in zip(table.column_names, table.columns):
        kind = column.type
        if types.is_dictionary(kind):
            column = _labels(column)
            kind = column.type
        if types.is_temporal(kind):
            column = pyarrow.compute.strftime(column, format="%Y-%m-%d" if types.is_date(kind) else "%Y-%m-%dT%H:%M:%S")
        elif types.is_decimal(kind) or types.is_float16(kind):
            column = column.cast(pyarrow.float64())
        elif types.is_large_string(kind) or types.is_string_view(kind):
            column = column.cast(pyarrow.string())
        elif types.is_null(kind):
            column = column.cast(pyarrow.float64())
        elif types.is_nested(kind) or types.is_binary(kind):
            raise TypeError(f"column {name!r}: got {kind}, want numbers, booleans, text, categories or dates")
        columns.append(column)
    return pyarrow.table(columns, names=table.column_names)


def _labels(column):
    """Categories as their labels."""
    import pyarrow

    chunks = []
    for chunk in column.chunks:
        labels = chunk.dictionary
        if pyarrow.types.is_large_string(labels.type) or pyarrow.types.is_string_view(labels.type):
            labels = labels.cast(pyarrow.string())
        chunks.append(pyarrow.DictionaryArray.from_arrays(chunk.indices, labels).dictionary_decode())
    return pyarrow.chunked_array(chunks, None if chunks else pyarrow.string())


def flag(name: str, kind: str, value: Any, folder: pathlib.Path) -> list[str]:
    """Returns a flag with its value, as words of a command line; none where it is not given.

    Lists become values separated by commas, or, where the flag can be repeated, several flags.
    Where a file is wanted, a frame is written to one, and so are lists of lists, a line each.
    """
    if value is None or value is False:
        return []
    if value is True:
        return [f"--{name}"]
    if kind == "file" and not isinstance(value, (str, os.PathLike)):
        return [f"--{name}={_written(value, folder / name)}"]
    if isinstance(value, (str, os.PathLike)) or not isinstance(value, Iterable):
        return [f"--{name}={_text(value, kind)}"]
    if isinstance(value, dict):
        value = [f"{key}={_joined(_listed(members))}" for key, members in value.items()]
    if kind == "stringArray":
        return [f"--{name}={item}" for item in value]
    return [f"--{name}={_joined(value)}"]


def _text(value: Any, kind: str) -> str:
    if kind == "stringSlice":  # a name with a comma is one name
        return _joined([value]) if "," not in str(value) else str(value)
    if kind == "duration" and isinstance(value, (int, float)):
        return f"{value}s"
    return str(value)


def _listed(value: Any) -> list:
    return [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)


def _joined(values: Iterable) -> str:
    """Values separated by commas, quoted as in CSV where they have commas or quotation marks."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()


def _written(value: Any, path: pathlib.Path) -> str:
    if hasattr(value, "to_csv"):
        value.to_csv(path)
    elif hasattr(value, "write_csv"):  # Polars
        value.write_csv(path)
    else:
        path.write_text("".join(_joined(_listed(line)) + "\n" for line in value), encoding="utf-8")
    return str(path)
