package main

import (
	"io"
	"os"
	"strings"
	"testing"
)

// A name that one system lacks is a mistake on that system only, in a test too.
func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := os.UserCacheDir(); err != nil { // go needs folders of its own
		for _, name := range []string{"GOCACHE", "GOPATH"} {
			if os.Getenv(name) == "" {
				t.Setenv(name, t.TempDir())
			}
		}
	}
	for name, text := range map[string]string{
		"go.mod":    "module example.org/m\n\ngo 1.26\n",
		"m.go":      "// Package m ends processes.\npackage m\n\nimport \"syscall\"\n\nvar Stop = syscall.Kill\n",
		"m_test.go": "package m\n\nconst mask uintptr = 1 << 40\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := check(io.Discard, []string{"linux/arm64"}, "./..."); err != nil {
		t.Error(err)
	}
	for system, want := range map[string]string{
		"windows/amd64": "windows/amd64: m.go:6:20: undefined: syscall.Kill",
		"linux/386":     "linux/386: m_test.go:3:22: ",
		"linux":         `"linux" is not a system`,
		"linux/z80":     "linux/z80: ",
	} {
		err := check(io.Discard, []string{system}, "./...")
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), filePrefix(t), ""), want) {
			t.Errorf("%s: %v, want %s", system, err, want)
		}
	}
	if err := check(io.Discard, []string{"linux/arm64"}, "./nothing/..."); err == nil {
		t.Error("no packages are all right")
	}
	if err := check(io.Discard, nil, "./..."); err == nil {
		t.Error("no system is taken for all")
	}
}

// filePrefix is the prefix of file names in messages.
func filePrefix(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir + string(os.PathSeparator)
}
