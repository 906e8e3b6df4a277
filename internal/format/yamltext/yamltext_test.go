package yamltext

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseWithinBounds(t *testing.T) {
	flow := func(n int) string { return "a: " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n" }
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"a mapping", "a: 1\nb: [1, {c: 2}]\n", ""},
		{"mark and carriage returns", "\ufeffa: 1\r\nb:\r\n  - x\r\n", ""},
		{"comment only", "# a\n", ""},
		{"many entries", strings.Repeat("- a\n", 20_000), ""},
		{"many brackets side by side", "a: [" + strings.Repeat("[1],", 1000) + "]\n", ""},
		{"closed before opened", strings.Repeat("# ]\n", 200) + "a: [1]\n", ""},
		{"negative numbers and dashes", "a: -1\nb: a-b - - c\n", ""},
		{"100 deep", flow(100), ""},
		{"101 deep", "\n" + flow(101), "line 2: values are nested more than 100 deep"},
		{"200 KB of [", strings.Repeat("[", 200_000), "nested more than 100 deep"},
		{"200 KB of {", strings.Repeat("{a: ", 50_000), "nested more than 100 deep"},
		{"dashes", strings.Repeat("- ", 101) + "a\n", "nested more than 100 deep"},
		{"dashes on lines", strings.Repeat("-\n ", 101) + "a\n", "line 101: values are nested"},
		{"dashes and tabs", strings.Repeat("-\t", 101), "nested more than 100 deep"},
		{"question marks", strings.Repeat("? ", 101) + "a\n", "nested more than 100 deep"},
		{"tags", strings.Repeat("!a ", 101) + "b\n", "nested more than 100 deep"},
		{"anchors in a row", strings.Repeat("&a ", 101) + "b\n", "nested more than 100 deep"},
		{"a dash at the end", strings.Repeat("- ", 100) + "-", "nested more than 100 deep"},
		{"too long", strings.Repeat(" ", maxText+1), "more than 1048576 bytes of YAML"},
		{"an anchor", "a: 1\nb: &x [1]\n", "line 2: anchors and aliases"},
		{"an alias", "a: &x [1]\nb: *x\n", "line 1: anchors and aliases"},
		{"an alias alone", "a: [1, *x]\n", "line 1: anchors and aliases"},
		{"merged keys", "a:\n  <<: {b: 1}\n", "line 2: anchors and aliases"},
		{"a bomb", "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", "line 1: anchors and aliases"},
		{"in the second document", "a: 1\n---\nb: &x 1\n", "line 3: anchors and aliases"},
		{"not YAML", "a: [1\n", "[1"},
	} {
		start := time.Now()
		_, err := Parse([]byte(c.text))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		if d := time.Since(start); d > 30*time.Second {
			t.Errorf("%s: took %v", c.name, d)
		}
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "\ufeff": "", "\ufeffa\r\nb\rc\r\n": "a\nb\rc\n", "a\ufeff": "a\ufeff", "a: 'x\r\n'": "a: 'x\n'",
	} {
		if got, err := Clean([]byte(text)); err != nil || string(got) != want {
			t.Errorf("Clean(%q) = %q, %v", text, got, err)
		}
	}
	if _, err := Clean([]byte(strings.Repeat(" ", maxText))); err != nil {
		t.Errorf("the longest text: %v", err)
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("\ufeffa: 1\r\n")
	if text, err := ReadFile(path); err != nil || string(text) != "a: 1\n" {
		t.Errorf("%q, %v", text, err)
	}
	write(strings.Repeat(" ", maxText+10))
	if _, err := ReadFile(path); err == nil || !strings.HasPrefix(err.Error(), path+": a text of YAML has at most") {
		t.Errorf("a long file: %v", err)
	}
	if _, err := ReadFile(filepath.Dir(path)); err == nil {
		t.Error("a folder was read")
	}
	if _, err := ReadFile(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a: 1", "\ufeff- [x, {y: z}]\r\n", "a: &x 1\nb: *x", "? a\n: b", "!!str a",
		"%YAML 1.2\n---\n", "a: |\n  x\n", strings.Repeat("[", 50)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse(text)
		if err != nil {
			return
		}
		clean, err := Clean(text)
		if err != nil {
			t.Fatalf("Parse takes what Clean refuses: %v", err)
		}
		if again, err := Parse(clean); err != nil || len(again.Docs) != len(file.Docs) {
			t.Fatalf("the cleaned text reads otherwise: %v", err)
		}
	})
}
