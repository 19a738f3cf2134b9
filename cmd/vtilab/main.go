// Command vtilab measures vti: it compares builds, repeats published studies and checks devices.
package main

import "github.com/transdim/vti/cmd/internal/shell"

func main() { shell.Main(rootCommand) }
