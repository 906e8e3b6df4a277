package xla

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// library returns some shared library of this machine.
func library(t *testing.T) []byte {
	t.Helper()
	for _, pattern := range []string{"/lib/*-linux-gnu/libz.so.1", "/lib/*-linux-gnu/libm.so.6", "/lib64/libm.so.6",
		"/usr/lib/libm.so.6"} {
		found, _ := filepath.Glob(pattern)
		for _, path := range found {
			if data, err := os.ReadFile(path); err == nil {
				return data
			}
		}
	}
	t.Skip("no shared library is at hand")
	return nil
}

// TestWrongPlugins: a file that is no plugin, or not all of one, is refused in one line
// that names it, before it is loaded.
func TestWrongPlugins(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Linux's shared libraries")
	}
	whole := library(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "pjrt_c_api_cuda_plugin.so")
	t.Setenv(pluginPath, dir)
	for _, c := range []struct {
		what string
		data []byte
		want string
	}{
		{"a text", []byte("this is a text, and no library\n"), "is not a shared library"},
		{"nothing", nil, "is cut off"},
		{"another library", whole, "is not a PJRT plugin: it does not export GetPjrtApi"},
		{"its first half", whole[:len(whole)/2], "is cut off"},
		{"its head", whole[:40], "is cut off"},
		{"another processor's", append(append([]byte{}, whole[:18]...), append([]byte{0xf3, 0}, whole[20:]...)...),
			"is not a shared library for"},
	} {
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := findPlugin("cuda"); got != path {
			t.Fatalf("found %q", got)
		}
		err := checkPlugin(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := checkPlugin(dir); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("a folder: %v", err)
	}
	t.Setenv("HOME", dir)
	if got := findPlugin("tpu"); got != "" && !strings.HasPrefix(got, "/usr/local") {
		t.Errorf("found %q", got)
	}
}

// TestPluginNames: those of the Python packages are found too.
func TestPluginNames(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("Linux's names")
	}
	dir := t.TempDir()
	t.Setenv(pluginPath, "/no/such/folder"+string(filepath.ListSeparator)+dir)
	for file, kind := range map[string]string{"xla_cuda_plugin.so": "cuda", "libtpu.so": "tpu",
		"pjrt_c_api_cpu_v0.83.1_plugin.so": "cpu"} {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := findPlugin(kind); got != path {
			t.Errorf("%s: found %q, want %q", kind, got, path)
		}
	}
}

// TestMemoryIsOut: the way out is in the line.
func TestMemoryIsOut(t *testing.T) {
	err := brief(errorText("RESOURCE_EXHAUSTED: Out of memory allocating 123 bytes.\nat somewhere"))
	if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, "smaller batches") ||
		!strings.Contains(text, "123 bytes") {
		t.Errorf("%q", text)
	}
}

type errorText string

func (e errorText) Error() string { return string(e) }
