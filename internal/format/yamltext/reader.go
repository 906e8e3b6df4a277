package yamltext

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/kindred-ml/kindred/internal/base/enum"
)

// Reader collects errors while a text is taken apart. Each begins with the file and the
// line, so that a reader of the text finds all that is wrong at once.
type Reader struct {
	file  string
	errs  []error
	noted int
}

// maxErrors is how many errors are kept.
const maxErrors = 100

// NewReader returns a Reader of the named file.
func NewReader(file string) *Reader { return &Reader{file: file} }

// Parse parses the text of the file, which Parse of this package checks.
func (r *Reader) Parse(text []byte) (*ast.File, error) {
	f, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.file, err)
	}
	return f, nil
}

// Position is the place of a node: file:line, or the file alone for nil.
func (r *Reader) Position(n ast.Node) string {
	if n != nil {
		if t := n.GetToken(); t != nil && t.Position != nil {
			return fmt.Sprintf("%s:%d", r.file, t.Position.Line)
		}
	}
	return r.file
}

// Fail notes what is wrong at a node, or in the file for nil.
func (r *Reader) Fail(n ast.Node, format string, args ...any) {
	r.Note(fmt.Errorf("%s: %s", r.Position(n), fmt.Sprintf(format, args...)))
}

// Note notes an error that names its place itself, or several that were joined. It does
// not note the same words twice, and of more than a hundred only that there are more.
func (r *Reader) Note(err error) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			r.Note(one)
		}
		return
	}
	if slices.ContainsFunc(r.errs, func(was error) bool { return was.Error() == err.Error() }) {
		return
	}
	if r.noted++; r.noted == maxErrors+1 {
		err = fmt.Errorf("%s: more mistakes, which are not listed: mend those before first", r.file)
	}
	if r.noted <= maxErrors+1 {
		r.errs = append(r.errs, err)
	}
}

// NumErrors is how many errors were noted.
func (r *Reader) NumErrors() int { return r.noted }

// Err joins the errors; nil if there are none.
func (r *Reader) Err() error { return errors.Join(r.errs...) }

// Field is a key of a mapping and what reads its value.
type Field struct {
	Name string
	Read func(n ast.Node)
}

// AnyField is a Field of any form.
func AnyField(name string, read func(n ast.Node)) Field { return Field{name, read} }

// StringField is a Field with a text.
func (r *Reader) StringField(name string, to *string) Field {
	return Field{name, func(n ast.Node) {
		r.Text(n, func(t []byte) error { *to = strings.TrimSuffix(string(t), "\n"); return nil })
	}}
}

// BoolField is a Field that is true or false.
func (r *Reader) BoolField(name string, to *bool) Field {
	return Field{name, func(n ast.Node) {
		r.Text(n, func(t []byte) (err error) {
			if *to, err = strconv.ParseBool(string(t)); err != nil {
				return fmt.Errorf("%q: must be true or false", t)
			}
			return nil
		})
	}}
}

// MaxCount bounds what Count reads, so that products of two stay in 64 bits.
const MaxCount = 1 << 24

// IntField is a Field with a whole number from least to MaxCount.
func (r *Reader) IntField(name string, to *int, least int) Field {
	return Field{name, func(n ast.Node) {
		r.Text(n, func(t []byte) (err error) {
			if *to, err = strconv.Atoi(string(t)); err != nil || *to < least || *to > MaxCount {
				return fmt.Errorf("%q is not a whole number from %d to %d", t, least, MaxCount)
			}
			return nil
		})
	}}
}

// FloatField is a Field with a number, which is finite.
func (r *Reader) FloatField(name string, to *float64) Field {
	return Field{name, func(n ast.Node) {
		r.Text(n, func(t []byte) (err error) {
			if *to, err = strconv.ParseFloat(string(t), 64); err != nil || math.IsNaN(*to) || math.IsInf(*to, 0) {
				return fmt.Errorf("%q is not a number", t)
			}
			return nil
		})
	}}
}

// EachEntry calls read for the entries of a list, which has one at least. what names it in
// messages.
func (r *Reader) EachEntry(n ast.Node, what string, read func(n ast.Node)) {
	list, ok := n.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		r.Fail(n, "%s is a list", what)
		return
	}
	for _, v := range list.Values {
		read(v)
	}
}

// Fields reads a mapping with a closed list of keys. what names it in messages.
func (r *Reader) Fields(n ast.Node, what string, known []Field) {
	var names []string
	for _, f := range known {
		names = append(names, f.Name)
	}
	r.Entries(n, what, func(key string, at, v ast.Node) {
		k := slices.Index(names, key)
		if k < 0 {
			r.Fail(at, "%s has no key %q%s; there are %s", what, key, enum.Suggest(key, names),
				strings.Join(names, ", "))
			return
		}
		known[k].Read(v)
	})
}

// Entries calls visit for the lines of a mapping, in their order.
func (r *Reader) Entries(n ast.Node, what string, visit func(key string, at, v ast.Node)) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	case *ast.NullNode, *ast.CommentNode, *ast.CommentGroupNode:
	default:
		r.Fail(n, "%s is not made of \"key: value\" lines", what)
	}
	for _, v := range values {
		visit(v.Key.GetToken().Value, v.Key, v.Value)
	}
}

// Text reads a single value.
func (r *Reader) Text(n ast.Node, set func([]byte) error) {
	s, ok := n.(ast.ScalarNode)
	if !ok {
		r.Fail(n, "want a single value")
		return
	}
	value := s.GetValue()
	if block, ok := s.(*ast.LiteralNode); ok { // whose own value is its source
		value = block.Value.Value
	}
	if err := set([]byte(fmt.Sprint(value))); err != nil {
		r.Fail(n, "%v", err)
	}
}
