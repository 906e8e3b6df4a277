package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/kindred-ml/kindred/internal/spell"
	"github.com/kindred-ml/kindred/internal/yamltext"
)

// ParsePlan reads a plan in YAML. file names the source in messages, of which each
// gives the line. docs/sweep.md explains the keys.
func ParsePlan(file string, text []byte) (*Plan, error) {
	r := planReader{file: file, plan: &Plan{Seed: 1, Seeds: 3}}
	f, err := yamltext.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for k, doc := range f.Docs {
		switch {
		case doc.Body == nil:
		case k > 0:
			r.fail(doc.Body, "a second document; a plan is one")
		default:
			r.fields(doc.Body, "the plan", r.top())
		}
	}
	if len(r.errs) == 0 {
		r.check()
	}
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	return r.plan, nil
}

// planReader collects errors while it fills a plan in.
type planReader struct {
	file string
	plan *Plan
	errs []error
}

func (r *planReader) place(n ast.Node) string {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return fmt.Sprintf("%s:%d", r.file, t.Position.Line)
	}
	return r.file
}

func (r *planReader) fail(n ast.Node, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s: %s", r.place(n), fmt.Sprintf(format, args...)))
}

// field is a key of a mapping and what reads its value.
type field struct {
	name string
	read func(n ast.Node)
}

func (r *planReader) top() []field {
	p := r.plan
	return []field{
		{"set", func(n ast.Node) { p.Set = r.settings(n, "set", "") }},
		{"ranges", func(n ast.Node) { p.Ranges = r.ranges(n) }},
		{"start", func(n ast.Node) { p.Start = r.settings(n, "start", "") }},
		{"arms", func(n ast.Node) { p.Arms = r.arms(n) }},
		{"search", func(n ast.Node) { r.text(n, p.Search.UnmarshalText) }},
		{"stop", func(n ast.Node) { r.text(n, p.Stop.UnmarshalText) }},
		{"trials", r.count(&p.Trials, 1)}, {"budget", r.count(&p.Budget, 1)},
		{"first", r.count(&p.First, 1)}, {"reduction", r.count(&p.Reduction, 2)},
		{"folds", r.folds}, {"use", r.count(&p.Use, 1)},
		{"metric", func(n ast.Node) { r.text(n, func(t []byte) error { p.Metric = string(t); return nil }) }},
		{"seed", func(n ast.Node) {
			r.text(n, func(t []byte) (err error) { p.Seed, err = strconv.ParseUint(string(t), 10, 64); return err })
		}},
		{"seeds", r.count(&p.Seeds, 0)}, {"at_once", r.count(&p.AtOnce, 1)},
	}
}

// fields reads a mapping with a closed list of keys.
func (r *planReader) fields(n ast.Node, what string, known []field) {
	var names []string
	for _, f := range known {
		names = append(names, f.name)
	}
	r.entries(n, what, func(key string, at, v ast.Node) {
		k := slices.Index(names, key)
		if k < 0 {
			r.fail(at, "%s has no key %q%s; there are %s", what, key, spell.Suggest(key, names),
				strings.Join(names, ", "))
			return
		}
		known[k].read(v)
	})
}

// entries calls visit for the lines of a mapping.
func (r *planReader) entries(n ast.Node, what string, visit func(key string, at, v ast.Node)) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	case *ast.NullNode, *ast.CommentNode, *ast.CommentGroupNode:
	default:
		r.fail(n, "%s is not made of \"key: value\" lines", what)
	}
	for _, v := range values {
		visit(v.Key.GetToken().Value, v.Key, v.Value)
	}
}

// value is a node as JSON.
func (r *planReader) value(n ast.Node) (string, bool) {
	var v any
	if err := yaml.NodeToValue(n, &v); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		r.fail(n, "%s", first)
		return "", false
	}
	out, err := json.Marshal(v)
	if err != nil { // maps with keys that are no texts, and numbers that are none
		r.fail(n, "a value that no setting can have")
		return "", false
	}
	return string(out), true
}

// text reads a single value.
func (r *planReader) text(n ast.Node, set func([]byte) error) {
	s, ok := n.(ast.ScalarNode)
	if !ok {
		r.fail(n, "want a single value")
		return
	}
	if err := set([]byte(fmt.Sprint(s.GetValue()))); err != nil {
		r.fail(n, "%v", err)
	}
}

// most bounds counts, so that products of two stay in 64 bits.
const most = 1 << 24

func (r *planReader) count(to *int, least int) func(ast.Node) {
	return func(n ast.Node) {
		r.text(n, func(t []byte) (err error) {
			if *to, err = strconv.Atoi(string(t)); err != nil || *to < least || *to > most {
				return fmt.Errorf("%q is not a whole number from %d to %d", t, least, most)
			}
			return nil
		})
	}
}

// folds reads 3 or images:3.
func (r *planReader) folds(n ast.Node) {
	r.text(n, func(t []byte) error {
		number, ok := strings.CutPrefix(string(t), "images:")
		r.plan.Images = ok
		k, err := strconv.Atoi(number)
		if err != nil || k < 2 || k > most {
			return fmt.Errorf("%q is neither a number of folds of the classes, 2 or more, nor images:N", t)
		}
		r.plan.Folds = k
		return nil
	})
}

// own are the keys that the sweep sets itself, and why.
var own = map[string]string{
	"data.fold":  "the folds are the plan's: folds",
	"train.seed": "seeds are the plan's: seed and seeds",
	"eval.every": "trials are scored where they are compared",
}

// settings reads "section.key: value" lines, where sections may also be mappings.
func (r *planReader) settings(n ast.Node, what, section string) []Setting {
	var out []Setting
	r.entries(n, what, func(key string, at, v ast.Node) {
		_, nested := v.(*ast.MappingNode)
		if _, one := v.(*ast.MappingValueNode); section == "" && (nested || one) && !strings.Contains(key, ".") {
			out = append(out, r.settings(v, what, key+".")...)
			return
		}
		key = section + key
		if why, ok := own[key]; ok {
			r.fail(at, "%s cannot be set: %s", key, why)
			return
		}
		if text, ok := r.value(v); ok {
			out = append(out, Setting{key, text, r.place(at)})
		}
	})
	return out
}

func (r *planReader) arms(n ast.Node) []Arm {
	list, ok := n.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		r.fail(n, "arms is a list: - {name: ..., set: {...}, ranges: {...}}")
		return nil
	}
	var out []Arm
	for _, v := range list.Values {
		var a Arm
		r.fields(v, "an arm", []field{
			{"name", func(n ast.Node) { r.text(n, func(t []byte) error { a.Name = string(t); return nil }) }},
			{"set", func(n ast.Node) { a.Set = r.settings(n, "set", "") }},
			{"ranges", func(n ast.Node) { a.Ranges = r.ranges(n) }},
			{"start", func(n ast.Node) { a.Start = r.settings(n, "start", "") }},
			{"search", func(n ast.Node) { a.Search = new(Search); r.text(n, a.Search.UnmarshalText) }},
			{"stop", func(n ast.Node) { a.Stop = new(Stop); r.text(n, a.Stop.UnmarshalText) }},
		})
		slug := spell.Folder(a.Name)
		switch {
		case strings.Trim(slug, "-") == "":
			r.fail(v, "an arm needs a name with a letter or a digit")
		case slices.ContainsFunc(out, func(b Arm) bool { return spell.Folder(b.Name) == slug }):
			r.fail(v, "two arms would have the folder %q: give them other names", slug)
		}
		out = append(out, a)
	}
	return out
}

func (r *planReader) ranges(n ast.Node) []Range {
	var out []Range
	r.entries(n, "ranges", func(key string, at, v ast.Node) {
		if why, ok := own[key]; ok || key == "train.epochs" {
			if !ok {
				why = "the budget is counted in epochs; put it under set"
			}
			r.fail(at, "%s cannot have a range: %s", key, why)
			return
		}
		one := Range{Key: key, place: r.place(at)}
		if list, ok := v.(*ast.SequenceNode); ok {
			r.list(&one, v, list)
		} else {
			r.interval(&one, v)
		}
		out = append(out, one)
	})
	return out
}

// list reads the values to choose from.
func (r *planReader) list(to *Range, at ast.Node, list *ast.SequenceNode) {
	for _, v := range list.Values {
		text, ok := r.value(v)
		if ok && slices.Contains(to.Values, text) {
			r.fail(v, "%s: %s stands there twice", to.Key, text)
		}
		to.Values = append(to.Values, text)
	}
	if len(to.Values) < 2 {
		r.fail(at, "%s: a range of %d values is none to choose from; one value goes under set", to.Key, len(to.Values))
	}
}

// interval reads {low: 0.1, high: 1, log: true}.
func (r *planReader) interval(to *Range, n ast.Node) {
	before := len(r.errs)
	whole, bounds := true, 0
	number := func(v *float64) func(ast.Node) {
		return func(n ast.Node) {
			bounds++
			r.text(n, func(t []byte) (err error) {
				*v, err = strconv.ParseFloat(string(t), 64)
				if err != nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
					return fmt.Errorf("%q is not a number", t)
				}
				_, isWhole := n.(*ast.IntegerNode)
				whole = whole && isWhole && math.Abs(*v) <= 1<<53
				return nil
			})
		}
	}
	r.fields(n, "the range of "+to.Key, []field{
		{"low", number(&to.Low)}, {"high", number(&to.High)}, {"step", func(n ast.Node) {
			number(&to.Step)(n)
			bounds--
		}},
		{"log", func(n ast.Node) {
			r.text(n, func(t []byte) (err error) { to.Log, err = strconv.ParseBool(string(t)); return err })
		}},
	})
	if len(r.errs) > before {
		return
	}
	to.Whole = whole
	switch {
	case bounds < 2:
		r.fail(n, "%s: want a list of values, or {low: 0.1, high: 1} with log and step if wanted", to.Key)
	case !(to.Low < to.High):
		r.fail(n, "%s: the range from %v to %v is empty", to.Key, to.Low, to.High)
	case math.IsInf(to.High-to.Low, 0):
		r.fail(n, "%s: the range from %v to %v is too wide", to.Key, to.Low, to.High)
	case to.Log && to.Low <= 0:
		r.fail(n, "%s: a logarithmic range starts above 0", to.Key)
	case to.Step < 0 || to.Step > to.High-to.Low:
		r.fail(n, "%s: step %v is not in the range from %v to %v", to.Key, to.Step, to.Low, to.High)
	case to.Log && to.Step > 0:
		r.fail(n, "%s: a logarithmic range has no step", to.Key)
	}
}
