"""Reads the draws of finished runs of vti with Polars, and compares its means with DuckDB's.

    python docs/interop/polars_check.py runs/varsel-20260131-120000
"""

import pathlib
import sys

import duckdb
import polars as pl


def check(run):
    path = run / "draws.parquet"
    draws = pl.scan_parquet(path)
    numbers = [c for c in draws.collect_schema().names() if not c.endswith("__") and c != "model"]
    means = draws.select(pl.col(numbers).mean()).collect().row(0)
    columns = ", ".join('avg("' + c.replace('"', '""') + '")' for c in numbers)
    theirs = duckdb.sql(f"select {columns} from '{path}'").fetchall()[0]
    assert all(abs(a - b) <= 1e-9 * max(1, abs(a)) for a, b in zip(means, theirs))
    best = duckdb.sql(f"select model, count(*) / sum(count(*)) over () as share from '{path}' group by model order by share desc limit 3")
    print(f"{run}\n{best}")


if __name__ == "__main__":
    for path in sys.argv[1:] or sys.exit(__doc__):
        check(pathlib.Path(path))
