"""Writes the Parquet files of this folder but arrow-go.parquet: the same six rows by three writers.

pip install pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.1
"""
from datetime import date
from decimal import Decimal
import os

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq

here = os.path.dirname(os.path.abspath(__file__))
t = pa.table({
    "x": pa.array([1, 2.5, None] * 2, pa.float64()),
    "n": pa.array([7, -8, 9] * 2, pa.int32()),
    "b": pa.array([True, False, True] * 2, pa.bool_()),
    "g": pa.array(["u", None, "t"] * 2, pa.string()).dictionary_encode(),
    "d": pa.array([date(1970, 1, 2)] * 6, pa.date32()),
    "m": pa.array([Decimal("0.100"), Decimal("-12345678901234567.891"), None] * 2, pa.decimal128(20, 3)),
    "h": pa.array([1.5, -2, 0] * 2, pa.float32()),
})
delta = {"n": "DELTA_BINARY_PACKED", "x": "BYTE_STREAM_SPLIT", "h": "PLAIN", "b": "RLE", "g": "DELTA_BYTE_ARRAY", "d": "PLAIN", "m": "PLAIN"}
pq.write_table(t, here + "/pyarrow.parquet", row_group_size=4)
pq.write_table(t.cast(pa.schema([f if f.name != "g" else pa.field("g", pa.string()) for f in t.schema])), here + "/pyarrow-v2.parquet",
               version="2.6", data_page_version="2.0", compression="zstd", use_dictionary=False, column_encoding=delta)
polars.from_arrow(t).write_parquet(here + "/polars.parquet")
duckdb.sql(f"copy (select * from t) to '{here}/duckdb.parquet' (format parquet, compression gzip, parquet_version v2)")
