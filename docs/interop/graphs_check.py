"""Reads the graphs of finished runs of `vti dag` with networkx, pydot and pgmpy.

    python docs/interop/graphs_check.py runs/dag-20260131-120000

With DAGITTY, a file dagitty-alg.js (of the R package, inst/js), also with dagitty's own parser in
Node.js:

    DAGITTY=dagitty-alg.js python docs/interop/graphs_check.py runs/dag-20260131-120000
"""

import json
import os
import pathlib
import subprocess
import sys

import networkx
import pydot
from pgmpy.base import DAG
from pgmpy.readwrite import BIFReader


PARSER = """
const fs = require("fs"), vm = require("vm"), [parser, file] = process.argv.slice(1);
const context = vm.createContext({ text: fs.readFileSync(file, "utf8") });
vm.runInContext(fs.readFileSync(parser, "utf8"), context);
const graph = vm.runInContext("(this.DAGitty || this).GraphParser.parseGuess(text)", context);
console.log(JSON.stringify({
  type: graph.getType(),
  names: graph.getVertices().map((v) => v.id),
  edges: graph.getEdges().map((e) => [e.v1.id, e.v2.id]),
}));
"""


def shape(names, edges):
    """The parents of each node by place: names change where a format has no room for them."""
    place = {name: k for k, name in enumerate(names)}
    return sorted((place[a], place[b]) for a, b in edges)


def check(run):
    result = json.loads((run / "result.json").read_text())
    names = result["data"]["nodes"]
    best = shape(names, result["graphs"][0]["edges"])
    drawn = {}
    for pair in result["edges"]:
        for way in ((pair["from"], pair["to"], pair["prob"]), (pair["to"], pair["from"], pair["prob_reverse"])):
            drawn[way[:2]] = way[2]

    graph = networkx.read_graphml(run / "graph.graphml")
    assert graph.is_directed()
    labels = dict(graph.nodes(data="label"))
    assert list(labels.values()) == names
    for a, b, probability in graph.edges(data="probability"):
        assert abs(probability - drawn[labels[a], labels[b]]) <= 1e-5 * probability
    (dot,) = pydot.graph_from_dot_file(run / "graph.dot")
    assert len(dot.get_nodes()) == len(names)
    assert len(dot.get_edges()) == graph.number_of_edges()

    dag = DAG.from_dagitty(filename=str(run / "graph.dagitty"))
    lines = [line.strip('"') for line in (run / "graph.dagitty").read_text().splitlines()[1 : len(names) + 1]]
    assert shape(lines, dag.edges()) == best
    if parser := os.environ.get("DAGITTY"):
        command = ["node", "-e", PARSER, parser, str(run / "graph.dagitty")]
        read = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        assert read["type"] == "dag"
        assert read["names"] == lines
        assert shape(lines, read["edges"]) == best
    if (run / "graph.bif").exists():
        model = BIFReader(str(run / "graph.bif")).get_model()
        assert model.check_model()
        order = [line.split()[1] for line in (run / "graph.bif").read_text().splitlines() if line.startswith("variable ")]
        assert shape(order, model.edges()) == best
    print(f"{run}: {len(names)} nodes, {len(best)} edges of the most probable graph")


if __name__ == "__main__":
    for path in sys.argv[1:] or sys.exit(__doc__):
        check(pathlib.Path(path))
