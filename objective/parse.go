package objective

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/loss"
)

// Parse makes options from the mine and loss sections of a configuration, as
// decoded from YAML or JSON; values may also be strings, as from a command
// line. Unknown keys and values are errors that name the nearest known one.
//
// lossCfg has the loss's name under "name" and its options under the keys that
// Losses lists. Every loss also knows relation (equal, shares-label or
// coarse-not-fine), normalize, trim, memory, l2, zero_mean, part (as 3/4) and
// triplets (mined, shared or intra) of Options, and margin, distance and epsilon. Mining
// reads the last three too: margin and distance bound FaceNet's negatives. "nested" may hold
// lengths, such as [64, 128]: the loss is then also that of the first 64 and of the first 128
// numbers, each divided by their norm, so that embeddings can be cut off there (Kusupati et al.
// 2022, "Matryoshka Representation Learning"). "plus" may hold a list of further losses, each
// a section like this one with a key "weight" and, if it mines differently, "positives",
// "negatives" and their ranges.
//
// mineCfg has the keys that MiningKeys lists, which are the fields of MiningConfig:
// fallback is none or hard, and positives_from, positives_to, negatives_from and
// negatives_to are the ends of its ranges. The default policies are the loss's customary
// ones.
//
// The caller sets Classes, Dim, Seed and Relate of the options. The error is a KeyErrors.
func Parse(mineCfg, lossCfg map[string]any) (Options, error) {
	l := &section{name: "loss", values: lossCfg}
	m := &section{name: "mine", values: mineCfg}
	o := parseLoss(m, l)
	l.setByName("relation", &o.Rule, RelationRuleNames())
	o.Plus = nestedTerms(m, l, o)
	if more, ok := l.get("plus"); ok {
		list, ok := more.([]any)
		if !ok {
			l.fail("plus", "%v is not a list of losses", more)
		}
		for k, v := range list {
			name := fmt.Sprintf("loss.plus[%d]", k)
			values, ok := v.(map[string]any)
			if !ok {
				l.errs.Add(&KeyError{Key: name, Text: fmt.Sprintf("%v is not a section", v)})
				continue
			}
			own := maps.Clone(mineCfg)
			if own == nil {
				own = map[string]any{}
			}
			values = maps.Clone(values)
			for _, key := range []string{"positives", "negatives", "positives_from", "positives_to", "negatives_from",
				"negatives_to"} {
				delete(own, key)
				if p, ok := values[key]; ok {
					own[key] = p
					delete(values, key)
				}
			}
			pl := &section{name: name, values: values}
			pm := &section{name: name, values: own}
			w := Weighted{Weight: option.OrDefault(pl.nonNegative("weight"), 1), Options: parseLoss(pm, pl)}
			o.Plus = append(o.Plus, w)
			l.errs = slices.Concat(l.errs, pl.allErrors(), pm.allErrors())
		}
	}
	return o, append(l.allErrors(), m.allErrors()...).Err()
}

// nestedTerms are the same loss on the first numbers of an embedding, for each length that the key
// nested lists.
func nestedTerms(m, l *section, o Options) []Weighted {
	lengths := l.positiveInts("nested")
	if lengths != nil && !o.Part.isWhole() {
		l.fail("nested", "goes by the first numbers of the whole embedding: leave part out")
	}
	var all []Weighted
	for i, n := range lengths {
		if slices.Contains(lengths[:i], n) {
			l.fail("nested", "%d stands there twice", n)
		}
		// Each has parameters of its own. Mistakes were told with the first.
		one := parseLoss(&section{name: m.name, values: m.values}, &section{name: l.name, values: l.values})
		one.Rule, one.Part = o.Rule, Part{First: n}
		all = append(all, Weighted{Weight: 1, Options: one})
	}
	return all
}

// ParseFlat is Parse with the keys of both sections in one map, and the loss's
// name under "loss".
func ParseFlat(flat map[string]any) (Options, error) {
	mineCfg, lossCfg, mining := map[string]any{}, map[string]any{}, MiningKeys()
	for k, v := range flat {
		switch {
		case k == "loss":
			lossCfg["name"] = v
		case k != "epsilon" && slices.Contains(mining, k): // the loss's epsilon is mining's too
			mineCfg[k] = v
		default:
			lossCfg[k] = v
		}
	}
	return Parse(mineCfg, lossCfg)
}

// Key is a key of the mine or the loss section. Values are the words that it takes, if it
// takes words.
type Key struct {
	Name   string
	Values []string
}

// Keys lists the keys of the mine section, and those keys of the loss section that the
// named loss knows, or that any loss knows if the name is "". An unknown name has the
// keys of the triplet loss. The order is that in which Parse reads them.
func Keys(lossName string) (mining, ofLoss []Key) {
	m, l := &section{name: "mine"}, &section{name: "loss"}
	if lossName != "" {
		l.values = map[string]any{"name": lossName}
	} else {
		for _, e := range entries {
			e.build(l)
		}
	}
	parseLoss(m, l)
	l.setByName("relation", new(RelationRule), RelationRuleNames())
	l.get("nested")
	l.get("plus")
	return m.askedKeys(), l.askedKeys()
}

// MiningKeys returns the names of the keys of the mine section.
func MiningKeys() []string {
	m := &section{name: "mine"}
	parseLoss(m, &section{name: "loss"})
	return m.asked
}

// parseLoss reads the keys of one loss.
func parseLoss(m, l *section) Options {
	var o Options
	name := l.text("name", "triplet")
	l.noteChoices("name", LossNames())
	entry, err := findLoss(name)
	if err != nil {
		l.fail("name", "%v", err)
		entry, _ = findLoss("triplet")
	}
	o.Loss = entry.build(l)
	o.Normalize = l.boolean("normalize", false)
	o.Trim = option.OrDefault(l.nonNegativeBelow("trim", 1), 0)
	o.Memory = l.nonNegativeInt("memory")
	o.L2 = option.OrDefault(l.nonNegative("l2"), 0)
	o.ZeroMean = option.OrDefault(l.nonNegative("zero_mean"), 0)
	o.Part = l.part("part")
	l.setByName("triplets", &o.Triplets, tripletRuleNames.List)

	o.Mine.Margin = l.nonNegative("margin")
	o.Mine.Euclidean = l.euclidean(o.Loss.Traits().Measure == loss.Euclidean)
	o.Mine.Epsilon = l.nonNegative("epsilon")
	if e := m.nonNegative("epsilon"); e != nil {
		o.Mine.Epsilon = e
	}
	o.Mine.Positives, o.Mine.Negatives = entry.positives, entry.negatives
	m.setByName("positives", &o.Mine.Positives, PositivePolicyNames())
	m.setByName("negatives", &o.Mine.Negatives, NegativePolicyNames())
	if o.Mine.Positives == SemiHardPositive && o.Mine.Negatives.FollowsPositive() {
		m.fail("positives", "%v positives are chosen by the negative and %s.negatives, %v, by the positive: take "+
			"another policy for one of them", o.Mine.Positives, m.name, o.Mine.Negatives)
	}
	o.Mine.PositiveRange, o.Mine.NegativeRange = m.distanceRange("positives"), m.distanceRange("negatives")
	o.Mine.HardFallback = m.choice("fallback", "none", "none", "hard") == "hard"
	o.Mine.Nearest = m.nonNegative("nearest")
	o.Mine.Cutoff = m.positive("cutoff")
	o.Mine.MaxWeight = m.positive("max_weight")
	o.Mine.Angle = m.angle("angle")
	if o.Mine.Bands = m.nonNegativeInt("bands"); o.Mine.Bands > 1<<16 {
		m.fail("bands", "%d is more than %d", o.Mine.Bands, 1<<16)
	}
	if near, cut := o.Mine.Reach(); o.Mine.Nearest != nil && near > cut {
		m.fail("nearest", "%v is beyond the cutoff, %v", near, cut)
	}
	return o
}

// KeyError says what is wrong with a key of a configuration, such as "mine.positives" or "loss.margin", or with the
// text as a whole. The errors of Parse have no place; run.Parse adds it.
type KeyError struct {
	// Place is the file, with the line if it is known: "run.yaml:3". It is empty if the
	// key is not in a file.
	Place string
	// Override is the setting, as "train.epochs=many", if that is where the key was given.
	Override string
	// Key is the key with its section, as "train.epochs"; empty if there is no such key.
	Key string
	// Text says what is wrong, without the key and the place.
	Text string
}

// Error is the place or the override, the key and the text, with ": " between them.
func (e *KeyError) Error() string { return e.Named(func(option string) string { return option }) }

// Message is the key and the text, without the place.
func (e *KeyError) Message() string {
	at := *e
	at.Place, at.Override = "", ""
	return at.Error()
}

// Named is Error with another word for "override", given by name.
func (e *KeyError) Named(name func(option string) string) string {
	parts := []string{e.Place, "", e.Key, e.Text}
	if e.Override != "" {
		parts[1] = name(option.Override) + " " + e.Override
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// KeyErrors has all errors of a configuration.
type KeyErrors []*KeyError

// Add appends an error unless an equal one is there already.
func (e *KeyErrors) Add(one *KeyError) {
	if !slices.ContainsFunc(*e, func(was *KeyError) bool { return *was == *one }) {
		*e = append(*e, one)
	}
}

// Err is e as an error, nil if there are none.
func (e KeyErrors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Error is the messages, one a line.
func (e KeyErrors) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns the errors one by one.
func (e KeyErrors) Unwrap() []error {
	out := make([]error, len(e))
	for i, one := range e {
		out[i] = one
	}
	return out
}
