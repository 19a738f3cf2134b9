// Command gen writes the assembly of package kernel with avo. For each instruction set it writes a
// file of kernels for tiles of matrix products and a file of vector functions, with their Go
// declarations. It also writes a Go file that enters these functions in tables. Run it by `go
// generate` in the directory of package kernel. Its output depends only on its source.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("gen: ")
	dir := flag.String("dir", ".", "directory to write to")
	flag.Parse()
	generate(*dir)
}

// generate writes all files to dir.
func generate(dir string) {
	for _, isa := range []isa{avx2, avx512} {
		write(dir, "product_"+strings.ToLower(isa.name), tiles(isa))
		write(dir, "vectors_"+strings.ToLower(isa.name), vectors(isa))
	}
	writeTables(dir)
}

// write compiles the functions that add adds to a context, and writes their assembly and Go
// declarations to files called name in dir.
func write(dir, name string, add func(*build.Context)) {
	ctx := build.NewContext()
	ctx.ConstraintExpr("!noasm")
	add(ctx)
	file, err := ctx.Result()
	if err != nil {
		build.LogError(log.Default(), err, 10)
		os.Exit(1)
	}
	if err := pass.Compile.Execute(file); err != nil {
		log.Fatalf("%s: %v", name, err)
	}
	config := printer.Config{Name: "gen", Pkg: "kernel"}
	for ending, p := range map[string]printer.Printer{".s": printer.NewGoAsm(config), ".go": printer.NewStubs(config)} {
		text, err := p.Print(file)
		if err != nil {
			log.Fatalf("%s%s: %v", name, ending, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+"_amd64"+ending), text, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
