package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/run/internal/record"
)

// TestPlace: a run whose data.path is relative finds its data from another folder, by a line of config.yaml that
// changes nothing else; if the data were moved, the path stays the one that was given.
func TestPlace(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("my \"photos\"", 0o777); err != nil {
		t.Fatal(err)
	}
	cfg := Default()
	cfg.Data.Path = "my \"photos\""
	text := cfg.withDataPath()
	if !strings.HasSuffix(text, "photos\\\"\"\n") {
		t.Fatal(text)
	}
	if diff, err := settingDifferences([]byte(text), cfg.YAML()); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(run, record.ConfigFile), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	path := func() string {
		t.Helper()
		f, err := Open(run)
		if err != nil {
			t.Fatal(err)
		}
		c, err := f.Config()
		if err != nil {
			t.Fatal(err)
		}
		return c.Data.Path
	}
	if got := path(); got != cfg.Data.Path {
		t.Errorf("here: %q", got)
	}
	t.Chdir(t.TempDir())
	got, err := filepath.EvalSymlinks(path())
	if err != nil || filepath.Base(got) != cfg.Data.Path || !filepath.IsAbs(got) {
		t.Errorf("elsewhere: %q, %v", got, err)
	}
	if err := os.Remove(filepath.Join(dir, cfg.Data.Path)); err != nil {
		t.Fatal(err)
	}
	if got := path(); got != cfg.Data.Path {
		t.Errorf("without data: %q", got)
	}
	for _, path := range []string{"", "/tmp", "none"} {
		c := Default()
		c.Data.Path = path
		if c.withDataPath() != string(c.YAML()) {
			t.Errorf("%q: a comment", path)
		}
		if got := dataPathOf(path, []byte(dataPathComment+"\"relative\"")); got != path {
			t.Errorf("%q becomes %q", path, got)
		}
	}
}
