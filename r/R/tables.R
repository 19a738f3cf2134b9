# to_file returns the path of a table that the program can read. A data frame becomes a CSV file, in
# which text, factors and dates are labels in quotes.
to_file <- function(data, folder, name = "table.csv") {
  if (is.character(data) && length(data) == 1) return(data)
  if (!is.data.frame(data)) data <- as.data.frame(data)
  lists <- names(data)[vapply(data, is.list, NA)]
  if (length(lists)) stop("column '", lists[1], "' is a list; expected numbers, logical values, text, factors or dates", call. = FALSE)
  labels <- integer()
  for (j in seq_along(data)) {
    column <- data[[j]]
    if (inherits(column, "POSIXt")) column <- format(column, "%Y-%m-%dT%H:%M:%S")
    if (inherits(column, "Date")) column <- format(column, "%Y-%m-%d")
    if (is.character(column) || is.factor(column)) {
      labels <- c(labels, j)
      data[[j]] <- as.character(column)
    } else if (is.double(column)) { # all digits, where R writes fifteen
      data[[j]] <- ifelse(is.na(column), NA, format(column, digits = 17, trim = TRUE))
    }
  }
  path <- file.path(folder, name)
  # Names are quoted wherever a column is, and quotes within are doubled.
  header <- paste0('"', gsub('"', '""', names(data)), '"', collapse = ",")
  writeLines(enc2utf8(header), path, useBytes = TRUE)
  utils::write.table(data, path, append = TRUE, sep = ",", row.names = FALSE, col.names = FALSE,
    quote = labels, qmethod = "double", fileEncoding = "UTF-8")
  path
}

# flags returns words of a command line for arguments whose names are flags with underscores for
# hyphens. Vectors become values separated by commas, or repeated flags where a flag may be repeated;
# data frames and lists become files where a file is wanted.
flags <- function(command, given, folder) {
  known <- describe(command)
  words <- character()
  for (name in names(given)) {
    value <- given[[name]]
    at <- match(gsub("_", "-", sub("_$", "", name)), known$name)
    if (is.na(at) || !nzchar(name)) {
      near <- agrep(name, gsub("-", "_", known$name), max.distance = 0.3, value = TRUE)
      stop("vti ", command, " has no argument '", name, "'", if (length(near)) paste0("; did you mean ", paste(utils::head(near, 3), collapse = " or "), "?"), call. = FALSE)
    }
    flag <- known[at, ]
    prefix <- paste0("--", flag$name)
    if (is.null(value) || isFALSE(value)) next
    if (isTRUE(value)) {
      words <- c(words, prefix)
    } else if (flag$value == "file" && !is.character(value)) {
      words <- c(words, paste0(prefix, "=", written(value, file.path(folder, flag$name))))
    } else if (flag$type == "stringArray") {
      words <- c(words, paste0(prefix, "=", unlist(value)))
    } else {
      words <- c(words, paste0(prefix, "=", joined(value)))
    }
  }
  words
}

# joined are values separated by commas, quoted where they have commas or quotation marks.
joined <- function(values) {
  texts <- if (is.numeric(values)) format(values, digits = 17, trim = TRUE) else as.character(values)
  several <- length(texts) > 1
  quoted <- several & grepl('[",]', texts)
  texts[quoted] <- paste0('"', gsub('"', '""', texts[quoted]), '"')
  paste(texts, collapse = ",")
}

written <- function(value, path) {
  if (is.data.frame(value) || is.matrix(value)) {
    utils::write.csv(value, path, fileEncoding = "UTF-8")
  } else { # a line for each element
    writeLines(vapply(value, function(line) joined(unlist(line)), ""), path)
  }
  path
}
