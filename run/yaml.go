package run

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// YAML writes the configuration with every key, as Parse reads it.
func (c *Config) YAML() []byte {
	out, err := yaml.MarshalWithOptions(c.ordered(), yaml.Flow(false), yaml.IndentSequence(true),
		yaml.CustomMarshaler(scalarText))
	if err != nil {
		panic(fmt.Sprintf("run: writing a configuration: %v", err))
	}
	return out
}

// ordered is the configuration as maps in the order of its keys.
func (c *Config) ordered() yaml.MapSlice {
	var out yaml.MapSlice
	for _, s := range sections() {
		if m, free := c.free(s); free {
			out = append(out, yaml.MapItem{Key: s, Value: m})
			continue
		}
		var in yaml.MapSlice
		for i := range keys {
			if k := &keys[i]; k.section() == s {
				in = append(in, yaml.MapItem{Key: k.in(), Value: k.value(c)})
			}
		}
		out = append(out, yaml.MapItem{Key: s, Value: in})
	}
	return out
}

// MarshalYAML writes what YAML does.
func (c Config) MarshalYAML() (any, error) { return c.ordered(), nil }

// scalarText writes a string as the encoder does, but for one with characters that
// are not printed: plain, a tab or a carriage return at its end would be lost.
func scalarText(s string) ([]byte, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return []byte(strconv.Quote(s)), nil
	}
	return yaml.Marshal(s)
}

// MarshalYAML writes a switch as the plain word that it is.
func (s Switch) MarshalYAML() (any, error) {
	if s == Auto {
		return s.String(), nil
	}
	return s == On, nil
}

// String returns auto, true or false.
func (s Switch) String() string {
	if s == Auto {
		return "auto"
	}
	return string(s)
}

// MarshalText returns auto, true or false.
func (s Switch) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText sets the switch to auto, true or false.
func (s *Switch) UnmarshalText(text []byte) error {
	for _, v := range []Switch{Auto, On, Off} {
		if string(text) == v.String() {
			*s = v
			return nil
		}
	}
	return fmt.Errorf("%q is none of auto, true, false", text)
}

// clone copies the configuration so that resolving it leaves the caller's alone.
func (c *Config) clone() Config {
	out := *c
	out.Mine, out.Loss = maps.Clone(c.Mine), maps.Clone(c.Loss)
	if out.Mine == nil {
		out.Mine = Section{}
	}
	if out.Loss == nil {
		out.Loss = Section{}
	}
	return out
}

// Name returns the name of a run with this configuration: the data set and the
// loss, if one is named. A path that does not end in a name, such as . or .., gives the name of
// the folder it leads to.
func (c *Config) Name() string {
	name := c.Data.Name
	if name == "" {
		name = filepath.Base(c.Data.Path)
		if full, err := filepath.Abs(c.Data.Path); err == nil {
			name = filepath.Base(full)
		}
		name = strings.Trim(name, string(filepath.Separator))
	}
	name = cmp.Or(name, "data")
	if l, ok := c.Loss["name"].(string); ok {
		name += "-" + l
	}
	return name
}
