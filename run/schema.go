package run

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/kindred-ml/kindred/internal/spell"
)

// sections lists the names of the configuration's sections in order.
func sections() []string { return fieldNames(reflect.TypeFor[Config]()) }

func fieldNames(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Field(i).Tag.Get("yaml")
	}
	return names
}

// fieldOf returns the field of struct v with a YAML name, or the zero Value.
func fieldOf(v reflect.Value, name string) reflect.Value {
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("yaml") == name {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// Key describes one key of the configuration.
type Key struct {
	Name    string `json:"name"`    // section.key
	Default string `json:"default"` // as written in YAML
	Help    string `json:"help"`
}

// Reference lists every key of the sections with fixed keys; those of mine and
// loss depend on the loss.
func Reference() []Key {
	var keys []Key
	def := reflect.ValueOf(Default())
	for i, s := range sections() {
		v := def.Field(i)
		if v.Kind() != reflect.Struct {
			continue
		}
		for j, name := range fieldNames(v.Type()) {
			keys = append(keys, Key{s + "." + name, inline(v.Field(j)), v.Type().Field(j).Tag.Get("help")})
		}
	}
	return keys
}

// keys lists the names of Reference.
func keys() []string {
	var names []string
	for _, k := range Reference() {
		names = append(names, k.Name)
	}
	return names
}

// inline writes a default on one line of YAML.
func inline(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		if v.Len() == 0 {
			return `""`
		}
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = fmt.Sprint(v.Index(i))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// suggest returns a remark that names the entry of names nearest to word, or
// nothing if none is near.
func suggest(word string, names []string) string {
	best, at := len(word)/2+1, ""
	for _, n := range names {
		d := spell.Distance(word, n)
		// The same key in another section is a likely slip.
		if _, key, ok := strings.Cut(word, "."); ok && strings.HasSuffix(n, "."+key) {
			d = 1
		}
		if d < best {
			best, at = d, n
		}
	}
	if at == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", at)
}
