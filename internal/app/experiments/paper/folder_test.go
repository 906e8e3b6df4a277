package paper

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/lock"
)

// writeNameFile writes a file that holds its own name.
func writeNameFile(t *testing.T, dir, name string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(name), 0o666)); err != nil {
		t.Fatal(err)
	}
}

func TestHold(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"missing": {},
		"killed at once": {files: []string{lock.FileName, ".kindred-0123456789abcdef.tmp",
			"runs/a-seed1/.kindred-0123456789abcdef.tmp"}},
		"an experiment":          {files: []string{"runs/a-seed1/plan.yaml", ResultsFile, "notes.txt"}},
		"a user's files":         {files: []string{"notes.txt"}, want: "it holds notes.txt"},
		"a user's results":       {files: []string{ResultsFile, "runs/a/b"}, want: "it holds " + ResultsFile},
		"a folder of other runs": {files: []string{"data.csv", "runs/x/config.yaml"}, want: "it holds data.csv"},
	} {
		dir := filepath.Join(t.TempDir(), "reports", "x")
		for _, f := range c.files {
			writeNameFile(t, dir, f)
		}
		held, err := LockFolder(dir)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v does not contain %q", name, err, c.want)
			}
			for _, f := range c.files {
				if b, err := os.ReadFile(filepath.Join(dir, f)); err != nil || string(b) != f {
					t.Errorf("%s: %s holds %q, %v", name, f, b, err)
				}
			}
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			var other *lock.HeldError
			if _, err := LockFolder(dir); !errors.As(err, &other) {
				t.Errorf("%s: held twice: %v", name, err)
			}
			if err := held.Release(); err != nil {
				t.Error(err)
			}
		}
		again, err := lock.Folder(dir)
		if err != nil {
			t.Errorf("%s: not released: %v", name, err)
		} else if err := again.Release(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoRunReplacesOtherFiles checks runs that are trained and runs that are copied.
func TestNoRunReplacesOtherFiles(t *testing.T) {
	home, e := writeDigits(t, 8), Find("mnist")
	o := Options{Dir: t.TempDir(), Seeds: 1, Seed: 1, Arms: []string{e.Arms[0].Name}, Home: home,
		Set: append(slices.Clone(tinyRun), "train.epochs=1")}
	if _, err := Reproduce(t.Context(), e, o); err != nil {
		t.Fatal(err)
	}
	for _, reuse := range [][]string{nil, {o.Dir}} {
		to := o
		to.Dir, to.Reuse = t.TempDir(), reuse
		folder := filepath.Join(to.Dir, runsDir, enum.FolderName(e.Arms[0].Name)+"-seed1")
		writeNameFile(t, folder, "mine.txt")
		if _, err := Reproduce(t.Context(), e, to); err == nil ||
			!strings.Contains(err.Error(), "holds mine.txt and no "+planFile) {
			t.Errorf("reuse %v: %v", reuse, err)
		}
		if b, err := os.ReadFile(filepath.Join(folder, "mine.txt")); err != nil || string(b) != "mine.txt" {
			t.Errorf("reuse %v: the file holds %q, %v", reuse, b, err)
		}
		// Leftovers of a killed process are replaced.
		if err := os.Remove(filepath.Join(folder, "mine.txt")); err != nil {
			t.Fatal(err)
		}
		writeNameFile(t, folder, ".kindred-0123456789abcdef.tmp")
		if _, err := Reproduce(t.Context(), e, to); err != nil {
			t.Errorf("reuse %v: %v", reuse, err)
		}
	}
}
