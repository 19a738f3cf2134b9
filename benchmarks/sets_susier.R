# SuSiE on the tables of benchmarks/sets_susier.sh, and credible sets of both programs by one code.
#
#   Rscript sets_susier.R make SEED TABLE CAUSES      a response on genotypes of susieR's N3finemapping
#   Rscript sets_susier.R run TABLE OUT               credible sets of susie(), L = 10, its defaults
#   Rscript sets_susier.R judge FOLDER                the table of docs/benchmarks/sets.md
#
# Responses have three causes, drawn without regard to their correlation, with normal effects; they
# explain .1, .2 or .4 of the variance, by turns.

make <- function(seed, table, causes) {
  suppressMessages(library(susieR))
  data(N3finemapping, package = "susieR")
  x <- N3finemapping$X
  same <- abs(cor(x)) > 1 - 1e-12
  same[upper.tri(same, diag = TRUE)] <- FALSE
  x <- x[, !apply(same, 1, any)]
  colnames(x) <- paste0("m", seq_len(ncol(x)))
  set.seed(seed)
  chosen <- sort(sample(ncol(x), 3))
  signal <- as.vector(scale(x[, chosen]) %*% rnorm(3))
  share <- c(.1, .2, .4)[seed %% 3 + 1]
  y <- signal + rnorm(nrow(x), sd = sd(signal) * sqrt(1 / share - 1))
  write.csv(data.frame(y = signif(y, 8), round(x, 6)), table, row.names = FALSE, quote = FALSE)
  writeLines(colnames(x)[chosen], causes)
}

run <- function(table, out) {
  suppressMessages(library(susieR))
  data <- as.matrix(read.csv(table))
  x <- data[, -1]
  seconds <- sum(system.time(fit <- susie(x, data[, 1], L = 10))[1:2])
  sets <- fit$sets
  lines <- vapply(seq_along(sets$cs), function(k) {
    paste(sets$purity$min.abs.corr[k], paste(colnames(x)[sets$cs[[k]]], collapse = ","))
  }, "")
  writeLines(c(seconds, lines), out)
}

# read_sets gives CPU seconds and a list of sets, each with its purity and markers.
read_sets <- function(file) {
  lines <- readLines(file)
  fields <- strsplit(lines[-1], " ")
  list(seconds = as.numeric(lines[1]), purity = as.numeric(vapply(fields, `[`, "", 1)),
       sets = lapply(fields, function(f) strsplit(f[2], ",")[[1]]))
}

judge <- function(folder) {
  regions <- sub(".causes$", "", list.files(folder, "[.]causes$", full.names = TRUE))
  regions <- regions[file.exists(paste0(regions, ".vti.txt")) & file.exists(paste0(regions, ".susie.txt"))]
  cat("| | regions | sets | coverage | power | mean size | median size | mean purity | CPU seconds |\n|---|---|---|---|---|---|---|---|---|\n")
  for (program in c("vti", "susie")) {
    covered <- size <- purity <- found <- seconds <- c()
    for (region in regions) {
      causes <- readLines(paste0(region, ".causes"))
      own <- read_sets(paste0(region, ".", program, ".txt"))
      covered <- c(covered, vapply(own$sets, function(s) any(causes %in% s), TRUE))
      size <- c(size, lengths(own$sets))
      purity <- c(purity, own$purity)
      found <- c(found, causes %in% unlist(own$sets))
      seconds <- c(seconds, own$seconds)
    }
    se <- function(share, n) sqrt(share * (1 - share) / n)
    cat(sprintf("| %s | %d | %d | %.3f ± %.3f | %.3f ± %.3f | %.1f | %g | %.3f | %.2f |\n", program, length(regions), length(size),
                mean(covered), se(mean(covered), length(covered)), mean(found), se(mean(found), length(found)),
                mean(size), median(size), mean(purity), median(seconds)))
  }
}

args <- commandArgs(TRUE)
switch(args[1], make = make(as.integer(args[2]), args[3], args[4]), run = run(args[2], args[3]), judge = judge(args[2]))
