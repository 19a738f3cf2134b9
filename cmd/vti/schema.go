package main

// schemaOf names the schema of the JSON of a command, with its version: docs/schema has the file.
func schemaOf(name string) string { return "vti/" + name + "/1" }
