"""Reads finished runs of vti with ArviZ, and checks that its summaries are those of vti.

    vti export runs/varsel-20260131-120000
    python docs/interop/arviz_check.py runs/varsel-20260131-120000

The same draws come in three ways: the Zarr store of vti export, draws.csv as CmdStan output, and
draws.parquet through from_dict. Their means and standard deviations must agree to 1e-6 of a
standard deviation, and so must those of result.json where vti takes them from the same draws
(rjmcmc). Leave-one-out must be that of vti check, if it was run.
"""

import json
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")

import arviz as az
import matplotlib
import numpy as np
import pandas as pd
import xarray as xr

matplotlib.use("Agg")
TOLERANCE = 1e-6


def flat(data):
    """The draws of every number of a group of draws, in the order of chains."""
    draws = {}
    for name, variable in data.data_vars.items():
        rest = [d for d in variable.dims if d not in ("chain", "draw")]
        if not rest:
            draws[name] = variable.values.ravel()
            continue
        for k, label in enumerate(variable[rest[0]].values):
            draws[f"{name}[{label}]"] = variable.values[..., k].ravel()
    return draws


def worst(ours, theirs):
    """The largest difference of means and standard deviations, in standard deviations."""
    largest = 0.0
    for name, values in ours.items():
        spread = max(np.std(values), 1e-12)
        other = theirs[name]
        largest = max(largest, abs(np.mean(values) - np.mean(other)) / spread, abs(np.std(values) - np.std(other)) / spread)
    return largest


def check(run):
    frame = pd.read_parquet(run / "draws.parquet")
    names = [c for c in frame.columns if not c.endswith("__") and c != "model"]
    ours = {name: frame[name].to_numpy() for name in names}

    tree = xr.open_datatree(run / "arviz.zarr", engine="zarr")
    data = az.from_datatree(tree) if hasattr(az, "from_datatree") else tree
    exported = flat(data["posterior"])
    # sd(x | g) of draws is sd[x | g] of the store
    exported = {name if name in ours else name.replace("[", "(", 1)[:-1] + ")": v for name, v in exported.items()}
    if sum(len(v) for v in exported.values()) == sum(len(v) for v in ours.values()):
        found = {"zarr": worst(ours, exported)}
    else:  # chains of unequal length are cut
        found = {"zarr": float("nan")}
    copied = az.from_dict({"posterior": {n: v[None, :] for n, v in ours.items()}} if not hasattr(az, "from_cmdstan") else {n: v[None, :] for n, v in ours.items()})
    found["from_dict"] = worst(ours, flat(copied["posterior"] if not hasattr(copied, "posterior") else copied.posterior))
    if (run / "draws.csv").exists() and hasattr(az, "from_cmdstan"):
        cmdstan = flat(az.from_cmdstan(str(run / "draws.csv")).posterior)
        plain = {n: n.replace(",", ";").replace(".", "_").replace('"', "'").replace("#", " ") for n in names}
        found["from_cmdstan"] = worst(ours, {n: cmdstan[p] for n, p in plain.items()})

    result = json.loads((run / "result.json").read_text())
    if result["command"] == "rjmcmc varsel":
        stated = result["coefficients"]
        largest = 0.0
        for row in stated:
            draws = ours.get(f"beta[{row['name']}]", ours.get(row["name"]))
            if row["sd"]:
                largest = max(largest, abs(draws.mean() - row["mean"]) / row["sd"], abs(draws.std() - row["sd"]) / row["sd"])
        found["result.json"] = largest
    if (run / "check.json").exists() and "log_likelihood" in data.groups() if callable(getattr(data, "groups", None)) else False:
        stated = json.loads((run / "check.json").read_text())["loo"]
        loo = az.loo(data, reff=1.0, pointwise=True)
        found["loo"] = abs(float(loo.elpd_loo) - stated["elpd"])
        found["khat"] = max(abs(a - b["khat"]) for a, b in zip(loo.pareto_k.values, stated["rows"]) if b["khat"] is not None)
    az.plot_forest(data, var_names=["beta"] if "beta" in data["posterior"] else None)
    az.summary(data)
    print(f"{run}: " + ", ".join(f"{k} {v:.1e}" for k, v in found.items()))
    return all(not v > TOLERANCE for v in found.values())


if __name__ == "__main__":
    runs = [pathlib.Path(p) for p in sys.argv[1:]]
    if not runs:
        sys.exit(__doc__)
    sys.exit(0 if all([check(run) for run in runs]) else "summaries differ by more than 1e-6")
