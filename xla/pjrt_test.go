//go:build cgo && linux

package xla

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPluginOfAnotherVersion: one that exports what a plugin does, and is for another
// interface, or returns none, is refused in one line.
func TestPluginOfAnotherVersion(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	for name, c := range map[string]struct{ api, want string }{
		"old":     {"{104, 0, {24, 0, 0, 7}}", "version 0.7 of PJRT's interface"},
		"other":   {"{104, 0, {24, 0, 3, 90}}", "version 3.90"},
		"nothing": {"", "its entry returns nothing"},
	} {
		dir := t.TempDir()
		source, path := filepath.Join(dir, "p.c"), filepath.Join(dir, "pjrt_c_api_cuda_plugin.so")
		text := "void *GetPjrtApi(void) { return 0; }"
		if c.api != "" {
			text = fmt.Sprintf("struct { unsigned long s; void *e; struct { unsigned long s; void *e; int a, b; } v; "+
				"} api = %s; void *GetPjrtApi(void) { return &api; }", c.api)
		}
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", path, source).CombinedOutput(); err != nil {
			t.Skipf("%v: %s", err, out)
		}
		t.Setenv(pluginPath, dir)
		_, err := openAccelerator("cuda", false)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
