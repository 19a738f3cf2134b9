# Stan (rstan) beside vti hbm: the same models and priors, on the same working scale. Prints processor
# seconds of compilation and of sampling apart, R-hat, effective draws, and posterior means and sds in
# the units of the table, by vti's names.
#
#   Rscript benchmarks/hbm_stan.R FOLDER[,FOLDER] [TABLE,...]
#
# Tables: sleepstudy, rats, radon, epil, cbpp, grouseticks, verbagg. Needs r-cran-rstan and r-cran-bh of Debian.
suppressMessages(library(rstan))
arguments <- commandArgs(TRUE)
if (length(arguments) < 1) stop("want a folder with the tables")
folders <- strsplit(arguments[1], ",")[[1]]
wanted <- if (length(arguments) > 1) strsplit(arguments[2], ",")[[1]] else c("sleepstudy", "rats", "radon", "epil", "cbpp", "grouseticks", "verbagg")
seconds <- function(expression) {
  before <- proc.time()
  value <- force(expression)
  spent <- proc.time() - before
  list(value = value, cpu = sum(spent[c("user.self", "sys.self", "user.child", "sys.child")]), clock = spent[["elapsed"]])
}
read <- function(name) {
  for (folder in folders) for (file in c(file.path(folder, paste0(name, ".csv")), file.path(folder, name, paste0(name, ".csv"))))
    if (file.exists(file)) return(read.csv(file, stringsAsFactors = TRUE))
  stop("no ", name, ".csv in ", arguments[1])
}

# Intercepts that vary by any number of groupings; kind 0 gaussian, 1 logistic, 2 poisson.
intercepts <- "
data {
  int<lower=0,upper=2> kind; int n; int p; int G; int J; matrix[n, p] x; vector[n] y; int count[n];
  int level[n, G]; int grouping[J]; real centre;
}
parameters { real alpha; vector[p] beta; vector<lower=0>[G] s; vector[J] u; real log_sigma; }
transformed parameters { vector[J] b = s[grouping] .* u; }
model {
  vector[n] eta = alpha + x * beta;
  for (g in 1:G) eta += b[level[, g]];
  alpha ~ normal(centre, 10); beta ~ normal(0, 1.5); s ~ normal(0, 1); u ~ normal(0, 1); log_sigma ~ normal(0, 2);
  if (kind == 0) y ~ normal(eta, exp(log_sigma));
  else if (kind == 1) count ~ bernoulli_logit(eta);
  else count ~ poisson_log(eta);
}"
# An intercept and a slope that vary together by one grouping.
slopes <- "
data { int n; int J; vector[n] x; vector[n] z; vector[n] y; int level[n]; }
parameters { real alpha; real beta; vector<lower=0>[2] s; cholesky_factor_corr[2] L; matrix[2, J] u; real log_sigma; }
transformed parameters { matrix[J, 2] b = (diag_pre_multiply(s, L) * u)'; }
model {
  alpha ~ normal(0, 10); beta ~ normal(0, 1.5); s ~ normal(0, 1); L ~ lkj_corr_cholesky(2); to_vector(u) ~ normal(0, 1);
  log_sigma ~ normal(0, 2);
  y ~ normal(alpha + x * beta + b[level, 1] + z .* b[level, 2], exp(log_sigma));
}"
compiled <- list()
program <- function(name, code) {
  if (is.null(compiled[[name]])) {
    built <- seconds(stan_model(model_code = code, model_name = name, boost_lib = "/usr/include"))
    cat(sprintf("compilation of %s: %.1f processor seconds\n", name, built$cpu))
    compiled[[name]] <<- built$value
  }
  compiled[[name]]
}
answer <- function(table, fit, parameters, names, scale, shift) {
  draws <- as.matrix(fit$value, pars = parameters)
  of <- summary(fit$value, pars = parameters)$summary
  cat(sprintf("%s: sampling %.1f processor seconds, %.1f of the clock; largest R-hat %.3f, fewest effective draws %.0f, divergent %d\n",
              table, fit$cpu, fit$clock, max(of[, "Rhat"]), min(of[, "n_eff"]), get_num_divergent(fit$value)))
  for (j in seq_len(ncol(draws))) {
    values <- if (is.null(scale[[j]])) exp(draws[, j]) * shift[[j]] else draws[, j] * scale[[j]] + shift[[j]]
    cat(sprintf("%s,%s,%.5f,%.5f\n", table, names[j], mean(values), sd(values)))
  }
}
sampled <- function(model, data) {
  force(model) # or its compilation would count as sampling
  seconds(sampling(model, data = data, chains = 4, iter = 2000, cores = 1, seed = 1, refresh = 0))
}

fitSlopes <- function(name, y, x, group) {
  table <- read(name)
  sy <- sd(table[[y]]); sx <- sd(table[[x]])
  data <- list(n = nrow(table), J = nlevels(factor(table[[group]])), x = c(scale(table[[x]])), z = table[[x]] / sx,
               y = c(scale(table[[y]])), level = as.integer(factor(table[[group]])))
  fit <- sampled(program("slopes", slopes), data)
  answer(name, fit, c("beta", "s", "log_sigma"), c(x, sprintf(c("sd((Intercept) | %s)", paste0("sd(", x, " | %s)")), group), "sigma"),
         list(sy / sx, sy, sy / sx, NULL), list(0, 0, 0, sy))
}
fitIntercepts <- function(name, formula, groups, kind) {
  table <- read(name)
  x <- model.matrix(formula, table)[, -1, drop = FALSE]
  y <- as.numeric(table[[all.vars(formula)[1]]]) # of a factor 1 and 2
  if (kind == 1 && is.factor(table[[all.vars(formula)[1]]])) y <- y - 1
  sy <- if (kind == 0) sd(y) else 1
  my <- if (kind == 0) mean(y) else 0
  level <- sapply(groups, function(g) as.integer(factor(table[[g]])))
  counts <- apply(level, 2, max)
  offsets <- c(0, cumsum(counts))[seq_along(counts)]
  data <- list(kind = kind, n = nrow(x), p = ncol(x), G = length(groups), J = sum(counts), x = scale(x), y = (y - my) / sy,
               count = if (kind == 0) rep(0L, length(y)) else as.integer(y), level = sweep(level, 2, offsets, "+"),
               grouping = rep(seq_along(groups), counts), centre = if (kind == 2) log(mean(y)) else 0)
  fit <- sampled(program("intercepts", intercepts), data)
  names <- colnames(x)
  for (column in names(table)) if (is.factor(table[[column]])) names <- gsub(paste0("\\b", column, "(?=[^:])"), paste0(column, "="), names, perl = TRUE)
  answer(name, fit, c("beta", "s"), c(names, sprintf("sd((Intercept) | %s)", groups)), as.list(c(sy / apply(x, 2, sd), rep(sy, length(groups)))),
         as.list(rep(0, ncol(x) + length(groups))))
}
for (name in wanted) switch(name,
  sleepstudy = fitSlopes(name, "Reaction", "Days", "Subject"),
  rats = fitSlopes(name, "weight", "day", "rat"),
  radon = fitIntercepts(name, log_radon ~ floor, "county", 0),
  epil = fitIntercepts(name, y ~ lbase * trt + lage + V4, "subject", 2),
  cbpp = fitIntercepts(name, sick ~ period, "herd", 1),
  grouseticks = fitIntercepts(name, TICKS ~ YEAR + cHEIGHT, c("BROOD", "INDEX", "LOCATION"), 2),
  verbagg = fitIntercepts(name, r2 ~ Anger + gender + btype + situ, c("id", "item"), 1),
  stop("unknown table ", name))
