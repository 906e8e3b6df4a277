package run

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/kindred-ml/kindred/internal/format/yamltext"
)

// Setting is a key of a configuration, "loss.margin", with its value as written.
type Setting struct{ Key, Value string }

// Settings lists every key of the configuration with its value, as
// Folder.Settings does.
func (c Config) Settings() ([]Setting, error) { return parseSettings(c.YAML()) }

// parseSettings flattens a YAML document of nested maps, in its order.
func parseSettings(text []byte) ([]Setting, error) {
	if _, err := yamltext.Parse(text); err != nil {
		return nil, err
	}
	var doc yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(text, &doc, yaml.UseOrderedMap()); err != nil {
		return nil, errors.New(yaml.FormatError(err, false, true))
	}
	var out []Setting
	var walk func(prefix string, m yaml.MapSlice)
	walk = func(prefix string, m yaml.MapSlice) {
		for _, item := range m {
			key := prefix + fmt.Sprint(item.Key)
			if sub, ok := item.Value.(yaml.MapSlice); ok {
				walk(key+".", sub)
				continue
			}
			out = append(out, Setting{key, valueText(item.Value)})
		}
	}
	walk("", doc)
	return out, nil
}

func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = valueText(e)
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprint(v)
}

// different says in which settings two configurations differ, the first few by
// name; "" if in none. Both are read as this program reads them, so that
// comments, order and keys left at their defaults make no difference.
func different(now, was []byte) (string, error) {
	var values [2]map[string]string
	var keys []string
	for i, text := range [][]byte{now, was} {
		cfg, err := Parse(configFile, text)
		if err != nil {
			return "", err
		}
		all, err := parseSettings(cfg.YAML())
		if err != nil {
			return "", err
		}
		values[i] = map[string]string{}
		for _, s := range all {
			if _, known := values[0][s.Key]; i == 0 || !known {
				keys = append(keys, s.Key)
			}
			values[i][s.Key] = s.Value
		}
	}
	const most = 3
	var out []string
	n := 0
	for _, k := range keys {
		if a, b := values[0][k], values[1][k]; a != b {
			if n++; n <= most {
				out = append(out, fmt.Sprintf("%s is %q there and was %q", k, a, b))
			}
		}
	}
	text := strings.Join(out, ", ")
	if n > most {
		text += fmt.Sprintf(", and %d more", n-most)
	}
	return text, nil
}
