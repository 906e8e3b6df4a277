package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/console"
)

// Every visible command has a manual page that names its flags, and the pages
// of one commit are the same bytes whenever they are made.
func TestManPages(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	var dirs [2]string
	for k := range dirs {
		dirs[k] = t.TempDir()
		var out, errOut bytes.Buffer
		if code := execute(t.Context(), []string{"man", dirs[k]}, &out, &errOut); code != exitOK {
			t.Fatalf("exit %d: %s", code, &errOut)
		}
	}
	for _, c := range newRoot(&console.Console{}).Commands() {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		name := "kindred-" + c.Name() + ".1"
		page, err := os.ReadFile(filepath.Join(dirs[0], name))
		if err != nil {
			t.Error(err)
			continue
		}
		if text := string(page); c.HasLocalFlags() && !strings.Contains(text, ".SH OPTIONS") ||
			!strings.Contains(text, "KINDRED") {
			t.Errorf("%s has no options:\n%s", name, text)
		}
		again, err := os.ReadFile(filepath.Join(dirs[1], name))
		if err != nil || !bytes.Equal(page, again) {
			t.Errorf("%s differs from one time to the next (%v)", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dirs[0], "kindred-man.1")); err == nil {
		t.Error("the hidden command has a page")
	}
}
