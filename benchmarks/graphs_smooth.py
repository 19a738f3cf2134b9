#!/usr/bin/env python3
"""Writes tables whose mechanisms are draws of Gaussian processes, with their graphs.

    benchmarks/graphs_smooth.py FOLDER NODES ROWS SEED...

The order of the nodes is random, and a node has two parents on average. Its mechanism is a draw of
the Gaussian process over all of its parents with kernel exp(-|x - x'|^2 / 2), plus noise with a
standard deviation of 0.5. Needs numpy.
"""
import sys

import numpy


def simulate(random, nodes, rows):
    order = random.permutation(nodes)
    edges = numpy.zeros((nodes, nodes), dtype=int)
    values = numpy.zeros((rows, nodes))
    for place, node in enumerate(order):
        before = order[:place]
        edges[before, node] = random.random(place) < 4 / (nodes - 1)
        parents = numpy.flatnonzero(edges[:, node])
        signal = random.standard_normal(rows)
        if len(parents) > 0:
            x = values[:, parents]
            squares = ((x[:, None] - x[None]) ** 2).sum(axis=2)
            kernel = numpy.exp(-squares / 2) + 1e-8 * numpy.eye(rows)
            signal = numpy.linalg.cholesky(kernel) @ signal
        values[:, node] = signal + 0.5 * random.standard_normal(rows)
    return values, edges


def main():
    folder, nodes, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    header = ",".join(f"x{k + 1}" for k in range(nodes))
    for seed in map(int, sys.argv[4:]):
        values, edges = simulate(numpy.random.default_rng(seed), nodes, rows)
        name = f"{folder}/smooth-{nodes}-{seed}"
        numpy.savetxt(name + ".csv", values, "%.6g", ",", header=header, comments="")
        numpy.savetxt(name + "-truth.csv", edges, "%d", ",", header=header, comments="")


main()
