# Two traits in one region: writes a.csv and b.csv, the genotypes of two halves of the 574 people of
# N3finemapping in susieR, with a trait each. In each trait one marker explains a fifth of the variance.
#
#     Rscript benchmarks/coloc_regions.R SEED shared|distinct FOLDER
#
# The markers are the same one, or two that are correlated but by less than .98. It prints their names and
# their correlation.
suppressMessages(library(susieR))
arguments <- commandArgs(TRUE)
set.seed(as.integer(arguments[1]))
data(N3finemapping)
x <- N3finemapping$X
x <- x[, !duplicated(t(x))]
rows <- sample(nrow(x))
a <- x[rows[1:287], ]
b <- x[rows[288:574], ]
varies <- which(apply(a, 2, sd) > 0 & apply(b, 2, sd) > 0)
a <- a[, varies]
b <- b[, varies]
colnames(a) <- colnames(b) <- paste0("m", varies)
first <- sample(ncol(a), 1)
r <- abs(cor(a[, first], a))
others <- which(r < 0.98 & r > 0)
second <- if (arguments[2] == "shared") first else sample(others[order(-r[others])][1:30], 1)
cat(colnames(a)[first], colnames(a)[second], cor(a[, first], a[, second]), "\n")
trait <- function(genotypes, marker) {
  x <- scale(genotypes[, marker])
  x * 0.5 + rnorm(nrow(genotypes))
}
write.csv(data.frame(y = trait(a, first), a), file.path(arguments[3], "a.csv"), row.names = FALSE)
write.csv(data.frame(y = trait(b, second), b), file.path(arguments[3], "b.csv"), row.names = FALSE)
