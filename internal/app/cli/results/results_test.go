package results

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeFile(t *testing.T, path, text string) {
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
	names := []string{"none", "a", "b"}
	if f, old := FindProtected(dir, names, "me"); f != "" || old {
		t.Errorf("an empty folder holds %s, %v", f, old)
	}
	paths, err := WriteResults(dir, "me", File{"a", []byte("1")}, File{"b", nil})
	if err != nil || len(paths) != 2 || paths[1] != filepath.Join(dir, "b") {
		t.Fatalf("%q, %v", paths, err)
	}
	if text, err := os.ReadFile(paths[0]); err != nil || string(text) != "1" {
		t.Errorf("%q, %v", text, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
	for by, want := range map[string]string{"me": "", "you": paths[0], "": paths[0]} {
		if f, old := FindProtected(dir, names, by); f != want || old != (want == "") {
			t.Errorf("for %q: %q, %v", by, f, old)
		}
	}
	writeFile(t, paths[1], "changed by hand")
	if f, _ := FindProtected(dir, names, "me"); f != paths[1] {
		t.Errorf("held is %q", f)
	}
	if _, err := WriteResults(dir, "you", File{"b", []byte("2")}); err != nil { // --force
		t.Fatal(err)
	}
	for by, want := range map[string]string{"me": paths[1], "you": paths[0]} {
		if f, _ := FindProtected(dir, names, by); f != want {
			t.Errorf("for %q: %q", by, f)
		}
	}
}

// TestKilled: whatever a killed process left of old and new, the same command replaces it, and a file that
// someone wrote over it stays.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, text := range []string{"old", "new"} {
		if _, err := WriteResults(dir, "me", File{"a", []byte(text)}, File{"b", []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{"old": "", "new": "", "mine": a} {
		writeFile(t, a, text)
		if f, _ := FindProtected(dir, []string{"a", "b"}, "me"); f != want {
			t.Errorf("a of %q: held is %q, want %q", text, f, want)
		}
	}
	writeFile(t, a, "new")
	note, err := os.ReadFile(filepath.Join(dir, NoteName))
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range []string{"", "null", "{", `{"a": 1}`, strings.Repeat(" ", 1<<20) + string(note)} {
		writeFile(t, filepath.Join(dir, NoteName), damaged)
		if f, _ := FindProtected(dir, []string{"b", "a"}, "me"); f != b {
			t.Errorf("by the note %.10q: held is %q", damaged, f)
		}
	}
}

// TestRecord: files in several folders, and one that was not written; names that are gone leave the note.
func TestRecord(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("sub", 0o777); err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join("sub", "x.csv")
	writeFile(t, "x.npy", "1")
	writeFile(t, sub, "2")
	if err := Record("me", "x.npy", sub, "none.csv"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".", "sub"} {
		if f, old := FindProtected(dir, []string{"x.npy", "x.csv"}, "me"); f != "" || !old {
			t.Errorf("%s: %q, %v", dir, f, old)
		}
	}
	writeFile(t, "y", "")
	if err := errors.Join(os.Remove("x.npy"), Record("me", "y")); err != nil {
		t.Fatal(err)
	}
	if n, err := readNote("."); err != nil || len(n) != 1 || n["y"].By == "" {
		t.Errorf("%v, %v", n, err)
	}
}

func TestMade(t *testing.T) {
	full := errors.New("no")
	good := Text{"good", func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }}
	files, err := MakeFiles(good, Text{"bad", func(io.Writer) error { return full }})
	if files != nil || !errors.Is(err, full) || !strings.HasPrefix(err.Error(), "bad: ") {
		t.Errorf("%v, %v", files, err)
	}
	if files, err = MakeFiles(good); err != nil || len(files) != 1 || string(files[0].Data) != "x" {
		t.Errorf("%v, %v", files, err)
	}
}

// TestNotOurs: a file of someone else, a link or a folder that has the note's name stays as it is.
func TestNotOurs(t *testing.T) {
	for _, text := range []string{`{"my": "own"}`, `{"a": {}}`, "[]", "{", strings.Repeat(" ", 1<<20) + "{}"} {
		dir := t.TempDir()
		path := filepath.Join(dir, NoteName)
		writeFile(t, path, text)
		_, err := WriteResults(dir, "me", File{"a", nil})
		if err == nil || !strings.Contains(err.Error(), "is not kindred's record of results") || Check(dir) == nil {
			t.Errorf("%.10q: %v", text, err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%.10q became %.10q, %v", text, now, err)
		}
	}
	for _, text := range []string{"", "{}", "null"} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, NoteName), text)
		if _, err := WriteResults(dir, "me", File{"a", nil}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	dir, theirs := t.TempDir(), filepath.Join(t.TempDir(), "theirs")
	writeFile(t, theirs, "{}")
	if err := os.Symlink(theirs, filepath.Join(dir, NoteName)); err != nil {
		t.Skip(err)
	}
	if _, err := WriteResults(dir, "me", File{"a", nil}); err == nil {
		t.Error("the note is written through a link")
	}
	if now, err := os.ReadFile(theirs); err != nil || string(now) != "{}" {
		t.Errorf("the file that a link leads to became %q, %v", now, err)
	}
}
