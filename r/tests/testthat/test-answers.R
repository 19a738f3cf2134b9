skip_without_program <- function() {
  skip_if(inherits(try(vti_program(), silent = TRUE), "try-error"), "the program vti is not here")
}

cement <- data.frame(
  x1 = c(7, 1, 11, 11, 7, 11, 3, 1, 2, 21, 1, 11, 10),
  x2 = c(26, 29, 56, 31, 52, 55, 71, 31, 54, 47, 40, 66, 68),
  x3 = c(6, 15, 8, 8, 6, 9, 17, 22, 18, 4, 23, 9, 8),
  x4 = c(60, 52, 20, 47, 33, 22, 6, 44, 22, 26, 34, 12, 12),
  y = c(78.5, 74.3, 104.3, 87.6, 95.9, 109.2, 102.7, 72.5, 93.1, 115.9, 83.8, 113.3, 109.4)
)

test_that("a selection is that of the command line", {
  skip_without_program()
  found <- vti_varsel(y ~ ., cement, seed = 3)
  expect_s3_class(found, "vti")
  expect_identical(found$verdict, "trusted")
  expect_identical(found$inclusion$name, c("x1", "x2", "x3", "x4"))
  path <- file.path(tempfile("cement-"))
  write.csv(cement, path, row.names = FALSE)
  theirs <- system2(vti_program(), shQuote(c("varsel", path, "--target=y", "--seed=3", "--json", "--no-report", paste0("--out=", tempfile("run-")))), stdout = TRUE, stderr = FALSE)
  theirs <- jsonlite::fromJSON(paste(theirs, collapse = "\n"))
  expect_identical(found$inclusion, theirs$inclusion)
  expect_identical(found$coefficients, theirs$coefficients)
  expect_output(print(found), "x1")
  expect_identical(summary(found), found$inclusion)
  expect_identical(names(coef(found)), c("(Intercept)", "x1", "x2", "x3", "x4", "sigma"))
  predicted <- predict(found, cement[1:3, ], level = 0.8)
  expect_equal(nrow(predicted), 3)
  expect_lt(max(abs(predicted$mean - cement$y[1:3])), 8)
  expect_equal(nrow(predict(found)), nrow(cement))
  expect_true(is.data.frame(vti_effects(found, of = "x1=5,10")$means))
  expect_true(all(c("beta[x1]", "sigma") %in% names(vti_draws(found))))
  expect_true(file.exists(vti_report(found)))
  expect_identical(vti_open(attr(found, "directory"))$inclusion, found$inclusion)
  pdf(NULL)
  on.exit(dev.off())
  expect_silent(plot(found))
})

test_that("exact sums of a formula", {
  skip_without_program()
  found <- vti_exact(y ~ x1 * x2 + poly(x4, 2), cement)
  expect_identical(found$verdict, "trusted")
  expect_true("x1:x2" %in% found$inclusion$name)
})

test_that("kinds of columns stay what they are", {
  skip_without_program()
  set.seed(1)
  n <- 80
  frame <- data.frame(
    flag = runif(n) < 0.5, colour = factor(sample(c("red", "green, dark", 'the "blue"'), n, TRUE)),
    code = sample(c("1", "2", "3"), n, TRUE), date = as.Date("2024-01-01") + sample(0:1, n, TRUE), x = c(NA, rnorm(n - 1)),
    check.names = FALSE
  )
  names(frame)[5] <- "size, in m"
  frame$y <- rnorm(n) + 3 * (frame$colour == 'the "blue"') + 2 * frame$flag + 2 * (frame$code == "2")
  found <- vti_varsel(y ~ ., frame, na = "drop")
  probability <- setNames(found$inclusion$certified, found$inclusion$name)
  expect_identical(names(probability), c("flag", "colour", "code", "date", "size, in m"))
  expect_true(all(probability[c("flag", "colour", "code")] > 0.99))
  expect_equal(found$data$rows, n - 1)
  expect_error(vti_varsel(y ~ ., data.frame(y = 1:3, x = I(list(1, 2, 3)))), "column 'x' is a list")
})

test_that("graphs become those of other packages", {
  skip_without_program()
  found <- vti_dag(cement, continuous = "all", tiers = list(c("x1", "x2", "x3", "x4"), "y"))
  expect_true(found$edges$prob[found$edges$from == "x1" & found$edges$to == "y"] > 0.9)
  skip_if_not_installed("igraph")
  graph <- igraph::as.igraph(found, least = 0.9)
  expect_true("x1|y" %in% attr(igraph::E(graph), "vnames"))
})

test_that("hierarchies", {
  skip_without_program()
  set.seed(2)
  frame <- data.frame(g = rep(letters[1:8], each = 10), x = rnorm(80))
  frame$y <- 1 + 2 * frame$x + rnorm(8)[match(frame$g, letters)] + rnorm(80, sd = 0.5)
  found <- vti_hbm(y ~ x + (1 | g), frame, select = TRUE)
  expect_identical(found$verdict, "trusted")
  expect_true(is.data.frame(found$terms))
})

test_that("draws for posterior", {
  skip_without_program()
  skip_if_not_installed("posterior")
  draws <- posterior::as_draws(vti_varsel(y ~ ., cement))
  expect_s3_class(draws, "draws_df")
  expect_true("beta[x1]" %in% posterior::variables(draws))
})

test_that("what cannot be is refused, with the mistake", {
  skip_without_program()
  expect_error(vti_varsel(z ~ ., cement), 'no column "z"')
  expect_error(vti_varsel(y ~ ., cement, prior_ds = 3), "has no argument 'prior_ds'; did you mean prior_sd")
  expect_error(vti_open(tempfile()), "no finished run")
  expect_error(vti_varsel(y ~ ., cement, on_failed = "never"), "should be one of")
  expect_error(coef(vti_dag(cement, continuous = "all")), "no coefficients")
  flags <- vti_flags("varsel")
  expect_true(all(c("prior_sd", "likelihood") %in% flags$argument))
})

test_that("there is a message where there is no program", {
  old <- options(vti.program = NULL)
  path <- Sys.getenv("PATH")
  named <- Sys.getenv("VTI_PROGRAM")
  on.exit({
    options(old)
    Sys.setenv(PATH = path, VTI_PROGRAM = named)
  })
  Sys.setenv(PATH = "", VTI_PROGRAM = "")
  skip_if(nzchar(system.file("program", package = "vti")))
  expect_error(vti_program(), "not on this machine")
})

test_that("a failed answer stops, and a doubtful one warns", {
  skip_on_os("windows")
  script <- tempfile("program-")
  old <- options(vti.program = script)
  on.exit(options(old))
  pretend <- function(verdict, status) {
    json <- sprintf('{"command":"varsel","certificate":{"verdict":"%s","reasons":["too few draws"]}}', verdict)
    described <- '{"commands":[{"name":"varsel","flags":[{"name":"target","type":"string","value":"column"}]}]}'
    writeLines(c("#!/bin/sh", sprintf("if [ \"$1\" = describe ]; then echo '%s'; exit 0; fi", described),
      'for word in "$@"; do case $word in --out=*) mkdir -p "${word#--out=}";; esac; done',
      sprintf("echo '%s'", json), paste("exit", status)), script)
    Sys.chmod(script, "0755")
  }
  pretend("failed", 3)
  expect_error(vti_varsel(y ~ ., cement), "not to be used: too few draws")
  expect_warning(found <- vti_varsel(y ~ ., cement, on_failed = "warn"), "not to be used")
  expect_identical(found$reasons, "too few draws")
  expect_silent(vti_varsel(y ~ ., cement, on_failed = "ignore"))
  pretend("doubtful", 0)
  expect_warning(vti_varsel(y ~ ., cement), "does not show it: too few draws")
})
