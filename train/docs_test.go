package train

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
		t.Fatalf("%s does not list the keys as they are; KINDRED_UPDATE=1 go test ./train -run TestReference rewrites it", path)
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
	for _, m := range regexp.MustCompile("--set ([a-z_.]+=[^` \n]+)").FindAllSubmatch(text, -1) {
		if set := string(m[1]); set == "section.key=value" {
			continue // the general form
		}
		if _, err := Parse("docs/training.md", nil, string(m[1])); err != nil {
			t.Error(err)
		}
	}
}
