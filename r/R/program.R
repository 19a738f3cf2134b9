#' The program vti
#'
#' Finds the program that computes all answers: the file that the option `vti.program` or the
#' environment variable `VTI_PROGRAM` names, else the one in the folder `program` of this package,
#' else the one on the `PATH`.
#'
#' @return The path of the program. An error says how to get it if there is none.
#' @examples
#' try(vti_program())
#' @export
vti_program <- function() {
  own <- system.file("program", if (.Platform$OS.type == "windows") "vti.exe" else "vti", package = "vti")
  candidates <- c(getOption("vti.program", ""), Sys.getenv("VTI_PROGRAM"), own, Sys.which("vti"))
  found <- candidates[nzchar(candidates)]
  if (length(found) == 0) {
    stop("the program vti is not on this machine: set options(vti.program = ), or put it on the PATH; ",
      "'go install ./cmd/vti' in its repository builds it", call. = FALSE)
  }
  unname(found[[1]])
}

# call_program runs one command line, and returns what it prints, with its status. Messages go to
# the console as they come if they are to be seen.
call_program <- function(words, seen = FALSE) {
  messages <- tempfile("vti-", fileext = ".txt")
  output <- tempfile("vti-", fileext = ".txt")
  on.exit(unlink(c(messages, output)))
  status <- system2(vti_program(), shQuote(words), stdout = output, stderr = if (seen) "" else messages)
  if (status == 130) stop("stopped", call. = FALSE)
  if (!status %in% c(0, failed_verdict)) {
    lines <- if (file.exists(messages)) readLines(messages, warn = FALSE) else character()
    named <- grep("^vti: ", lines)
    why <- if (length(named)) sub("^vti: ", "", lines[max(named):length(lines)]) else utils::tail(lines, 1)
    stop(paste(c(why, if (!length(why)) paste("vti ended with status", status)), collapse = "\n"), call. = FALSE)
  }
  list(text = readLines(output, warn = FALSE, encoding = "UTF-8"), status = status)
}

# failed_verdict is the status of an answer that is not to be used.
failed_verdict <- 3

# call_json is call_program for commands that print JSON.
call_json <- function(words, seen = FALSE) {
  printed <- call_program(c(words, "--json"), seen)
  list(content = jsonlite::fromJSON(paste(printed$text, collapse = "\n")), status = printed$status)
}

described <- new.env(parent = emptyenv())

# describe returns the flags of a command, as the program says.
describe <- function(command) {
  program <- vti_program()
  if (is.null(described[[program]])) {
    text <- call_program("describe")$text
    described[[program]] <- jsonlite::fromJSON(paste(text, collapse = "\n"))$commands
  }
  all <- described[[program]]
  at <- match(command, all$name)
  if (is.na(at)) stop("this version of vti has no command ", command, call. = FALSE)
  all$flags[[at]]
}
