package keys

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// YAML writes a configuration with every key, as Parse reads it.
func (t *Table[C]) YAML(c *C) []byte {
	out, err := yaml.MarshalWithOptions(t.Ordered(c), yaml.Flow(false), yaml.IndentSequence(true),
		yaml.CustomMarshaler(scalarText))
	if err != nil {
		panic(fmt.Sprintf("keys: writing a configuration: %v", err))
	}
	return out
}

// Ordered returns a configuration as maps in the order of its keys.
func (t *Table[C]) Ordered(c *C) yaml.MapSlice {
	var out yaml.MapSlice
	for _, s := range t.sections() {
		if m, free := t.FreeSection(c, s); free {
			out = append(out, yaml.MapItem{Key: s, Value: m})
			continue
		}
		var in yaml.MapSlice
		for i := range t.Keys {
			if k := &t.Keys[i]; k.section() == s {
				in = append(in, yaml.MapItem{Key: k.shortName(), Value: t.Value(c, k)})
			}
		}
		out = append(out, yaml.MapItem{Key: s, Value: in})
	}
	return out
}

// scalarText writes a string as the encoder does, but quotes one with unprintable characters:
// unquoted, a tab or a carriage return at its end would be lost.
func scalarText(s string) ([]byte, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return []byte(strconv.Quote(s)), nil
	}
	return yaml.Marshal(s)
}

// flowText writes a value on one line of YAML.
func flowText(v any) string {
	out, err := yaml.MarshalWithOptions(v, yaml.Flow(true), yaml.CustomMarshaler(scalarText))
	if err != nil {
		panic(fmt.Sprintf("keys: writing a configuration: %v", err))
	}
	return strings.TrimSpace(string(out))
}
