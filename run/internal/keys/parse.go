package keys

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/kindred-ml/kindred/internal/format/yamltext"
	"github.com/kindred-ml/kindred/objective"
)

// Parse reads a configuration in YAML on top of c, then applies the overrides, each
// "section.key=value". file names the source in messages. Each error of the objective.KeyErrors that
// it returns names the file and line, or the override.
func (t *Table[C]) Parse(c *C, file string, text []byte, overrides ...string) error {
	p := parser[C]{table: t, cfg: c, where: map[string]source{}}
	p.document(file, text)
	for _, o := range overrides {
		p.override(o)
	}
	if len(p.errs) == 0 {
		p.check()
	}
	return p.errs.Err()
}

// parser fills in a configuration and collects errors.
type parser[C any] struct {
	table *Table[C]
	cfg   *C
	where map[string]source // where every given key was given
	errs  objective.KeyErrors
}

// source is where a key was given: a file and line, or an override.
type source struct{ place, override string }

// maxMistakes is the largest number of mistakes of a configuration that are listed.
const maxMistakes = 100

// fail notes a mistake in a key, or in the configuration as a whole for the key "".
func (p *parser[C]) fail(where source, key, format string, args ...any) {
	if len(p.errs) >= maxMistakes {
		key, format, args = "", "more mistakes are not listed: mend these first", nil
		p.errs = p.errs[:maxMistakes]
	}
	p.errs = append(p.errs, &objective.KeyError{Place: where.place, Override: where.override, Key: key,
		Text: fmt.Sprintf(format, args...)})
}

func (p *parser[C]) document(file string, text []byte) {
	f, err := yamltext.Parse(text)
	if err != nil {
		p.fail(source{place: file}, "", "%v", err)
		return
	}
	for k, doc := range f.Docs {
		if doc.Body == nil {
			continue
		}
		if k > 0 {
			p.fail(place(file, doc.Body), "", "a second document: a configuration is a single document")
			return
		}
		p.mapping(file, "", doc.Body, func(where source, key string, v ast.Node) {
			if !slices.Contains(p.table.sections(), key) {
				p.fail(where, "", "unknown section %q%s: must be one of %s", key, suggest(key, p.table.sections()),
					strings.Join(p.table.sections(), ", "))
				return
			}
			if v.Type() == ast.NullType {
				return
			}
			p.mapping(file, key, v, func(where source, name string, v ast.Node) { p.set(where, key, name, v) })
		})
	}
}

// mapping calls visit for the entries of a mapping node.
func (p *parser[C]) mapping(file, section string, n ast.Node, visit func(where source, key string, v ast.Node)) {
	if n.Type() == ast.CommentType {
		return
	}
	values, ok := entries(n)
	if !ok {
		what := "the configuration"
		if section != "" {
			what = "section " + section
		}
		p.fail(place(file, n), "", "%s must consist of \"key: value\" lines", what)
		return
	}
	for _, v := range values {
		visit(place(file, v.Key), keyText(v.Key), v.Value)
	}
}

// override applies "section.key=value".
func (p *parser[C]) override(o string) {
	where := source{override: o}
	path, value, ok := strings.Cut(o, "=")
	section, key, dotted := strings.Cut(path, ".")
	if !ok || !dotted {
		p.fail(where, "", "want section.key=value, such as train.epochs=3")
		return
	}
	if !slices.Contains(p.table.sections(), section) {
		p.fail(where, "", "unknown section %q%s: must be one of %s", section, suggest(section, p.table.sections()),
			strings.Join(p.table.sections(), ", "))
		return
	}
	f, err := yamltext.Parse([]byte(value))
	if err != nil {
		p.fail(where, "", "%v", err)
		return
	}
	var node ast.Node
	if len(f.Docs) > 0 {
		node = f.Docs[0].Body
	}
	p.set(where, section, key, node)
}

// set sets one key. A nil or null node leaves the default.
func (p *parser[C]) set(where source, section, key string, n ast.Node) {
	path := section + "." + key
	for i := range p.table.Keys {
		if k := &p.table.Keys[i]; k.Opposite == path {
			p.setOpposite(where, k, n)
			return
		}
	}
	p.where[path] = where
	if m, free := p.table.FreeSection(p.cfg, section); free {
		var v any
		if n != nil {
			if err := yaml.NodeToValue(n, &v); err != nil {
				p.fail(where, path, "%s", firstLine(err))
				return
			}
		}
		m[key] = v
		return
	}
	k := p.table.Lookup(path)
	if k == nil {
		p.fail(where, "", "unknown key %q%s", path, suggest(path, p.table.names()))
		return
	}
	if n == nil || n.Type() == ast.NullType {
		if s, ok := k.Pointer(p.cfg).(*string); ok { // the override "data.augment=" empties it
			*s = ""
		}
		return
	}
	if err := decode(k.Pointer(p.cfg), n); err != nil {
		p.fail(where, path, "%v", err)
	}
}

// setOpposite sets a key by its earlier name.
func (p *parser[C]) setOpposite(where source, k *Key[C], n ast.Node) {
	if n == nil || n.Type() == ast.NullType {
		return
	}
	var v bool
	if err := decode(&v, n); err != nil {
		p.fail(where, k.Opposite, "%v", err)
		return
	}
	p.where[k.Name] = where
	p.table.Set(p.cfg, k, !v)
}

// check reports values that are wrong for every data set.
func (p *parser[C]) check() {
	for _, e := range p.table.Problems(p.cfg) {
		p.fail(p.where[e.Key], e.Key, "%s", e.Text)
	}
	var wrong objective.KeyErrors
	errors.As(p.table.CheckFree(p.cfg), &wrong)
	for _, e := range wrong {
		p.fail(p.where[e.Key], e.Key, "%s", e.Text)
	}
}

func place(file string, n ast.Node) source {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return source{place: fmt.Sprintf("%s:%d", file, t.Position.Line)}
	}
	return source{place: file}
}

func keyText(k ast.Node) string {
	if t := k.GetToken(); t != nil {
		return t.Value
	}
	return k.String()
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
