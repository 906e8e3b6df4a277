// Systems checks that the repository is Go for other systems than this one:
//
//	systems linux/arm64 darwin/arm64 windows/amd64
//
// All packages of the module and their tests, with what they import, are parsed and their
// types checked as on each of these. That finds what compiling finds (a name that only
// some systems have, a constant that does not fit), except in assembly and in functions
// without a body, and takes a fraction of the time, as no code is made of it.
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

// check returns the mistakes of the packages that match, on each of the systems, and writes
// how many packages these are.
func check(w io.Writer, systems []string, pattern string) error {
	if len(systems) == 0 {
		return errors.New("no system is named: want some as linux/arm64")
	}
	var all []error
	for _, name := range systems {
		system, arch, ok := strings.Cut(name, "/")
		if !ok {
			return fmt.Errorf("%q is no system: want one as linux/arm64", name)
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
		for _, f := range mistakes(loaded) {
			all = append(all, fmt.Errorf("%s: %s", name, f))
		}
		fmt.Fprintf(w, "%s: %d packages and tests\n", name, len(loaded))
	}
	return errors.Join(all...)
}

// mistakes lists those of packages and of what they import, each once: a package's files
// are read again for its tests.
func mistakes(loaded []*packages.Package) []string {
	var found []string
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			found = append(found, e.Error())
		}
	})
	slices.Sort(found)
	return slices.Compact(found)
}
