// Package keys reads, checks and writes a configuration by a table of its keys. The entry of a
// key has its name, which is also that of its field in the configuration, its help and the allowed values. A new key
// needs a field and an entry. The configuration is of any type C.
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
	// CheckFree returns an objective.KeyErrors for values that are wrong for every data set and that the
	// entries do not find.
	CheckFree func(*C) error
	// Sections are the names of the sections, and Important the names of the keys that most users
	// set, both in the order of importance.
	Sections, Important []string
	// FurtherKeys returns a remark about the keys that a free section may have, or "".
	FurtherKeys func(section string, m map[string]any) string
}

// Key is the entry of one key. The zero value of every key means unset.
type Key[C any] struct {
	Name string // section.key
	Help string
	// Default is the default value; nil for zero.
	Default any
	// Values are the words that the key takes, or examples.
	Values []string
	// Checks find values that are wrong for every data set. CheckOthers finds values that contradict
	// other keys.
	Checks      []Check
	CheckOthers func(*C, Report)
	// Inapplicable returns the reason why the key has no effect in a configuration, or "" if it has an
	// effect. It is called for keys that are set.
	Inapplicable func(*C) string
	// UseRecorded reports whether a resumed run takes an unset key from the settings that it was
	// started with. nil means never, for keys whose zero is a value.
	UseRecorded func(now, was *C) bool
	// AllowUnused reports whether the key's value is allowed for a network that does not use it. It is
	// nil for a key that all networks use.
	AllowUnused func(*C) bool
	// Opposite is the earlier name of a boolean key, with the opposite meaning; "" for most keys.
	Opposite string
}

// Pointer returns a pointer to the key's value in a configuration, of a type that Parse knows: to the field that has
// the key's name, without underscores and in any case, in the field that has the section's name. It is nil for the keys
// of free sections, which are maps.
func (k *Key[C]) Pointer(c *C) any {
	section := field(reflect.ValueOf(c).Elem(), k.section())
	if section.Kind() == reflect.Map {
		return nil
	}
	return field(section, k.shortName()).Addr().Interface()
}

// field returns the field of a struct for a name in a configuration.
func field(of reflect.Value, name string) reflect.Value {
	name = strings.ReplaceAll(name, "_", "")
	return of.FieldByNameFunc(func(f string) bool { return strings.EqualFold(f, name) })
}

// FreeSection returns the named section if it is a map.
func (t *Table[C]) FreeSection(c *C, section string) (map[string]any, bool) {
	v := field(reflect.ValueOf(c).Elem(), section)
	if v.Kind() != reflect.Map {
		return nil, false
	}
	return v.Convert(reflect.TypeFor[map[string]any]()).Interface().(map[string]any), true
}

// section returns the first half of the key's name.
func (k *Key[C]) section() string {
	s, _, _ := strings.Cut(k.Name, ".")
	return s
}

// shortName returns the second half of the key's name.
func (k *Key[C]) shortName() string {
	_, name, _ := strings.Cut(k.Name, ".")
	return name
}

// Value returns the key's value in a configuration, or nil if the section is a map without the
// key.
func (t *Table[C]) Value(c *C, k *Key[C]) any {
	if m, free := t.FreeSection(c, k.section()); free {
		return m[k.shortName()]
	}
	return reflect.ValueOf(k.Pointer(c)).Elem().Interface()
}

// Unset reports whether a configuration leaves the key open.
func (t *Table[C]) Unset(c *C, k *Key[C]) bool {
	v := t.Value(c, k)
	return v == nil || reflect.ValueOf(v).IsZero()
}

// Set sets the key to a value of its type; nil means zero.
func (t *Table[C]) Set(c *C, k *Key[C], v any) {
	if m, free := t.FreeSection(c, k.section()); free {
		m[k.shortName()] = v
		return
	}
	to := reflect.ValueOf(k.Pointer(c)).Elem()
	if v == nil {
		to.SetZero()
	} else {
		to.Set(reflect.ValueOf(v))
	}
}

// Reset sets the keys that have a default other than zero to it.
func (t *Table[C]) Reset(c *C) {
	for i := range t.Keys {
		if k := &t.Keys[i]; k.Default != nil {
			t.Set(c, k, k.Default)
		}
	}
}

// UseRecorded copies values from was, the configuration that the run was started with, to keys
// that now leaves unset and whose entries allow it (UseRecorded).
func (t *Table[C]) UseRecorded(now, was *C) {
	for i := range t.Keys {
		k := &t.Keys[i]
		if k.UseRecorded != nil && t.Unset(now, k) && k.UseRecorded(now, was) && !t.Unset(was, k) {
			t.Set(now, k, t.Value(was, k))
		}
	}
}

// Lookup returns the key with that name, or nil.
func (t *Table[C]) Lookup(name string) *Key[C] {
	for i := range t.Keys {
		if t.Keys[i].Name == name {
			return &t.Keys[i]
		}
	}
	return nil
}

// names lists the keys that are not in free sections.
func (t *Table[C]) names() []string {
	c, free := new(C), map[string]bool{}
	for _, section := range t.sections() {
		_, free[section] = t.FreeSection(c, section)
	}
	var out []string
	for i := range t.Keys {
		if !free[t.Keys[i].section()] {
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

// defaultValue returns the default as a value of the key's type. The key is not in a free section.
func (k *Key[C]) defaultValue() any {
	if k.Default != nil {
		return k.Default
	}
	return reflect.Zero(reflect.TypeOf(k.Pointer(new(C))).Elem()).Interface()
}

// Choices returns the values to choose from, or nil if there are too many to list.
func (k *Key[C]) Choices() []string {
	if _, ok := k.defaultValue().(bool); ok {
		return []string{"true", "false"}
	}
	return slices.Clone(k.Values)
}

// DefaultText returns the default on one line of YAML.
func (k *Key[C]) DefaultText() string {
	switch v := k.defaultValue().(type) {
	case string:
		if v == "" {
			return `""`
		}
	case []int:
		return strings.ReplaceAll(fmt.Sprint(v), " ", ", ")
	}
	if v := k.defaultValue(); reflect.ValueOf(v).Kind() == reflect.Struct {
		return flowText(v)
	}
	return fmt.Sprint(k.defaultValue())
}
