package train

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
)

// YAML writes the configuration with every key, as Parse reads it.
func (c *Config) YAML() []byte {
	out, err := yaml.MarshalWithOptions(c, yaml.Flow(false), yaml.IndentSequence(true))
	if err != nil {
		panic(fmt.Sprintf("train: writing a configuration: %v", err))
	}
	return out
}

// MarshalYAML writes a switch as the plain word that it is.
func (s Switch) MarshalYAML() (any, error) {
	if s == Auto {
		return string(s), nil
	}
	return s == On, nil
}

// clone copies the configuration so that resolving it leaves the caller's alone.
func (c *Config) clone() Config {
	out := *c
	out.Mine, out.Loss = maps.Clone(c.Mine), maps.Clone(c.Loss)
	if out.Mine == nil {
		out.Mine = Section{}
	}
	return out
}

// Name is what a run with this configuration is called: the data set and the
// loss.
func (c *Config) Name() string {
	name := cmp.Or(c.Data.Name, filepath.Base(strings.TrimRight(c.Data.Path, "/")))
	if l, ok := c.Loss["name"].(string); ok {
		name += "-" + l
	}
	return name
}
