package run

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/objective"
)

// key is all that is said about one key of the configuration. What is unset, in every
// key, is the zero value.
type key struct {
	name string // section.key
	help string
	// at returns where a configuration holds the value: a pointer that decode knows. The
	// keys of mine and loss, whose sections are maps, have none.
	at func(*Config) any
	// def is the default, nil for zero.
	def any
	// values are the words that the key takes, or the usual ones of those that it takes.
	values []string
	// checks report what no data set could make right.
	checks []check
	// only returns why the key means nothing in a configuration, "" if it does. It is asked
	// of a key that is set.
	only func(*Config) string
	// resolve returns what the key comes to where it is unset, by what is known at the time;
	// nil if that does not say. Keys are asked in the order of the table.
	resolve func(*Config, *known) any
	// begun tells whether a run that is resumed takes what it was begun with where the key is
	// unset; nil: never, as zero is a value.
	begun func(now, was *Config) bool
	// idle tells whether a network that has no use for the key can be given its value all
	// the same; nil for a key that all networks use.
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

// value is what a configuration has for the key, nil for nothing in a section that is a
// map.
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

// free is a section that is a map, if the named one is.
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

// Default returns the configuration of a run for which nothing is set.
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
	// Values are the words that it takes, or examples of them, where these are few.
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

// Keys lists every key: those of Reference, and those of mine and loss that any loss has,
// of which only the keys with a meaning of their own have a help.
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
