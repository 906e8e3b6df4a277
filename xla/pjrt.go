//go:build cgo && (linux || darwin)

package xla

import (
	"fmt"
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

// accelerators lists the plugins of XLA with what they run on. Starting one is the
// only way to know that its device is there.
func accelerators() []Engine {
	pjrt.EnableAutoInstall(false) // nothing is fetched unasked
	var list []Engine
	for _, k := range kinds {
		e := Engine{Name: k.name, About: k.lacks}
		if plugin(k.name) != "" {
			b, err := openAccelerator(k.name)
			if err != nil {
				e.About = brief(err).Error()
			} else {
				e.Ready, e.Devices, e.About = true, b.NumDevices(), b.Description()
				b.Finalize()
			}
		}
		list = append(list, e)
	}
	return list
}

func openAccelerator(kind string) (compute.Backend, error) {
	pjrt.EnableAutoInstall(false)
	b, err := pjrt.New(plugin(kind))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, brief(err))
	}
	return b, nil
}
