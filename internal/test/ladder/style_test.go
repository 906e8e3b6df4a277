package ladder

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	columns = 120 // columns of a line; a tab counts as four
	rows    = 80  // lines of a function, from the first to the last
)

// forEachSource calls f for every Go file of the repository that is not generated.
func forEachSource(t *testing.T, f func(path string, text []byte)) {
	t.Helper()
	seen := 0
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != root && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata"):
			return filepath.SkipDir
		case e.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		head, _, _ := strings.Cut(string(text), "\npackage ")
		if strings.Contains(head, "DO NOT EDIT") {
			return nil
		}
		seen++
		name, err := filepath.Rel(root, path)
		f(filepath.ToSlash(name), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 100 {
		t.Fatalf("only %d files seen", seen)
	}
}

// TestLinesFit checks that no line is wider than a side-by-side view, except in raw
// strings, which cannot be broken.
func TestLinesFit(t *testing.T) {
	forEachSource(t, func(path string, text []byte) {
		raw := rawLines(text)
		n := 0
		for line := range strings.SplitSeq(string(text), "\n") {
			n++
			if w := width(line); w > columns && !raw[n] {
				t.Errorf("%s:%d: %d columns", path, n, w)
			}
		}
	})
}

// width returns the number of columns of a line.
func width(line string) int {
	n := 0
	for _, r := range line {
		if n++; r == '\t' {
			n += 3
		}
	}
	return n
}

// rawLines returns the lines of a Go file that have a part of a raw string.
func rawLines(text []byte) map[int]bool {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	raw := make(map[int]bool)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return raw
		}
		if tok == token.STRING && lit[0] == '`' {
			first := file.Line(pos)
			for k := range strings.Count(lit, "\n") + 1 {
				raw[first+k] = true
			}
		}
	}
}

// TestFunctionsFit checks that the comment of a function that does not fit on a screen
// has the reason after "Long:".
func TestFunctionsFit(t *testing.T) {
	forEachSource(t, func(path string, text []byte) {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			t.Error(err)
			return
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			at := fset.Position(f.Pos())
			n := fset.Position(f.End()).Line - at.Line + 1
			if reason := strings.Contains(f.Doc.Text(), "Long: "); n > rows && !reason {
				t.Errorf("%s:%d: %s has %d lines: split it, or say why not after \"Long:\" in its comment",
					path, at.Line, f.Name.Name, n)
			} else if n <= rows && reason {
				t.Errorf("%s:%d: %s has only %d lines and needs no reason", path, at.Line, f.Name.Name, n)
			}
		}
	})
}
