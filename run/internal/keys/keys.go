// Package keys reads, checks and writes a configuration by a table of its keys. The entry of a
// key has its name, its help, the place of its value and the allowed values. A new key needs a
// field of the configuration and an entry. The configuration is of any type C.
package keys

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Table lists the keys of configurations of type C.
type Table[C any] struct {
	// Keys are the entries in the order of the file.
	Keys []Key[C]
	// Free returns the named section if it is a map. Agree checks the map's other keys.
	Free func(c *C, section string) (map[string]any, bool)
	// Agree returns an option.KeyErrors for values that are wrong for every data set and that the
	// entries do not find.
	Agree func(*C) error
	// Sections are the names of the sections, and Important the names of the keys that most users
	// set, both in the order of importance.
	Sections, Important []string
	// Further returns a remark about the keys that a free section may have, or "".
	Further func(section string, m map[string]any) string
}

// Key is the entry of one key. The zero value of every key means unset.
type Key[C any] struct {
	Name string // section.key
	Help string
	// At returns a pointer to the value in a configuration, of a type that Parse knows. It is nil
	// for the keys of free sections.
	At func(*C) any
	// Default is the default value; nil for zero.
	Default any
	// Values are the words that the key takes, or examples.
	Values []string
	// Checks find values that are wrong for every data set. Agrees find values that contradict
	// other keys.
	Checks []Check
	Agrees func(*C, Report)
	// Only returns the reason why the key has no effect in a configuration, or "" if it has an
	// effect. It is called for keys that are set.
	Only func(*C) string
	// Begun reports whether a resumed run takes an unset key from the settings that it was
	// started with. nil means never, for keys whose zero is a value.
	Begun func(now, was *C) bool
	// Idle reports whether the key's value is allowed for a network that does not use it. It is
	// nil for a key that all networks use.
	Idle func(*C) bool
	// Opposite is the earlier name of a boolean key, with the opposite meaning; "" for most keys.
	Opposite string
}

// section returns the first half of the key's name.
func (k *Key[C]) section() string {
	s, _, _ := strings.Cut(k.Name, ".")
	return s
}

// in returns the second half of the key's name.
func (k *Key[C]) in() string {
	_, name, _ := strings.Cut(k.Name, ".")
	return name
}

// Value returns the key's value in a configuration, or nil if the section is a map without the
// key.
func (t *Table[C]) Value(c *C, k *Key[C]) any {
	if k.At == nil {
		s, _ := t.Free(c, k.section())
		return s[k.in()]
	}
	return reflect.ValueOf(k.At(c)).Elem().Interface()
}

// Unset reports whether a configuration leaves the key open.
func (t *Table[C]) Unset(c *C, k *Key[C]) bool {
	v := t.Value(c, k)
	return v == nil || reflect.ValueOf(v).IsZero()
}

// Put sets the key to a value of its type; nil means zero.
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

// Reset sets the keys that have a default other than zero to it.
func (t *Table[C]) Reset(c *C) {
	for i := range t.Keys {
		if k := &t.Keys[i]; k.Default != nil {
			t.Put(c, k, k.Default)
		}
	}
}

// TakeOver copies values from was, the configuration that the run was started with, to keys
// that now leaves unset and whose entries allow it (Begun).
func (t *Table[C]) TakeOver(now, was *C) {
	for i := range t.Keys {
		k := &t.Keys[i]
		if k.Begun != nil && t.Unset(now, k) && k.Begun(now, was) && !t.Unset(was, k) {
			t.Put(now, k, t.Value(was, k))
		}
	}
}

// Named returns the key with that name, or nil.
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

// fallback returns the default as a value of the key's type. The key is not in a free section.
func (k *Key[C]) fallback() any {
	if k.Default != nil {
		return k.Default
	}
	return reflect.Zero(reflect.TypeOf(k.At(new(C))).Elem()).Interface()
}

// Words returns the values to choose from, or nil if there are too many to list.
func (k *Key[C]) Words() []string {
	if _, ok := k.fallback().(bool); ok {
		return []string{"true", "false"}
	}
	return slices.Clone(k.Values)
}

// DefaultText returns the default on one line of YAML.
func (k *Key[C]) DefaultText() string {
	switch v := k.fallback().(type) {
	case string:
		if v == "" {
			return `""`
		}
	case []int:
		return strings.ReplaceAll(fmt.Sprint(v), " ", ", ")
	}
	if v := k.fallback(); reflect.ValueOf(v).Kind() == reflect.Struct {
		return flow(v)
	}
	return fmt.Sprint(k.fallback())
}
