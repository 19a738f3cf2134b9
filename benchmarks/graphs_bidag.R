# Order MCMC of BiDAG on the tables of benchmarks/graphs_bidag.sh, and errors of both programs by one
# code.
#
#   Rscript graphs_bidag.R run TABLE OUT linear|categories SEED     edges of BiDAG
#   Rscript graphs_bidag.R judge FOLDER                             means and paired differences
#
# BiDAG searches a space of parents by iterativeMCMC, and samples orders on it by orderMCMC with one
# further parent of each node, all with its defaults; BGe with its defaults, BDeu with an imaginary
# sample size of 1. The first fifth of the sample is dropped.

# The equivalence class of a graph: skeleton, colliders, and the rules of Meek.
class_of <- function(dag) {
  joined <- dag | t(dag)
  n <- nrow(dag)
  compelled <- matrix(FALSE, n, n)
  for (to in seq_len(n)) {
    parents <- which(dag[, to])
    if (length(parents) > 1) {
      apart <- !joined[parents, parents, drop = FALSE]
      diag(apart) <- FALSE
      compelled[parents[rowSums(apart) > 0], to] <- TRUE
    }
  }
  repeat {
    open <- joined & !compelled & !t(compelled)
    # a -> b - c with a and c apart
    first <- matrix(FALSE, n, n)
    for (b in seq_len(n)) {
      from <- which(compelled[, b])
      for (c in which(open[b, ])) if (any(!joined[from, c] & from != c)) first[b, c] <- TRUE
    }
    # a -> b -> c beside a - c
    second <- open & (compelled %*% compelled > 0)
    # a - b -> d, a - c -> d with b and c apart, beside a - d
    third <- matrix(FALSE, n, n)
    for (edge in which(open)) {
      a <- (edge - 1) %% n + 1
      d <- (edge - 1) %/% n + 1
      between <- which(open[a, ] & compelled[, d])
      if (length(between) > 1) {
        apart <- !joined[between, between, drop = FALSE]
        diag(apart) <- FALSE
        if (any(apart)) third[a, d] <- TRUE
      }
    }
    more <- (first | second | third) & open
    if (!any(more)) break
    compelled <- compelled | more
  }
  list(compelled = compelled, open = joined & !compelled & !t(compelled))
}

run <- function(table, out, kind, seed) {
  suppressMessages(library(BiDAG))
  set.seed(seed)
  data <- read.csv(table, stringsAsFactors = TRUE)
  data <- data[vapply(data, function(x) length(unique(x)) > 1, TRUE)] # constant columns: BiDAG fails
  names <- colnames(data)
  score <- if (kind == "linear") {
    scoreparameters("bge", data)
  } else {
    for (j in names) data[[j]] <- as.integer(factor(data[[j]])) - 1L
    scoreparameters("bdecat", data, bdecatpar = list(chi = 1, edgepf = 2))
  }
  space <- iterativeMCMC(score, verbose = FALSE)
  sample <- orderMCMC(score, MAP = FALSE, chainout = TRUE, startspace = space$endspace, verbose = FALSE)
  graphs <- sample$traceadd$incidence
  graphs <- graphs[seq(ceiling(length(graphs) / 5), length(graphs))]
  n <- length(names)
  forward <- compelled <- open <- matrix(0, n, n)
  for (g in graphs) forward <- forward + as.matrix(g)
  few <- graphs[unique(round(seq(1, length(graphs), length.out = 200)))]
  for (g in few) {
    class <- class_of(as.matrix(g) > 0)
    compelled <- compelled + class$compelled
    open <- open + class$open
  }
  pairs <- which(upper.tri(forward), arr.ind = TRUE)
  value <- function(m, by) m[pairs] / by
  write.csv(data.frame(
    from = names[pairs[, 1]], to = names[pairs[, 2]],
    prob = value(forward, length(graphs)), prob_reverse = value(t(forward), length(graphs)),
    class_forward = value(compelled, length(few)), class_reverse = value(t(compelled), length(few)),
    class_undirected = value(open, length(few))
  ), out, row.names = FALSE)
  cat(proc.time()[["user.self"]], "\n")
}

# errors of a table of edges: SHD of the classes, where pairs count as joined from one half on and
# then as the most probable of a -> b, b -> a and a - b, and AUROC of the directed edges
errors <- function(edges, truth) {
  truth_class <- class_of(truth)
  at <- cbind(match(edges$from, rownames(truth)), match(edges$to, rownames(truth)))
  back <- at[, 2:1]
  shares <- as.matrix(edges[, c("class_forward", "class_reverse", "class_undirected")])
  found <- ifelse(rowSums(shares) > 0.5, max.col(shares, "first"), 0)
  true <- ifelse(truth_class$compelled[at], 1, ifelse(truth_class$compelled[back], 2, ifelse(truth_class$open[at], 3, 0)))
  p <- c(edges$prob, edges$prob_reverse)
  y <- c(truth[at], truth[back])
  ranks <- rank(p)
  c(shd = sum(found != true), auroc = (sum(ranks[y]) - sum(y) * (sum(y) + 1) / 2) / (sum(y) * sum(!y)))
}

judge <- function(folder) {
  found <- NULL
  for (file in list.files(folder, "\\.bidag\\.csv$")) {
    name <- sub("\\.bidag\\.csv$", "", file)
    own <- file.path(folder, paste0(name, ".vti"), "edges.csv")
    if (!file.exists(own)) next
    truth <- as.matrix(read.csv(file.path(folder, paste0(name, ".truth.csv")), row.names = 1)) > 0
    a <- errors(read.csv(own), truth)
    b <- errors(read.csv(file.path(folder, file)), truth)
    found <- rbind(found, data.frame(
      design = sub("-[0-9]+$", "", name), set = name, vti_shd = a[["shd"]], bidag_shd = b[["shd"]],
      vti_auroc = a[["auroc"]], bidag_auroc = b[["auroc"]]
    ))
  }
  print(found, row.names = FALSE, digits = 4)
  for (own in split(found, found$design)) {
    error <- function(x) if (length(x) > 1) sd(x) / sqrt(length(x)) else NA
    for (what in c("shd", "auroc")) {
      a <- own[[paste0("vti_", what)]]
      b <- own[[paste0("bidag_", what)]]
      cat(sprintf("%-18s %2d sets  %-5s  vti %.3f ± %.3f  BiDAG %.3f ± %.3f  difference %+.3f ± %.3f\n",
        own$design[1], nrow(own), what, mean(a), error(a), mean(b), error(b), mean(a - b), error(a - b)))
    }
  }
}

args <- commandArgs(TRUE)
if (args[1] == "run") run(args[2], args[3], args[4], as.integer(args[5])) else judge(args[2])
