#' Ask a question about a table
#'
#' Each function is a command of the program: `vti_varsel` says which predictors matter, `vti_exact`
#' the same by sums over all subsets, `vti_dag` which columns depend on which, `vti_hbm` fits
#' hierarchical regressions and, with `select = TRUE`, says which effects vary by group,
#' `vti_mixture` finds how many components a mixture has, `vti_changepoints` where a series changes,
#' and `vti_order` the order of an autoregression, polynomial or spline. `vti_run` takes any command
#' that answers a question about a table, such as `"rjmcmc varsel"`.
#'
#' @param formula The response and the terms, as in [stats::lm()]; `y ~ .` has all other columns.
#'   `NULL` where `data` has summary statistics.
#'   `vti_hbm` takes terms that vary by group, as `y ~ x + (1 + x | g)`.
#' @param data A data frame, or the path of a CSV or Parquet file. Text and factors are labels.
#' @param command The name of a command.
#' @param select Whether every term can be absent, shared by all groups, or vary by group.
#' @param ... Flags of the command, with underscores for hyphens, such as `likelihood = "logistic"`,
#'   `prior_sd = 1`, `seed = 2`: `vti_flags("varsel")` lists them. Vectors are lists of values, and
#'   `TRUE` switches a flag on.
#' @param out A directory to keep the run in, which must not exist. By default a temporary one.
#' @param on_failed What an answer with the verdict *failed* does: `"stop"`, `"warn"` or `"ignore"`.
#'   A doubtful answer warns.
#' @param progress Whether to show what the program says of its progress.
#' @return An object of class `vti`: the answer as a list, in which tables are data frames
#'   (`inclusion`, `models`, `coefficients`, `edges`, `effects`, `terms`, ...), with `verdict` and
#'   `reasons`. See [vti-methods].
#' @examplesIf nzchar(Sys.getenv("VTI_PROGRAM")) || nzchar(Sys.which("vti"))
#' found <- vti_varsel(mpg ~ ., mtcars)
#' found$verdict
#' found$inclusion
#' @name vti_commands
NULL

#' @rdname vti_commands
#' @export
vti_varsel <- function(formula, data, ..., out = NULL, on_failed = "stop", progress = FALSE) {
  answer("varsel", data, c(formula_flags(formula), list(...)), out, on_failed, progress)
}

#' @rdname vti_commands
#' @export
vti_exact <- function(formula, data, ..., out = NULL, on_failed = "stop", progress = FALSE) {
  answer("exact", data, c(formula_flags(formula), list(...)), out, on_failed, progress)
}

#' @rdname vti_commands
#' @export
vti_dag <- function(data, ..., out = NULL, on_failed = "stop", progress = FALSE) {
  answer("dag", data, list(...), out, on_failed, progress)
}

#' @rdname vti_commands
#' @export
vti_hbm <- function(formula, data, select = FALSE, ..., out = NULL, on_failed = "stop", progress = FALSE) {
  answer("hbm", data, c(list(formula = formula_text(formula), select = select), list(...)), out, on_failed, progress)
}

#' @rdname vti_commands
#' @export
vti_mixture <- function(data, ..., out = NULL, on_failed = "stop", progress = FALSE) {
  answer("mixture", data, list(...), out, on_failed, progress)
}

#' @rdname vti_commands
#' @export
vti_changepoints <- function(data, ..., out = NULL, on_failed = "stop", progress = FALSE) {
  answer("changepoints", data, list(...), out, on_failed, progress)
}

#' @rdname vti_commands
#' @export
vti_order <- function(data, ..., out = NULL, on_failed = "stop", progress = FALSE) {
  answer("order", data, list(...), out, on_failed, progress)
}

#' @rdname vti_commands
#' @export
vti_run <- function(command, data, ..., out = NULL, on_failed = "stop", progress = FALSE) {
  answer(command, data, list(...), out, on_failed, progress)
}

#' Flags of a command
#'
#' @param command The name of a command, such as `"varsel"`.
#' @return A data frame with the name of each flag as an argument in R, its type, choices, default
#'   and explanation.
#' @examplesIf nzchar(Sys.getenv("VTI_PROGRAM")) || nzchar(Sys.which("vti"))
#' vti_flags("dag")[, c("argument", "default")]
#' @export
vti_flags <- function(command) {
  known <- describe(command)
  known <- known[!known$name %in% set_by_package, ]
  data.frame(argument = gsub("-", "_", known$name), type = known$type, choices = vapply(known$choices, paste, "", collapse = ", "), default = known$default, usage = known$usage)
}

set_by_package <- c("json", "quiet", "out", "no-report", "resume", "stack")

#' Open a finished run
#'
#' @param directory The directory of a run, which `out` or the command line has made.
#' @return An object of class `vti`, as [vti_commands] return it.
#' @examples
#' try(vti_open("no such run"))
#' @export
vti_open <- function(directory) {
  path <- file.path(directory, "result.json")
  if (!file.exists(path)) stop(directory, " is no finished run: it has no result.json", call. = FALSE)
  as_vti(jsonlite::fromJSON(path), directory)
}

# answer runs a command on a table.
answer <- function(command, data, given, out, on_failed, progress) {
  on_failed <- match.arg(on_failed, c("stop", "warn", "ignore"))
  folder <- tempfile("vti-")
  dir.create(folder)
  directory <- if (is.null(out)) file.path(folder, "run") else out
  # A run reads its table again to predict and to check, so that a data frame stays beside it.
  table <- to_file(data, dirname(directory), paste0(basename(directory), ".csv"))
  words <- c(strsplit(command, " ")[[1]], table, paste0("--out=", directory), "--no-report", flags(command, given, folder))
  printed <- call_json(words, progress)
  found <- as_vti(printed$content, directory)
  because <- paste(c(if (length(found$reasons)) ":", paste(found$reasons, collapse = "; ")), collapse = " ")
  if (printed$status == failed_verdict) {
    if (on_failed == "stop") stop("the answer is not to be used", because, call. = FALSE)
    if (on_failed == "warn") warning("the answer is not to be used", because, call. = FALSE)
  } else if (identical(found$verdict, "doubtful")) {
    warning("the answer may be right, but the computation does not show it", because, call. = FALSE)
  }
  found
}

as_vti <- function(content, directory) {
  # Sums over all subsets need no certificate.
  content$verdict <- if (identical(content$command, "exact")) "trusted" else content$certificate$verdict
  content$reasons <- as.character(content$certificate$reasons)
  structure(content, class = "vti", directory = normalizePath(directory))
}

# formula_text is a formula on one line, as the program reads it.
formula_text <- function(formula) {
  if (is.character(formula)) return(formula)
  paste(deparse(formula, width.cutoff = 500), collapse = " ")
}

# formula_flags: y ~ . names the response, other formulas are given as they are.
formula_flags <- function(formula) {
  if (is.null(formula)) return(list())
  if (inherits(formula, "formula") && length(formula) == 3 && identical(formula[[3]], quote(.)) && is.name(formula[[2]])) {
    return(list(target = as.character(formula[[2]])))
  }
  list(formula = formula_text(formula))
}
