"""Reads the draws and tables of finished runs of vti with pandas.

    python docs/interop/pandas_check.py runs/varsel-20260131-120000
"""

import pathlib
import sys

import pandas as pd


def check(run):
    draws = pd.read_parquet(run / "draws.parquet")
    indicators = [c for c in draws.columns if c.startswith("gamma[")]
    print(f"{run}: {len(draws)} draws of {draws['model'].nunique()} models")
    print(draws["model"].value_counts(normalize=True).head(3).to_string())
    if (run / "inclusion.csv").exists() and indicators:
        stated = pd.read_csv(run / "inclusion.csv").set_index("name")["certified"]
        drawn = draws[indicators].mean().rename(lambda c: c[len("gamma[") : -1])
        # draws resample the answer: 5 binomial standard errors
        allowed = 5 * (stated * (1 - stated) / len(draws)) ** 0.5 + 5e-3
        assert ((drawn - stated).abs() <= allowed).all(), (drawn - stated).abs().max()


if __name__ == "__main__":
    for path in sys.argv[1:] or sys.exit(__doc__):
        check(pathlib.Path(path))
