package yamltext

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/ast"
)

// TestReader: values are read in the order of the text, and what is wrong is said once,
// with the file and the line.
func TestReader(t *testing.T) {
	r := NewReader("x.yaml")
	f, err := r.Parse([]byte("name: a\ncount: many\nnmae: b\nlist: [1]\nfolded: >-\n  two\n  lines\n"))
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]string{}
	text := func(name string) Field {
		return Field{name, func(n ast.Node) {
			r.Text(n, func(t []byte) error { read[name] = string(t); return nil })
		}}
	}
	r.Fields(f.Docs[0].Body, "a thing", []Field{text("name"), text("list"), text("folded"),
		{"count", func(n ast.Node) {
			r.Text(n, func(t []byte) error { return fmt.Errorf("%q is not a number", t) })
			r.Fail(n, "%q is not a number", "many")
		}}})
	if read["name"] != "a" || read["folded"] != "two lines" {
		t.Errorf("%q", read)
	}
	r.Fail(nil, "the whole is wrong")
	r.Note(errors.Join(errors.New("x.yaml: one"), errors.Join(errors.New("x.yaml: two"), errors.New("x.yaml: one"))))
	want := `x.yaml:2: "many" is not a number
x.yaml:3: a thing has no key "nmae" (did you mean "name"?); there are name, list, folded, count
x.yaml:4: want a single value
x.yaml: the whole is wrong
x.yaml: one
x.yaml: two`
	if got := r.Err(); got == nil || got.Error() != want || r.NumErrors() != 6 {
		t.Errorf("%v\nwant\n%s", got, want)
	}
	if r := NewReader("y"); r.Err() != nil {
		t.Error(r.Err())
	}
	if _, err := r.Parse([]byte("a: [")); err == nil || !strings.HasPrefix(err.Error(), "x.yaml: ") {
		t.Error(err)
	}
	r = NewReader("z")
	r.Entries(f.Docs[0].Body, "it", func(key string, at, _ ast.Node) {
		if key == "list" && r.Position(at) != "z:4" {
			t.Error(r.Position(at))
		}
		if key == "name" {
			r.Entries(at, "a name", func(string, ast.Node, ast.Node) { t.Error("a word has lines") })
		}
	})
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), `z:1: a name is not made of "key: value" lines`) {
		t.Error(err)
	}
}

// TestManyErrors: of more than a hundred the first are kept, and that there are more.
func TestManyErrors(t *testing.T) {
	r := NewReader("f.yaml")
	for i := range 5000 {
		r.Fail(nil, "mistake %d", i)
		r.Fail(nil, "mistake 0")
	}
	lines := strings.Split(r.Err().Error(), "\n")
	if len(lines) != maxErrors+1 || r.NumErrors() != 5000 || lines[0] != "f.yaml: mistake 0" ||
		!strings.Contains(lines[maxErrors], "more mistakes") {
		t.Errorf("%d lines, %d errors: %s", len(lines), r.NumErrors(), lines[len(lines)-1])
	}
}
