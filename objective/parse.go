package objective

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/mine"
)

// Parse makes options from the mine and loss sections of a configuration, as
// decoded from YAML or JSON; values may also be strings, as from a command
// line. lossCfg needs "name". Keys that a loss does not know are errors that
// name the nearest one it does. Policies that are not given are the loss's
// customary ones.
//
// The keys margin, distance and normalize are known to every loss: a margin and
// distance also bound FaceNet's negatives.
func Parse(mineCfg, lossCfg map[string]any) (Options, error) {
	var o Options
	l := &section{name: "loss", values: lossCfg}
	name := l.text("name", "triplet")
	build, ok := builders[name]
	if !ok {
		names := slices.Sorted(maps.Keys(builders))
		return o, fmt.Errorf("loss.name: unknown loss %q%s; there are %s", name, didYouMean(name, names), strings.Join(names, ", "))
	}
	o.Loss, o.Mine = build(l)
	o.Normalize = l.boolean("normalize", false)
	m := &section{name: "mine", values: mineCfg}
	o.Mine.Margin = l.number("margin")
	o.Mine.Euclidean = l.choice("distance", "squared", "squared", "euclidean") == "euclidean"
	o.Mine.Positives, _ = mine.ParsePositive(m.choice("positives", o.Mine.Positives.String(), mine.PositiveNames()...))
	o.Mine.Negatives, _ = mine.ParseNegative(m.choice("negatives", o.Mine.Negatives.String(), mine.NegativeNames()...))
	o.Mine.HardFallback = m.choice("fallback", "none", "none", "hard") == "hard"
	o.Mine.Epsilon = m.number("epsilon")
	o.Mine.Nearest = m.number("nearest")
	o.Mine.Cutoff = m.number("cutoff")
	o.Mine.MaxWeight = m.number("max_weight")
	return o, errors.Join(l.done(), m.done())
}

// LossNames returns the names that Parse knows.
func LossNames() []string { return slices.Sorted(maps.Keys(builders)) }

// builders make a loss and its customary mining from a section.
var builders = map[string]func(*section) (loss.Loss, mine.Config){
	"triplet": func(s *section) (loss.Loss, mine.Config) {
		return loss.Triplet{Margin: s.number("margin"), Euclidean: s.euclidean(false), Reduce: s.reduce()},
			mine.Config{}
	},
}

// section reads one section of a configuration, collecting errors and the keys
// it was asked for.
type section struct {
	name   string
	values map[string]any
	known  []string
	errs   []error
}

func (s *section) get(key string) (any, bool) {
	if !slices.Contains(s.known, key) {
		s.known = append(s.known, key)
	}
	v, ok := s.values[key]
	return v, ok && v != nil
}

func (s *section) fail(key, format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf("%s.%s: %s", s.name, key, fmt.Sprintf(format, args...)))
}

// number reads a finite number.
func (s *section) number(key string) loss.Optional {
	v, ok := s.get(key)
	if !ok {
		return loss.Optional{}
	}
	var x float64
	switch v := v.(type) {
	case float64:
		x = v
	case int:
		x = float64(v)
	case int64:
		x = float64(v)
	case uint64:
		x = float64(v)
	case string:
		var err error
		if x, err = strconv.ParseFloat(v, 64); err != nil {
			s.fail(key, "%q is not a number", v)
			return loss.Optional{}
		}
	default:
		s.fail(key, "%v is not a number", v)
		return loss.Optional{}
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		s.fail(key, "%v is not finite", x)
		return loss.Optional{}
	}
	return loss.Value(x)
}

func (s *section) text(key, def string) string {
	v, ok := s.get(key)
	if !ok {
		return def
	}
	t, ok := v.(string)
	if !ok {
		s.fail(key, "%v is not a name", v)
		return def
	}
	return t
}

func (s *section) boolean(key string, def bool) bool {
	v, ok := s.get(key)
	if !ok {
		return def
	}
	switch v := v.(type) {
	case bool:
		return v
	case string:
		if b, err := strconv.ParseBool(v); err == nil {
			return b
		}
	}
	s.fail(key, "%v is neither true nor false", v)
	return def
}

func (s *section) choice(key, def string, of ...string) string {
	v := s.text(key, def)
	if !slices.Contains(of, v) {
		s.fail(key, "unknown value %q%s; there are %s", v, didYouMean(v, of), strings.Join(of, ", "))
		return def
	}
	return v
}

func (s *section) euclidean(def bool) bool {
	name := "squared"
	if def {
		name = "euclidean"
	}
	return s.choice("distance", name, "squared", "euclidean") == "euclidean"
}

func (s *section) reduce() loss.Reduction {
	r, _ := loss.ParseReduction(s.choice("reduce", "", append(loss.ReductionNames(), "")...))
	return r
}

// done returns all errors, unknown keys among them.
func (s *section) done() error {
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		if !slices.Contains(s.known, key) {
			s.errs = append(s.errs, fmt.Errorf("%s.%s: unknown key%s; known are %s", s.name, key, didYouMean(key, s.known), strings.Join(slices.Sorted(slices.Values(s.known)), ", ")))
		}
	}
	return errors.Join(s.errs...)
}

// didYouMean returns a remark that names the entry of names nearest to word.
func didYouMean(word string, names []string) string {
	best, at := len(word)/2+2, ""
	for _, n := range names {
		if d := editDistance(word, n); d < best {
			best, at = d, n
		}
	}
	if at == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", at)
}

// editDistance is the Levenshtein distance of two short names.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
