# Reads the draws of a finished run of vti with R's packages posterior and arrow.
#
#   Rscript docs/interop/posterior_check.R runs/varsel-20260131-120000
run <- commandArgs(trailingOnly = TRUE)[1]
frame <- read.csv(file.path(run, "draws.csv"), comment.char = "#", check.names = FALSE)
draws <- posterior::as_draws_df(frame[grep("__$", names(frame), invert = TRUE)])
print(posterior::summarise_draws(draws))
means <- colMeans(frame)
stopifnot(all(abs(posterior::summarise_draws(draws, mean)$mean - means[posterior::variables(draws)]) < 1e-6))
