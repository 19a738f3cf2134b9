#!/usr/bin/env python3
"""Counts wrong directions that splines take from noise, by the verdict of the model check.

Tables are a → b → c of 100 to 400 rows. The noise has the spread that splines assume (right), grows with
the parent of lines (spread) or of curves (curved), or has Student tails with 3 degrees of freedom (tails).

    benchmarks/graphs_noise.py VTI

Needs numpy.
"""

import collections
import json
import subprocess
import sys
import tempfile

import numpy as np


def curve(x, random):
    """A function drawn from a Gaussian process of length scale 1, at x."""
    covariance = np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2) + 1e-8 * np.eye(len(x))
    return 1.5 * np.linalg.cholesky(covariance) @ random.standard_normal(len(x))


def table(kind, random):
    n = int(random.choice([100, 200, 400]))
    a = random.standard_normal(n)
    if kind == "tails":
        a = random.standard_t(3, n)
        b = a + 0.7 * random.standard_t(3, n)
        return a, b, b + 0.7 * random.standard_t(3, n)
    if kind == "spread":
        b = a + 0.5 * np.exp(0.6 * a) * random.standard_normal(n)
        return a, b, 0.8 * b + 0.5 * np.exp(0.4 * b / b.std()) * random.standard_normal(n)
    grows = 0.5 if kind == "curved" else 0
    b = curve(a, random) + 0.5 * np.exp(grows * a) * random.standard_normal(n)
    return a, b, curve(b, random) + 0.5 * np.exp(grows * b / b.std()) * random.standard_normal(n)


def wrong(edges):
    """Whether an edge that is not there, or is turned, has a probability above 0.9."""
    true = {("a", "b"), ("b", "c")}
    for e in edges:
        for edge, probability in (((e["from"], e["to"]), e["prob"]), ((e["to"], e["from"]), e["prob_reverse"])):
            if probability > 0.9 and edge not in true:
                return True
    return False


counts = collections.Counter()
for kind in ("right", "spread", "curved", "tails"):
    for seed in range(14):
        with tempfile.TemporaryDirectory() as folder:
            columns = np.column_stack(table(kind, np.random.default_rng(900 + seed)))
            np.savetxt(folder + "/t.csv", columns, delimiter=",", header="a,b,c", comments="", fmt="%.5f")
            command = [sys.argv[1], "dag", folder + "/t.csv", "--sem", "spline", "--seed", "1", "-q", "--no-report", "--json", "-o", folder + "/run"]
            answer = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
        counts[kind, answer["model_check"]["verdict"], "wrong" if wrong(answer["edges"]) else "right"] += 1
for key in sorted(counts):
    print(*key, counts[key])
