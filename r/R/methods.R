#' Use an answer
#'
#' `print` shows the answer in words, `summary` the main table, and `plot` a picture of it; `predict`
#' predicts rows, averaged over models; `coef` gives posterior means, averaged over models.
#' `vti_effects` computes marginal means and contrasts, `vti_report` makes the page with everything,
#' `vti_draws` reads the posterior draws. [posterior::as_draws()] and `igraph::as.igraph()` work on
#' answers where these packages are there; `vti_bnlearn` makes a network of bnlearn.
#'
#' @param x,object An object of class `vti`.
#' @param newdata A data frame of rows to predict, or the path of a file; by default the rows that the
#'   run was fitted to.
#' @param least The smallest probability of an edge that is kept.
#' @param ... Flags of the command that is called, with underscores for hyphens: `predict` takes
#'   `level`, `vti_effects` takes `of`, `contrast`, `conditional`, `at` and others.
#' @return `predict`, `summary` and `vti_draws` return data frames, `coef` a named vector,
#'   `vti_effects` a list of data frames, and `vti_report` the path of the page.
#' @examplesIf nzchar(Sys.getenv("VTI_PROGRAM")) || nzchar(Sys.which("vti"))
#' found <- vti_varsel(mpg ~ ., mtcars)
#' found
#' coef(found)
#' predict(found, mtcars[1:3, ])
#' @name vti-methods
NULL

directory_of <- function(x) attr(x, "directory")

#' @rdname vti-methods
#' @export
print.vti <- function(x, ...) {
  cat(call_program(c("show", directory_of(x)))$text, sep = "\n")
  invisible(x)
}

# main_table is the table that an answer is first of all.
main_table <- function(x) {
  for (name in c("inclusion", "edges", "terms", "effects", "components", "changes", "orders")) {
    if (is.data.frame(x[[name]])) return(x[[name]])
  }
  data.frame()
}

#' @rdname vti-methods
#' @export
summary.vti <- function(object, ...) main_table(object)

#' @rdname vti-methods
#' @export
plot.vti <- function(x, ...) {
  table <- main_table(x)
  labelled <- function(label, value, what) {
    old <- graphics::par(mar = c(5, 4 + max(nchar(label), 1) * 0.4, 2, 1))
    on.exit(graphics::par(old))
    order <- order(value)
    graphics::dotchart(value[order], labels = label[order], xlim = c(0, 1), xlab = what, pch = 19)
  }
  if (!is.null(table$certified)) {
    labelled(table$name, table$certified, "probability of inclusion")
  } else if (!is.null(table$prob) && !is.null(table$to)) {
    labelled(paste(table$from, "->", table$to), table$prob, "probability of the edge")
  } else if (!is.null(table$prob) && !is.null(table$state)) {
    labelled(paste(table$term, table$state), table$prob, "probability")
  } else {
    stop("an answer of vti ", x$command, " has no plot of its own: vti_report(x) has its pictures", call. = FALSE)
  }
  invisible(x)
}

#' @rdname vti-methods
#' @importFrom stats predict
#' @export
predict.vti <- function(object, newdata = NULL, ...) {
  folder <- tempfile("vti-")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  words <- c("predict", directory_of(object), if (!is.null(newdata)) to_file(newdata, folder), flags("predict", list(...), folder))
  call_json(c(words, paste0("--out=", file.path(folder, "predictions.csv"))))$content$predictions
}

#' @rdname vti-methods
#' @importFrom stats coef
#' @export
coef.vti <- function(object, ...) {
  for (name in c("coefficients", "effects")) {
    table <- object[[name]]
    if (is.data.frame(table) && !is.null(table$name)) return(stats::setNames(table$mean, table$name))
  }
  stop("an answer of vti ", object$command, " has no coefficients", call. = FALSE)
}

#' @rdname vti-methods
#' @export
vti_effects <- function(object, ...) {
  folder <- tempfile("vti-")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  words <- c("effects", directory_of(object), flags("effects", list(...), folder))
  call_json(c(words, paste0("--out=", file.path(folder, "effects.csv"))))$content
}

#' @rdname vti-methods
#' @export
vti_report <- function(object) {
  path <- file.path(directory_of(object), "report.html")
  if (!file.exists(path)) call_program(c("report", directory_of(object)))
  path
}

#' @rdname vti-methods
#' @export
vti_draws <- function(object) {
  path <- file.path(directory_of(object), "draws.csv")
  if (!file.exists(path)) stop("a run of vti ", object$command, " has no draws in CSV", call. = FALSE)
  utils::read.csv(path, comment.char = "#", check.names = FALSE)
}

# as_draws.vti is a method of posterior.
as_draws.vti <- function(x, ...) {
  draws <- vti_draws(x)
  names(draws) <- sub("__$", "", names(draws))
  posterior::as_draws_df(draws)
}

# as.igraph.vti is a method of igraph.
as.igraph.vti <- function(x, least = 0.5, ...) {
  edges <- x$edges
  both <- rbind(
    data.frame(from = edges$from, to = edges$to, probability = edges$prob),
    data.frame(from = edges$to, to = edges$from, probability = edges$prob_reverse)
  )
  igraph::graph_from_data_frame(both[both$probability >= least, ], vertices = data.frame(name = x$data$nodes))
}

#' @rdname vti-methods
#' @export
vti_bnlearn <- function(object, least = 0.5) {
  if (!requireNamespace("bnlearn", quietly = TRUE)) stop("the package bnlearn is not installed", call. = FALSE)
  text <- call_program(c("export", directory_of(object), "--format=bnlearn", paste0("--least=", least)))$text
  bnlearn::model2network(paste(text, collapse = ""))
}

# Methods of packages that may not be there are registered when these are loaded.
.onLoad <- function(libname, pkgname) {
  delayed <- function(package, generic, method) {
    register <- function(...) registerS3method(generic, "vti", method, envir = asNamespace(package))
    if (isNamespaceLoaded(package)) register()
    setHook(packageEvent(package, "onLoad"), register)
  }
  delayed("posterior", "as_draws", as_draws.vti)
  delayed("igraph", "as.igraph", as.igraph.vti)
}
