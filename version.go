package vti

// Version is the version of the module, recorded in every run.
const Version = "0.1.0"
