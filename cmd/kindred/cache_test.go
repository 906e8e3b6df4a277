package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/doctor"
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
	var listed struct{ Caches []doctor.Cache }
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

// TestEmbedKeep: what embed keeps is found by the next, with the same result.
func TestEmbedKeep(t *testing.T) {
	home, dir := t.TempDir(), writePhotos(t)
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, home)
	}
	model, out := filepath.Join("..", "..", "internal", "network", "onnxnet", "testdata", "residual.onnx"), t.TempDir()
	embed := func(name string, more ...string) string {
		t.Helper()
		path := filepath.Join(out, name)
		mustRun(t, append([]string{"embed", "--network", model, "--data", dir, "--out", path}, more...)...)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	want := embed("a.npy")
	for _, name := range []string{"b.npy", "c.npy"} {
		if embed(name, "--keep") != want {
			t.Errorf("%s differs", name)
		}
	}
	if out := mustRun(t, "cache", "drop", "features"); !strings.Contains(out, "1 files") {
		t.Errorf("kept: %s", out)
	}
}
