# Reads the graphs of a finished run of vti dag with R's bnlearn and igraph, where they are installed.
#
#   Rscript docs/interop/graphs_check.R runs/dag-20260131-120000
run <- commandArgs(trailingOnly = TRUE)[1]
if (requireNamespace("bnlearn", quietly = TRUE)) {
  text <- readLines(file.path(run, "graph.bnlearn"), encoding = "UTF-8")
  graph <- bnlearn::model2network(text)
  print(graph)
  bif <- file.path(run, "graph.bif")
  if (file.exists(bif)) {
    network <- bnlearn::read.bif(bif)
    # the same graph, with names in which marks became underscores
    stopifnot(nrow(bnlearn::arcs(network)) == nrow(bnlearn::arcs(graph)))
    plain <- function(names) gsub("[^[:alnum:]_]", "_", names)
    key <- function(arcs) sort(paste(plain(arcs[, 1]), plain(arcs[, 2])))
    stopifnot(identical(key(bnlearn::arcs(network)), key(bnlearn::arcs(graph))))
    for (node in network) {
      sums <- if (length(node$parents)) apply(node$prob, seq_along(node$parents) + 1, sum) else sum(node$prob)
      stopifnot(all(abs(sums - 1) < 1e-12))
    }
  }
}
if (requireNamespace("igraph", quietly = TRUE)) {
  graph <- igraph::read_graph(file.path(run, "graph.graphml"), "graphml")
  stopifnot(igraph::is_directed(graph), all(igraph::E(graph)$probability > 0))
  print(graph)
}
