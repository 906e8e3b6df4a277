package sweep

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/format/yamltext"
)

// ParsePlan reads a plan in YAML. file names the source in messages, and each message
// gives the line. docs/sweep.md explains the keys.
func ParsePlan(file string, text []byte) (*Plan, error) {
	return parsePlan(file, text, &planReader{plan: &Plan{Seed: 1, Seeds: 3}})
}

func parsePlan(file string, text []byte, r *planReader) (*Plan, error) {
	r.Reader = yamltext.NewReader(file)
	f, err := r.Parse(text)
	if err != nil {
		return nil, err
	}
	for k, doc := range f.Docs {
		switch {
		case doc.Body == nil:
		case k > 0:
			r.Fail(doc.Body, "a second document: want one")
		default:
			r.Fields(doc.Body, r.planName(), r.topFields())
		}
	}
	switch {
	case r.NumErrors() > 0:
	case r.isComparison:
		r.checkComparison()
	default:
		r.check()
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return r.plan, nil
}

// planReader reads a plan.
type planReader struct {
	*yamltext.Reader
	plan         *Plan
	isComparison bool // of Compare
}

// planName names the plan in messages.
func (r *planReader) planName() string {
	if r.isComparison {
		return "the plan of a comparison, which has no search,"
	}
	return "the plan"
}

// withoutSearchKeys removes the keys of a search from those of a comparison.
func (r *planReader) withoutSearchKeys(fields []yamltext.Field) []yamltext.Field {
	return slices.DeleteFunc(fields, func(f yamltext.Field) bool {
		return r.isComparison && slices.Contains(searchKeys, f.Name)
	})
}

func (r *planReader) topFields() []yamltext.Field {
	p := r.plan
	return r.withoutSearchKeys([]yamltext.Field{
		yamltext.AnyField("set", func(n ast.Node) { p.Set = r.settings(n, "set", "") }),
		yamltext.AnyField("ranges", func(n ast.Node) { p.Ranges = r.ranges(n) }),
		yamltext.AnyField("start", func(n ast.Node) { p.Start = r.settings(n, "start", "") }),
		yamltext.AnyField("arms", func(n ast.Node) { p.Arms = r.arms(n) }),
		yamltext.AnyField("search", func(n ast.Node) { r.Text(n, p.Search.UnmarshalText) }),
		yamltext.AnyField("stop", func(n ast.Node) { r.Text(n, p.Stop.UnmarshalText) }),
		r.IntField("trials", &p.Trials, 1), r.IntField("budget", &p.Budget, 1),
		r.IntField("first", &p.First, 1), r.IntField("reduction", &p.Reduction, 2),
		yamltext.AnyField("folds", r.folds), r.IntField("use", &p.Use, 1),
		r.StringField("metric", &p.Metric),
		yamltext.AnyField("seed", func(n ast.Node) {
			r.Text(n, func(t []byte) (err error) { p.Seed, err = strconv.ParseUint(string(t), 10, 64); return err })
		}),
		r.IntField("seeds", &p.Seeds, 0), r.IntField("at_once", &p.AtOnce, 1),
	})
}

// value returns a node as JSON.
func (r *planReader) value(n ast.Node) (string, bool) {
	var v any
	if err := yaml.NodeToValue(n, &v); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		r.Fail(n, "%s", first)
		return "", false
	}
	out, err := json.Marshal(v)
	if err != nil { // maps with keys that are not texts, and NaN or infinite numbers
		r.Fail(n, "a value that is not allowed for a setting")
		return "", false
	}
	return string(out), true
}

// maxCount bounds counts.
const maxCount = yamltext.MaxCount

// folds reads 3 or images:3.
func (r *planReader) folds(n ast.Node) {
	r.Text(n, func(t []byte) error {
		number, ok := strings.CutPrefix(string(t), "images:")
		r.plan.Images = ok
		k, err := strconv.Atoi(number)
		if err != nil || k < 2 || k > maxCount {
			return fmt.Errorf("%q: want a number of folds of the classes, 2 or more, or images:N", t)
		}
		r.plan.Folds = k
		return nil
	})
}

// reservedKeys has the keys that the sweep sets itself, with advice.
var reservedKeys = map[string]string{
	"data.fold":  "use the plan's key folds",
	"train.seed": "use the plan's keys seed and seeds",
	"eval.every": "the plan decides when trials are scored",
}

// settings reads "section.key: value" lines, where sections may also be mappings.
func (r *planReader) settings(n ast.Node, what, section string) []Setting {
	var out []Setting
	r.Entries(n, what, func(key string, at, v ast.Node) {
		_, nested := v.(*ast.MappingNode)
		if _, one := v.(*ast.MappingValueNode); section == "" && (nested || one) && !strings.Contains(key, ".") {
			out = append(out, r.settings(v, what, key+".")...)
			return
		}
		key = section + key
		if why, ok := reservedKeys[key]; ok && !(r.isComparison && key == "eval.every") {
			r.Fail(at, "%s cannot be set: %s", key, why)
			return
		}
		if text, ok := r.value(v); ok {
			out = append(out, Setting{key, text, r.Position(at)})
		}
	})
	return out
}

func (r *planReader) arms(n ast.Node) []Arm {
	list, ok := n.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		r.Fail(n, "arms is a list: - {name: ..., set: {...}, ranges: {...}}")
		return nil
	}
	var out []Arm
	for _, v := range list.Values {
		var a Arm
		r.Fields(v, "an arm", r.withoutSearchKeys([]yamltext.Field{
			r.StringField("name", &a.Name),
			yamltext.AnyField("set", func(n ast.Node) { a.Set = r.settings(n, "set", "") }),
			yamltext.AnyField("ranges", func(n ast.Node) { a.Ranges = r.ranges(n) }),
			yamltext.AnyField("start", func(n ast.Node) { a.Start = r.settings(n, "start", "") }),
			yamltext.AnyField("search", func(n ast.Node) { a.Search = new(Search); r.Text(n, a.Search.UnmarshalText) }),
			yamltext.AnyField("stop", func(n ast.Node) { a.Stop = new(Stop); r.Text(n, a.Stop.UnmarshalText) }),
		}))
		slug := enum.FolderName(a.Name)
		switch {
		case strings.Trim(slug, "-") == "":
			r.Fail(v, "an arm needs a name with a letter or a digit")
		case slices.ContainsFunc(out, func(b Arm) bool { return enum.FolderName(b.Name) == slug }):
			r.Fail(v, "two arms would have the folder %q: give them other names", slug)
		}
		out = append(out, a)
	}
	return out
}

func (r *planReader) ranges(n ast.Node) []Range {
	var out []Range
	r.Entries(n, "ranges", func(key string, at, v ast.Node) {
		if why, ok := reservedKeys[key]; ok || key == "train.epochs" {
			if !ok {
				why = "the budget is counted in epochs: put train.epochs under set"
			}
			r.Fail(at, "%s cannot have a range: %s", key, why)
			return
		}
		one := Range{Key: key, place: r.Position(at)}
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
			r.Fail(v, "%s: %s occurs twice", to.Key, text)
		}
		to.Values = append(to.Values, text)
	}
	if len(to.Values) < 2 {
		r.Fail(at, "%s: %s to choose from: want at least 2, or put a fixed value under set", to.Key,
			enum.Count(len(to.Values), "value"))
	}
}

// interval reads {low: 0.1, high: 1, log: true}.
func (r *planReader) interval(to *Range, n ast.Node) {
	before := r.NumErrors()
	whole, bounds := true, 0
	number := func(v *float64) func(ast.Node) {
		return func(n ast.Node) {
			bounds++
			r.Text(n, func(t []byte) (err error) {
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
	r.Fields(n, "the range of "+to.Key, []yamltext.Field{
		yamltext.AnyField("low", number(&to.Low)), yamltext.AnyField("high", number(&to.High)),
		yamltext.AnyField("step", func(n ast.Node) {
			number(&to.Step)(n)
			bounds--
		}),
		r.BoolField("log", &to.Log),
	})
	if r.NumErrors() > before {
		return
	}
	to.Whole = whole
	switch {
	case bounds < 2:
		r.Fail(n, "%s: want a list of values, or {low: 0.1, high: 1}, optionally with log and step", to.Key)
	case !(to.Low < to.High):
		r.Fail(n, "%s: the range from %v to %v is empty", to.Key, to.Low, to.High)
	case math.IsInf(to.High-to.Low, 0):
		r.Fail(n, "%s: the range from %v to %v is too wide", to.Key, to.Low, to.High)
	case to.Log && to.Low <= 0:
		r.Fail(n, "%s: a logarithmic range must start above 0", to.Key)
	case to.Step < 0 || to.Step > to.High-to.Low:
		r.Fail(n, "%s: step %v is not in the range from %v to %v", to.Key, to.Step, to.Low, to.High)
	case to.Log && to.Step > 0:
		r.Fail(n, "%s: a logarithmic range cannot have a step", to.Key)
	}
}
