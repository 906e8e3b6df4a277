//go:build cgo && (linux || darwin)

package xla

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/gomlx/compute"
	pjrt "github.com/gomlx/go-xla/compute/xla"
)

// kinds of plugins, the best first.
var kinds = []struct{ name, lacks string }{
	{"cuda", "no PJRT plugin: install jax-cuda13-pjrt, or name its folder in PJRT_PLUGIN_LIBRARY_PATH"},
	{"tpu", "no PJRT plugin: install libtpu, or name its folder in PJRT_PLUGIN_LIBRARY_PATH"},
	{"cpu", "no PJRT plugin: put pjrt_c_api_cpu_plugin.so into a folder named in PJRT_PLUGIN_LIBRARY_PATH"},
}

// plugin returns what GoMLX calls the plugin of a kind, or "".
func plugin(kind string) string {
	for _, p := range pjrt.GetAvailablePlugins() {
		if strings.HasPrefix(filepath.Base(p), kind) {
			return p
		}
	}
	return ""
}

// accelerators names the kinds of plugins.
func accelerators() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// openAccelerator starts the plugin of a kind. Nothing is fetched unasked.
func openAccelerator(kind string) (compute.Backend, error) {
	pjrt.EnableAutoInstall(false)
	name := plugin(kind)
	for _, k := range kinds {
		if k.name == kind && name == "" {
			return nil, errors.New(k.lacks)
		}
	}
	b, err := pjrt.New(name)
	return b, brief(err)
}
