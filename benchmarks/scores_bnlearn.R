# Scores of random families on random tables by R's bnlearn, and BiDAG where it is installed, for
# the test that compares those of vti dag with them:
#
#   Rscript benchmarks/scores_bnlearn.R FOLDER FIRST LAST
#   go test -v -run TestScoresAgainstBnlearn ./dag -args -bnlearn FOLDER
#
# makes for every seed from FIRST to LAST a table of numbers and one of categories of 2 to 7 columns,
# half of them with interventions (column INT, which names the node that was set, or is empty), and
# writes FOLDER/scores.csv, a line for each node of three random graphs.
#
# Parameters of the priors, which differ between programs by default, are those of vti:
#   BGe   iss.mu 1, iss.w N + 2 (bnlearn's own), prior mean nu zero (bnlearn's own: the means of the
#         columns, of which the prior then knows); in BiDAG bgepar am 1, aw N + 2, edgepf 1.
#         bnlearn has no BGe with interventions: the score of a node is that of the rows that count.
#   BDeu  iss as the table says; interventions by "mbde"; in BiDAG chi, edgepf 1, without
#         interventions.
suppressMessages(library(bnlearn))
has_bidag <- requireNamespace("BiDAG", quietly = TRUE)
arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
dir.create(folder, showWarnings = FALSE, recursive = TRUE)

random_graph <- function(names) {
  n <- length(names)
  order <- sample(n)
  adjacency <- matrix(0, n, n, dimnames = list(names, names))
  density <- runif(1)
  for (a in seq_len(n - 1)) for (b in (a + 1):n) adjacency[order[a], order[b]] <- runif(1) < density
  adjacency
}

# Which row sets which node: a quarter of the rows, where there are interventions.
random_targets <- function(names, rows, some) {
  if (!some) return(rep("", rows))
  few <- sample(names, min(2, length(names)))
  targets <- sample(c("", few), rows, replace = TRUE, prob = c(3, rep(1, length(few))))
  for (name in names) if (sum(targets != name) < 3) targets[] <- ""
  targets
}

numbers <- function(names, rows, targets) {
  n <- length(names)
  x <- matrix(rnorm(rows * n), rows, n, dimnames = list(NULL, names))
  weights <- matrix(rnorm(n * n) * (runif(n * n) < 0.6), n, n)
  for (j in seq_len(n)) {
    for (i in seq_len(j - 1)) x[, j] <- x[, j] + weights[i, j] * x[, i]
    x[targets == names[j], j] <- rnorm(1, sd = 3)
  }
  scales <- 10^runif(n, -2, 2)
  as.data.frame(sweep(sweep(x, 2, rnorm(n, sd = 2), "+"), 2, scales, "*"))
}

categories <- function(names, rows, targets) {
  n <- length(names)
  levels <- sample(2:5, n, replace = TRUE)
  x <- data.frame(row.names = seq_len(rows))
  for (j in seq_len(n)) {
    # whole numbers, which depend on those before
    value <- sample(levels[j], rows, replace = TRUE)
    if (j > 1) {
      of <- sample(j - 1, 1)
      same <- runif(rows) < runif(1)
      value[same] <- (as.integer(x[[of]])[same] - 1) %% levels[j] + 1
    }
    value[targets == names[j]] <- 1
    value[1:2] <- 1:2 # no column is constant
    x[[names[j]]] <- factor(letters[value])
  }
  x
}

scores <- list()
add <- function(...) scores[[length(scores) + 1]] <<- data.frame(...)
for (seed in as.integer(arguments[2]):as.integer(arguments[3])) {
  set.seed(seed)
  for (kind in c("bge", "bdeu")) {
    names <- paste0("x", seq_len(sample(2:7, 1)))
    rows <- if (seed %% 3 == 0) sample(4:12, 1) else sample(10:60, 1) * sample(c(1, 1, 10), 1)
    targets <- random_targets(names, rows, seed %% 2 == 0)
    iss <- if (kind == "bge") 1 else sample(c(1, 0.1, 3.5, 20), 1)
    data <- if (kind == "bge") numbers(names, rows, targets) else categories(names, rows, targets)
    file <- sprintf("%s-%d.csv", kind, seed)
    written <- cbind(data, INT = targets)
    if (kind == "bge") for (name in names) {
      written[[name]] <- sprintf("%.17g", data[[name]])
      data[[name]] <- as.numeric(written[[name]])
    }
    write.csv(written, file.path(folder, file), row.names = FALSE, quote = FALSE)
    counted <- lapply(names, function(name) targets != name)
    names(counted) <- names
    set <- lapply(counted, function(on) which(!on))
    for (number in 1:3) {
      adjacency <- random_graph(names)
      graph <- empty.graph(names)
      amat(graph) <- adjacency
      own <- vapply(names, function(name) {
        if (kind == "bge") {
          score(graph, data[counted[[name]], , drop = FALSE], type = "bge", by.node = TRUE, iss.mu = 1,
                iss.w = length(names) + 2, nu = rep(0, length(names)))[[name]]
        } else if (all(targets == "")) {
          score(graph, data, type = "bde", iss = iss, by.node = TRUE)[[name]]
        } else {
          score(graph, data, type = "mbde", iss = iss, exp = set, by.node = TRUE)[[name]]
        }
      }, 0)
      # BiDAG has scores of whole graphs; a table of numbers may not have fewer rows than columns
      other <- NA
      if (has_bidag && all(targets == "")) {
        prior <- if (kind == "bge") {
          BiDAG::scoreparameters("bge", as.matrix(data), bgepar = list(am = 1, aw = length(names) + 2, edgepf = 1))
        } else {
          codes <- as.data.frame(lapply(data, function(column) as.integer(column) - 1L))
          BiDAG::scoreparameters("bdecat", codes, bdecatpar = list(chi = iss, edgepf = 1))
        }
        other <- BiDAG::DAGscore(prior, adjacency)
      }
      for (name in names) {
        parents <- names[adjacency[, name] == 1]
        add(table = file, graph = number, iss = iss, node = name, parents = paste(parents, collapse = ";"),
            bnlearn = sprintf("%.17g", own[[name]]), bidag_graph = sprintf("%.17g", other))
      }
    }
  }
}
write.csv(do.call(rbind, scores), file.path(folder, "scores.csv"), row.names = FALSE, quote = FALSE)
