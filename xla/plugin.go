package xla

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// pluginPath is the environment variable that names the folders in which plugins are
// looked for, as GoMLX's.
const pluginPath = "PJRT_PLUGIN_LIBRARY_PATH"

// entry is what a plugin exports.
const entry = "GetPjrtApi"

// findPlugin returns the file of the plugin of a kind, or "" if it is missing, in the
// folders that PJRT_PLUGIN_LIBRARY_PATH names, in those of GoMLX's own installer, or
// named as in the Python packages that bring it.
func findPlugin(kind string) string {
	suffix := map[string]string{"darwin": "dylib"}[runtime.GOOS]
	if suffix == "" {
		suffix = "so"
	}
	folders := filepath.SplitList(os.Getenv(pluginPath))
	if home, err := os.UserHomeDir(); err == nil {
		folders = append(folders, filepath.Join(home, ".local", "lib", "go-xla"))
	}
	folders = append(folders, "/usr/local/lib/go-xla")
	names := []string{"pjrt_c_api_" + kind + "_plugin", "pjrt_plugin_" + kind, "pjrt-plugin-" + kind,
		"pjrt_c_api_" + kind + "_v*_plugin", "xla_" + kind + "_plugin"}
	if kind == "tpu" {
		names = append(names, "libtpu")
	}
	for _, folder := range folders {
		for _, name := range names {
			found, err := filepath.Glob(filepath.Join(folder, name+"."+suffix))
			if err == nil && folder != "" && len(found) > 0 {
				return found[len(found)-1]
			}
		}
	}
	return ""
}

// checkPlugin refuses a file that loading would not survive, or that is no plugin: on
// Linux a shared library that is whole, for this processor, and exports its entry.
func checkPlugin(path string) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", path)
	}
	lib, err := elf.NewFile(f)
	if err != nil {
		var format *elf.FormatError
		if errors.As(err, &format) {
			return fmt.Errorf("%s is not a shared library", path)
		}
		return fmt.Errorf("%s is cut off", path)
	}
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	if m, known := machines[runtime.GOARCH]; lib.Type != elf.ET_DYN || known && lib.Machine != m {
		return fmt.Errorf("%s is not a shared library for %s", path, runtime.GOARCH)
	}
	for _, p := range lib.Progs {
		if end := p.Off + p.Filesz; end < p.Off || end > uint64(st.Size()) {
			return fmt.Errorf("%s is cut off: %d bytes of %d or more", path, st.Size(), end)
		}
	}
	symbols, err := lib.DynamicSymbols()
	for _, s := range symbols {
		if s.Name == entry && s.Section != elf.SHN_UNDEF {
			return nil
		}
	}
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) && strings.Contains(err.Error(), "EOF") {
		return fmt.Errorf("%s is cut off", path)
	}
	return fmt.Errorf("%s is not a PJRT plugin: it does not export %s", path, entry)
}
