// Systems checks that the repository is valid Go for other systems:
//
//	systems linux/arm64 darwin/arm64 windows/amd64
//
// It parses all packages of the module, their tests and their imports, and checks their
// types for each system. That finds the same mistakes as compiling (a name that only some
// systems have, a constant that does not fit), except in assembly and in functions without a
// body. It takes a fraction of the time, because no code is generated.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if err := check(os.Stdout, os.Args[1:], "./..."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check returns the mistakes of the packages that match, for each of the systems, and writes
// the number of packages.
func check(w io.Writer, systems []string, pattern string) error {
	if len(systems) == 0 {
		return errors.New("no system is given: name systems such as linux/arm64")
	}
	var all []error
	for _, name := range systems {
		system, arch, ok := strings.Cut(name, "/")
		if !ok {
			return fmt.Errorf("%q is not a system: must be like linux/arm64", name)
		}
		loaded, err := packages.Load(&packages.Config{
			Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
				packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax,
			Env:   append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch),
			Tests: true,
		}, pattern)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, f := range listMistakes(loaded) {
			all = append(all, fmt.Errorf("%s: %s", name, f))
		}
		fmt.Fprintf(w, "%s: %d packages and tests\n", name, len(loaded))
	}
	return errors.Join(all...)
}

// listMistakes lists the mistakes of packages and of their imports, each once, because a
// package's files are read again for its tests.
func listMistakes(loaded []*packages.Package) []string {
	var found []string
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			found = append(found, e.Error())
		}
	})
	slices.Sort(found)
	return slices.Compact(found)
}
