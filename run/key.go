package run

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/objective"
)

// key is the table entry of one configuration key. The zero value of every key means unset.
type key struct {
	name string // section.key
	help string
	// at returns where a configuration holds the value: a pointer that decode knows. The
	// keys of mine and loss, whose sections are maps, have none.
	at func(*Config) any
	// def is the default, nil for zero.
	def any
	// values are the words that the key takes; of an open list, the usual ones.
	values []string
	// checks report values that are wrong for every data set.
	checks []check
	// only returns why the key has no effect in a configuration, "" if it has one. It is
	// called for keys that are set.
	only func(*Config) string
	// begun tells whether a resumed run takes an unset key from the settings that it was
	// begun with; nil: never, because zero is a value.
	begun func(now, was *Config) bool
	// idle tells whether the key may have its value for a network that does not use it; nil
	// for a key that all networks use.
	idle func(*Config) bool
}

// keys is the table of all keys with a meaning of their own, in the order of config.yaml.
// Those of mine and loss that only the loss reads are objective's.
var keys = slices.Concat(dataKeys, networkKeys, sampleKeys, objectiveKeys, trainKeys, evalKeys)

// section is the first half of the key's name.
func (k *key) section() string {
	s, _, _ := strings.Cut(k.name, ".")
	return s
}

// in is the second half.
func (k *key) in() string {
	_, name, _ := strings.Cut(k.name, ".")
	return name
}

// value returns what a configuration has for the key; nil if its section is a map without
// it.
func (k *key) value(c *Config) any {
	if k.at == nil {
		s, _ := c.free(k.section())
		return s[k.in()]
	}
	return reflect.ValueOf(k.at(c)).Elem().Interface()
}

// unset tells whether a configuration leaves the key open.
func (k *key) unset(c *Config) bool {
	v := k.value(c)
	return v == nil || reflect.ValueOf(v).IsZero()
}

// put gives the key a value of its type, nil for zero.
func (k *key) put(c *Config, v any) {
	switch {
	case k.at == nil:
		s, _ := c.free(k.section())
		s[k.in()] = v
	case v == nil:
		reflect.ValueOf(k.at(c)).Elem().SetZero()
	default:
		reflect.ValueOf(k.at(c)).Elem().Set(reflect.ValueOf(v))
	}
}

// fallback is the default as a value of the key's type.
func (k *key) fallback() any {
	c := Default()
	return k.value(&c)
}

// free returns the named section if it is a map.
func (c *Config) free(section string) (Section, bool) {
	switch section {
	case "mine":
		return c.Mine, true
	case "loss":
		return c.Loss, true
	}
	return nil, false
}

// sections lists the names of the configuration's sections in order.
func sections() []string {
	var names []string
	for i := range keys {
		if s := keys[i].section(); !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	return names
}

// keyNamed is the key of that name in the table, nil for another.
func keyNamed(name string) *key {
	for i := range keys {
		if keys[i].name == name {
			return &keys[i]
		}
	}
	return nil
}

// Default returns the configuration of a run without any settings.
func Default() Config {
	c := Config{Mine: Section{}, Loss: Section{}}
	for i := range keys {
		if k := &keys[i]; k.def != nil {
			k.put(&c, k.def)
		}
	}
	c.Eval.Recall = slices.Clone(c.Eval.Recall) // the caller's own
	return c
}

// Key describes one key of the configuration.
type Key struct {
	Name    string `json:"name"`    // section.key
	Default string `json:"default"` // as written in YAML
	Help    string `json:"help"`
	// Values are the words that the key takes, or examples, if there are few.
	Values []string `json:"-"`
}

// Reference lists every key of the sections with fixed keys; those of mine and
// loss depend on the loss.
func Reference() []Key {
	var out []Key
	for i := range keys {
		if k := &keys[i]; k.at != nil {
			out = append(out, Key{Name: k.name, Default: inline(k.fallback()), Help: k.help, Values: k.words()})
		}
	}
	return out
}

// Keys lists every key: those of Reference, and the keys of mine and loss for all losses.
// Of the latter some have no help.
func Keys() []Key {
	out := Reference()
	mining, ofLoss := objective.Keys("")
	add := func(section string, of []objective.Key) {
		for _, o := range of {
			one := Key{Name: section + "." + o.Name, Values: o.Values}
			if k := keyNamed(one.Name); k != nil {
				one.Help = k.help
			}
			out = append(out, one)
		}
	}
	slices.SortFunc(ofLoss, func(a, b objective.Key) int { return strings.Compare(a.Name, b.Name) })
	add("loss", ofLoss)
	add("mine", mining)
	return out
}

// words are the values to choose from, where they are few.
func (k *key) words() []string {
	switch k.fallback().(type) {
	case bool:
		return []string{"true", "false"}
	case Switch:
		return []string{Auto.String(), On.String(), Off.String()}
	}
	return slices.Clone(k.values)
}

// keyNames lists the names of Reference.
func keyNames() []string {
	var names []string
	for i := range keys {
		if keys[i].at != nil {
			names = append(names, keys[i].name)
		}
	}
	return names
}

// inline writes a default on one line of YAML.
func inline(v any) string {
	switch v := v.(type) {
	case string:
		if v == "" {
			return `""`
		}
	case []int:
		return strings.ReplaceAll(fmt.Sprint(v), " ", ", ")
	}
	return fmt.Sprint(v)
}
