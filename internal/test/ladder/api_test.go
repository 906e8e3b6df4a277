package ladder

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPublicSignaturesAreWritable: a program outside this module can write down every type
// that a public package (docs/api.md) exports. No exported function, method, field or type
// names a type of a package that is not public, except an alias, which gives it a public name.
func TestPublicSignaturesAreWritable(t *testing.T) {
	seen := 0
	for _, p := range Packages() {
		if !isPublic(p.Path) {
			continue
		}
		seen++
		dir := filepath.Join("..", "..", "..", filepath.FromSlash(p.Path))
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range internalTypes(f) {
				t.Errorf("%s/%s:%d: %s is internal: give it an alias", p.Path, e.Name(), fset.Position(id.Pos()).Line,
					id.X.(*ast.Ident).Name+"."+id.Sel.Name)
			}
		}
	}
	if seen < 10 {
		t.Fatalf("only %d public packages seen", seen)
	}
}

// privateFolders lists the folders below which no package is public.
var privateFolders = []string{"cmd", "docs"}

// isPublic reports whether the promises of docs/api.md hold for a package, given by its path
// in the module.
func isPublic(path string) bool {
	top, _, _ := strings.Cut(path, "/")
	return path != "." && !strings.Contains("/"+path, "/internal/") && !slices.Contains(privateFolders, top)
}

// internalTypes lists the names of internal packages' types in what a file exports.
func internalTypes(f *ast.File) []*ast.SelectorExpr {
	internal := map[string]bool{} // imports, by their names in the file
	for _, imp := range f.Imports {
		path, _ := strconv.Unquote(imp.Path.Value)
		name := path[strings.LastIndex(path, "/")+1:]
		if imp.Name != nil {
			name = imp.Name.Name
		}
		path, ours := pathInModule(path)
		internal[name] = ours && path != "." && !isPublic(path)
	}
	var found []*ast.SelectorExpr
	var look func(ast.Node)
	members := func(l *ast.FieldList) {
		for _, m := range l.List {
			if len(m.Names) == 0 || m.Names[0].IsExported() {
				look(m.Type)
			}
		}
	}
	look = func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && internal[x.Name] {
					found = append(found, n)
				}
			case *ast.StructType:
				members(n.Fields)
				return false
			case *ast.InterfaceType:
				members(n.Methods)
				return false
			}
			return true
		})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || receiver(d).IsExported()) {
				look(d.Type)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() && !s.Assign.IsValid() {
						look(s.Type)
					}
				case *ast.ValueSpec:
					if s.Names[0].IsExported() && s.Type != nil {
						look(s.Type)
					}
				}
			}
		}
	}
	return found
}

// receiver returns the name of a method's type.
func receiver(d *ast.FuncDecl) *ast.Ident {
	x := d.Recv.List[0].Type
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	if g, ok := x.(*ast.IndexExpr); ok {
		x = g.X
	}
	return x.(*ast.Ident)
}

// TestInternalTypes checks that internalTypes finds internal types, and no others.
func TestInternalTypes(t *testing.T) {
	const text = `package p
import ("github.com/kindred-ml/kindred/internal/compute/pair"; "github.com/kindred-ml/kindred/mat")
type Table = pair.Table // fine: an alias
type Options struct { Kin func(a int) pair.Kin; m *pair.Rows; Rows mat.Dense }
type Each interface { Do([]pair.Table) }
type hidden struct { T pair.Table }
func (hidden) Do(pair.Table) {}
func (*Options) Do(e *mat.Dense) map[string]*pair.Table { var t pair.Table; return t.All() }
func do(pair.Table) {}
var V pair.Measure
const S = pair.Similarity
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, id := range internalTypes(f) {
		got = append(got, id.Sel.Name)
	}
	if want := "Kin Table Table Measure"; strings.Join(got, " ") != want {
		t.Errorf("found %v, want %s", got, want)
	}
}
