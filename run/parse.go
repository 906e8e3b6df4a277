package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/format/yamltext"
)

// Parse reads a configuration in YAML on top of Default, then applies the
// overrides, each "section.key=value". file names the source in messages.
//
// Unknown keys are errors that name the nearest known one. The error is an objective.KeyErrors; each
// of its errors names the file and line, or the override.
func Parse(file string, text []byte, overrides ...string) (Config, error) {
	cfg := Default()
	p := configParser{cfg: &cfg, where: map[string]source{}}
	p.document(file, text)
	for _, o := range overrides {
		p.override(o)
	}
	if len(p.errs) == 0 {
		p.check()
	}
	return cfg, p.errs.Err()
}

// configParser collects errors while it fills a configuration in.
type configParser struct {
	cfg   *Config
	where map[string]source // of every key that was given
	errs  option.KeyErrors
}

// source is where a key was given: a file and line, or an override.
type source struct{ place, override string }

// mostMistakes is how many mistakes of a configuration are listed.
const mostMistakes = 100

// fail notes what is wrong with a key, "" for what is none of the keys.
func (p *configParser) fail(where source, key, format string, args ...any) {
	if len(p.errs) >= mostMistakes {
		key, format, args = "", "more mistakes, which are not listed: mend those before first", nil
		p.errs = p.errs[:mostMistakes]
	}
	p.errs = append(p.errs, &option.KeyError{Place: where.place, Override: where.override, Key: key,
		Text: fmt.Sprintf(format, args...)})
}

func (p *configParser) document(file string, text []byte) {
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
			p.fail(place(file, doc.Body), "", "a second document; a configuration is one")
			return
		}
		p.mapping(file, "", doc.Body, func(where source, key string, v ast.Node) {
			if !slices.Contains(sections(), key) {
				p.fail(where, "", "unknown section %q%s; sections are %s", key, suggest(key, sections()),
					strings.Join(sections(), ", "))
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
func (p *configParser) mapping(file, section string, n ast.Node, visit func(where source, key string, v ast.Node)) {
	if n.Type() == ast.CommentType {
		return
	}
	values, ok := entries(n)
	if !ok {
		what := "the configuration"
		if section != "" {
			what = "section " + section
		}
		p.fail(place(file, n), "", "%s is not made of \"key: value\" lines", what)
		return
	}
	for _, v := range values {
		visit(place(file, v.Key), keyText(v.Key), v.Value)
	}
}

// override applies "section.key=value".
func (p *configParser) override(o string) {
	where := source{override: o}
	path, value, ok := strings.Cut(o, "=")
	section, key, dotted := strings.Cut(path, ".")
	if !ok || !dotted {
		p.fail(where, "", "want section.key=value, such as train.epochs=3")
		return
	}
	if !slices.Contains(sections(), section) {
		p.fail(where, "", "unknown section %q%s; sections are %s", section, suggest(section, sections()),
			strings.Join(sections(), ", "))
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

// set gives one key its value. A nil or null node leaves the default.
func (p *configParser) set(where source, section, key string, n ast.Node) {
	path := section + "." + key
	if path == earlierStrict {
		p.setEarlier(where, n)
		return
	}
	p.where[path] = where
	if m, free := p.cfg.free(section); free {
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
	k := keyNamed(path)
	if k == nil {
		p.fail(where, "", "unknown key %q%s", path, suggest(path, keyNames()))
		return
	}
	if n == nil || n.Type() == ast.NullType {
		if s, ok := k.at(p.cfg).(*string); ok { // the override "data.augment=" empties it
			*s = ""
		}
		return
	}
	if err := decode(k.at(p.cfg), n); err != nil {
		p.fail(where, path, "%v", err)
	}
}

// earlierStrict is what data.strict was called, with the opposite meaning, in the
// configurations of runs that are still there.
const earlierStrict = "data.skip_corrupt"

// setEarlier sets data.strict by its earlier name.
func (p *configParser) setEarlier(where source, n ast.Node) {
	if n == nil || n.Type() == ast.NullType {
		return
	}
	var skip bool
	if err := decode(&skip, n); err != nil {
		p.fail(where, earlierStrict, "%v", err)
		return
	}
	p.where["data.strict"] = where
	p.cfg.Data.Strict = !skip
}

// check reports values that no data set could make right.
func (p *configParser) check() {
	for _, e := range p.cfg.problems() {
		p.fail(p.where[e.key], e.key, "%s", e.text)
	}
	_, err := p.cfg.objective()
	var wrong option.KeyErrors
	errors.As(err, &wrong)
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
