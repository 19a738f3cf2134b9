package main

import "github.com/transdim/vti/cmd/internal/shell"

func main() { shell.Main(rootCommand) }
