library(testthat)
library(vti)

test_check("vti")
