package run

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReference compares the table of keys in docs/training.md with the
// configuration; KINDRED_UPDATE=1 rewrites it.
func TestReference(t *testing.T) {
	path := filepath.Join("..", "docs", "training.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| key | default | meaning |\n|---|---|---|\n")
	for _, k := range Reference() {
		if k.Help == "" {
			t.Errorf("%s has no explanation", k.Name)
		}
		fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", k.Name, k.Default, strings.ReplaceAll(k.Help, "|", "\\|"))
	}
	between := regexp.MustCompile(`(?s)<!-- keys -->\n.*<!-- /keys -->`)
	want := between.ReplaceAllLiteralString(string(text), "<!-- keys -->\n"+table.String()+"<!-- /keys -->")
	if want == string(text) {
		return
	}
	if os.Getenv("KINDRED_UPDATE") == "" {
		t.Fatalf("%s does not list the keys as they are; KINDRED_UPDATE=1 go test ./run -run TestReference "+
			"rewrites it", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDocumentedExample parses the YAML of docs/training.md.
func TestDocumentedExample(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "training.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) == 0 {
		t.Fatal("no example found")
	}
	for _, b := range blocks {
		if _, err := Parse("docs/training.md", b[1]); err != nil {
			t.Error(err)
		}
	}
	setting := regexp.MustCompile("--set ([a-z_.]+=[^` \n]+)")
	for line := range strings.Lines(string(text)) { // what one command sets goes together
		var sets []string
		for _, m := range setting.FindAllStringSubmatch(line, -1) {
			if m[1] != "section.key=value" { // the general form
				sets = append(sets, m[1])
			}
		}
		if _, err := Parse("docs/training.md", nil, sets...); err != nil {
			t.Error(err)
		}
	}
}
