package results

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestPut: all files are there as they were made, without the note, and count as the user's then.
func TestPut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if err := Prepare(dir); err != nil {
		t.Fatal(err)
	}
	if f := Held(dir, []string{"a", "b"}); f != "" {
		t.Errorf("an empty folder holds %s", f)
	}
	paths, err := Put(dir, File{"a", []byte("1")}, File{"b", nil})
	if err != nil || len(paths) != 2 || paths[1] != filepath.Join(dir, "b") {
		t.Fatalf("%q, %v", paths, err)
	}
	if text, err := os.ReadFile(paths[0]); err != nil || string(text) != "1" {
		t.Errorf("%q, %v", text, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	if f := Held(dir, []string{"none", "b"}); f != paths[1] {
		t.Errorf("held is %q", f)
	}
}

// TestHeld: of what a killed command left, only files that are as it wrote them are its own; a note
// that is damaged claims none.
func TestHeld(t *testing.T) {
	dir := t.TempDir()
	note, err := json.Marshal(unfinished{"a": {digest([]byte("old")), digest([]byte("new"))},
		"b": {digest([]byte("b"))}})
	if err != nil {
		t.Fatal(err)
	}
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write(t, filepath.Join(dir, NoteName), string(note))
	for text, want := range map[string]string{"old": "", "new": "", "mine": a} {
		write(t, a, text)
		if f := Held(dir, []string{"a"}); f != want {
			t.Errorf("a of %q: held is %q, want %q", text, f, want)
		}
	}
	write(t, a, "new")
	write(t, b, "b")
	for _, damaged := range []string{"", "null", "{", `{"a": 1}`, strings.Repeat(" ", 1<<20) + string(note)} {
		write(t, filepath.Join(dir, NoteName), damaged)
		if f := Held(dir, []string{"b", "a"}); f != b {
			t.Errorf("by the note %.10q: held is %q", damaged, f)
		}
	}
}

// TestMade: an error names the file, and nothing is made then.
func TestMade(t *testing.T) {
	full := errors.New("no")
	good := Text{"good", func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }}
	files, err := Made(good, Text{"bad", func(io.Writer) error { return full }})
	if files != nil || !errors.Is(err, full) || !strings.HasPrefix(err.Error(), "bad: ") {
		t.Errorf("%v, %v", files, err)
	}
	if files, err = Made(good); err != nil || len(files) != 1 || string(files[0].Data) != "x" {
		t.Errorf("%v, %v", files, err)
	}
}
