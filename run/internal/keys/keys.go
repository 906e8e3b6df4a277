// Package keys reads, checks and writes a configuration by a table of its keys: an entry for each
// says its name, its help, where its value is and what it may be. A new key is a field of the
// configuration and an entry. The configuration itself is the caller's, of any type C.
package keys

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Table lists the keys of configurations of type C.
type Table[C any] struct {
	// Keys are those with a meaning of their own, in the order of the file.
	Keys []Key[C]
	// Free returns the named section if it is a map, whose further keys Agree knows.
	Free func(c *C, section string) (map[string]any, bool)
	// Agree reports values that are wrong for every data set, beyond what the entries find; an
	// option.KeyErrors.
	Agree func(*C) error
	// Sections are the names of the sections, and Important those of the keys that most runs are
	// about, both in the order of importance.
	Sections, Important []string
	// Further is a remark about the keys that a free section may have; "" for none.
	Further func(section string, m map[string]any) string
}

// Key is the entry of one key. The zero value of every key means unset.
type Key[C any] struct {
	Name string // section.key
	Help string
	// At returns where a configuration holds the value: a pointer that Parse knows. The
	// keys of free sections have none.
	At func(*C) any
	// Default is nil for zero.
	Default any
	// Values are the words that the key takes; of an open list, the usual ones.
	Values []string
	// Checks report values that are wrong for every data set, Agrees those that are wrong beside
	// others.
	Checks []Check
	Agrees func(*C, Report)
	// Only returns why the key has no effect in a configuration, "" if it has one. It is
	// called for keys that are set.
	Only func(*C) string
	// Begun tells whether a resumed run takes an unset key from the settings that it was
	// begun with; nil: never, because zero is a value.
	Begun func(now, was *C) bool
	// Idle tells whether the key may have its value for a network that does not use it; nil
	// for a key that all networks use.
	Idle func(*C) bool
	// Opposite is what a key of truth values was called earlier, with the opposite meaning; "" for
	// most.
	Opposite string
}

// section is the first half of the key's name.
func (k *Key[C]) section() string {
	s, _, _ := strings.Cut(k.Name, ".")
	return s
}

// in is the second half.
func (k *Key[C]) in() string {
	_, name, _ := strings.Cut(k.Name, ".")
	return name
}

// Value returns what a configuration has for the key; nil if its section is a map without
// it.
func (t *Table[C]) Value(c *C, k *Key[C]) any {
	if k.At == nil {
		s, _ := t.Free(c, k.section())
		return s[k.in()]
	}
	return reflect.ValueOf(k.At(c)).Elem().Interface()
}

// Unset tells whether a configuration leaves the key open.
func (t *Table[C]) Unset(c *C, k *Key[C]) bool {
	v := t.Value(c, k)
	return v == nil || reflect.ValueOf(v).IsZero()
}

// Put gives the key a value of its type, nil for zero.
func (t *Table[C]) Put(c *C, k *Key[C], v any) {
	switch {
	case k.At == nil:
		s, _ := t.Free(c, k.section())
		s[k.in()] = v
	case v == nil:
		reflect.ValueOf(k.At(c)).Elem().SetZero()
	default:
		reflect.ValueOf(k.At(c)).Elem().Set(reflect.ValueOf(v))
	}
}

// Reset gives the keys their defaults where these are not zero.
func (t *Table[C]) Reset(c *C) {
	for i := range t.Keys {
		if k := &t.Keys[i]; k.Default != nil {
			t.Put(c, k, k.Default)
		}
	}
}

// TakeOver gives the keys that a configuration leaves unset their values of the one that the run
// was begun with, as their entries say.
func (t *Table[C]) TakeOver(now, was *C) {
	for i := range t.Keys {
		k := &t.Keys[i]
		if k.Begun != nil && t.Unset(now, k) && k.Begun(now, was) && !t.Unset(was, k) {
			t.Put(now, k, t.Value(was, k))
		}
	}
}

// Named is the key of that name in the table, nil for another.
func (t *Table[C]) Named(name string) *Key[C] {
	for i := range t.Keys {
		if t.Keys[i].Name == name {
			return &t.Keys[i]
		}
	}
	return nil
}

// names lists the keys that are not in free sections.
func (t *Table[C]) names() []string {
	var out []string
	for i := range t.Keys {
		if t.Keys[i].At != nil {
			out = append(out, t.Keys[i].Name)
		}
	}
	return out
}

// sections lists the names of the sections in the order of the file.
func (t *Table[C]) sections() []string {
	var out []string
	for i := range t.Keys {
		if s := t.Keys[i].section(); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// fallback is the default as a value of the key's type, for a key that is not in a free section.
func (k *Key[C]) fallback() any {
	if k.Default != nil {
		return k.Default
	}
	return reflect.Zero(reflect.TypeOf(k.At(new(C))).Elem()).Interface()
}

// Words are the values to choose from, where they are few.
func (k *Key[C]) Words() []string {
	if _, ok := k.fallback().(bool); ok {
		return []string{"true", "false"}
	}
	return slices.Clone(k.Values)
}

// DefaultText is the default on one line of YAML.
func (k *Key[C]) DefaultText() string {
	switch v := k.fallback().(type) {
	case string:
		if v == "" {
			return `""`
		}
	case []int:
		return strings.ReplaceAll(fmt.Sprint(v), " ", ", ")
	}
	return fmt.Sprint(k.fallback())
}
