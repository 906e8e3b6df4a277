//go:build cgo && (linux || darwin)

package xla

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

// The beginning of PJRT_Api, which no version of it changes.
struct head {
	size_t size;
	void *extension;
	struct {
		size_t size;
		void *extension;
		int major, minor;
	} version;
};

// version loads a plugin, which then stays loaded, and asks for the version of its API.
static const char *version(const char *path, const char *entry, int *major, int *minor) {
	void *lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (lib == NULL)
		return dlerror();
	struct head *(*get)(void) = (struct head *(*)(void))dlsym(lib, entry);
	if (get == NULL)
		return dlerror();
	struct head *api = get();
	if (api == NULL)
		return "its entry returns nothing";
	*major = api->version.major;
	*minor = api->version.minor;
	return NULL;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"github.com/gomlx/compute"
	pjrt "github.com/gomlx/go-xla/compute/xla"
)

// kinds of plugins, the best first.
var kinds = []struct{ name, lacks string }{
	{"cuda", "no PJRT plugin: install jax-cuda13-pjrt and name the folder of xla_cuda_plugin.so in " + pluginPath},
	{"tpu", "no PJRT plugin: install libtpu and name the folder of libtpu.so in " + pluginPath},
	{"cpu", "no PJRT plugin: name the folder of pjrt_c_api_cpu_plugin.so in " + pluginPath},
}

// accelerators names the kinds of plugins.
func accelerators() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// The versions of the plugins' interface that GoMLX is written for. Older minor ones
// lack functions that it calls.
const apiMajor, leastMinor = 0, 40

// NVIDIA's libraries read the first variable when they are loaded; GoMLX warns that it
// finds none of them beside the plugin unless the second says not to.
const (
	tf32Variable   = "NVIDIA_TF32_OVERRIDE"
	checksVariable = "GOPJRT_CUDA_CHECKS"
)

// openAccelerator starts the plugin of a kind. Nothing is fetched unasked.
func openAccelerator(kind string, float32s bool) (b compute.Backend, err error) {
	path := findPlugin(kind)
	for _, k := range kinds {
		if k.name == kind && path == "" {
			return nil, errors.New(k.lacks)
		}
	}
	if err := checkPlugin(path); err != nil {
		return nil, err
	}
	if err := checkVersion(path); err != nil {
		return nil, err
	}
	pjrt.EnableAutoInstall(false)
	config := path
	if float32s && kind == "cuda" {
		if err := os.Setenv(tf32Variable, "0"); err != nil {
			return nil, err
		}
		config += ",tf32=false"
	}
	if _, set := os.LookupEnv(checksVariable); !set && besidePackages(path) {
		if err := os.Setenv(checksVariable, "no"); err != nil {
			return nil, err
		}
	}
	err = guarded(func() error {
		b, err = pjrt.New(config)
		return err
	})
	return b, brief(err)
}

// besidePackages tells whether a plugin lies as its Python package brings it, in
// jax_plugins/xla_cuda13 beside NVIDIA's packages, where the plugin looks for them.
func besidePackages(path string) bool {
	st, err := os.Stat(filepath.Join(filepath.Dir(path), "..", "..", "nvidia"))
	return err == nil && st.IsDir()
}

// checkVersion loads a plugin and refuses one of another interface.
func checkVersion(path string) error {
	file, name := C.CString(path), C.CString(entry)
	defer C.free(unsafe.Pointer(file))
	defer C.free(unsafe.Pointer(name))
	var major, minor C.int
	if text := C.version(file, name, &major, &minor); text != nil {
		return fmt.Errorf("%s cannot be loaded: %s", path, brief(errors.New(C.GoString(text))))
	}
	if major != apiMajor || minor < leastMinor {
		return fmt.Errorf("%s has version %d.%d of PJRT's interface; this program is made for %d.%d and later of %d",
			path, int(major), int(minor), apiMajor, leastMinor, apiMajor)
	}
	return nil
}
