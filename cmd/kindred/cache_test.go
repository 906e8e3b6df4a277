package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCache: what is kept is listed and removed, and nothing else.
func TestCache(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, home)
	}
	if code, out, _ := runArgs(t, "cache", "list"); code != exitOK || strings.Count(out, " 0 ") < 2 {
		t.Errorf("nothing kept: status %d\n%s", code, out)
	}
	user, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(user, "kindred", "features")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a-1.safetensors", "b-2.safetensors", "mine.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("12345"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	code, out, _ := runArgs(t, "cache", "list", "--json")
	var listed struct{ Caches []cached }
	if err := json.Unmarshal([]byte(out), &listed); code != exitOK || err != nil || len(listed.Caches) != 2 ||
		listed.Caches[0].Files != 2 || listed.Caches[0].Bytes != 10 {
		t.Fatalf("status %d, %v\n%s", code, err, out)
	}
	if code, out, _ := runArgs(t, "cache", "drop", "features"); code != exitOK || !strings.Contains(out, "2 files") {
		t.Errorf("status %d\n%s", code, out)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "mine.txt" {
		t.Errorf("left: %v, %v", left, err)
	}
	if code, _, errOut := runArgs(t, "cache", "drop", "featres"); code != exitUsage || !strings.Contains(errOut,
		"features") {
		t.Errorf("status %d\n%s", code, errOut)
	}
}
