// Package readme checks README and the pages below docs against the code.
package readme

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ladder"
)

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fenced matches a block between fences.
var fenced = regexp.MustCompile("(?ms)^```.*?^```$")

// indentedGo matches a line of an indented block that can only be Go.
var indentedGo = regexp.MustCompile(`(?m)^    .*( := |\bfunc \w*\(|\berr != nil\b).*`)

// TestSnippetsAreExamples looks up every block of Go in README and on the pages
// below docs. A file of Examples, which go test compiles and runs, must have the same
// lines. Go in an indented block is an error, because it would not be looked up.
func TestSnippetsAreExamples(t *testing.T) {
	var examples []string
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(d.Name(), "example") || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		examples = append(examples, string(text), regexp.MustCompile(`(?m)^\t`).ReplaceAllString(string(text), ""))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, file := range markdownFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range indentedGo.FindAllString(fenced.ReplaceAllString(string(text), ""), -1) {
			t.Errorf("%s: Go stands between ```go and ```, not indented: %s", file, line)
		}
		for _, m := range regexp.MustCompile("(?ms)^```go\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
			found[filepath.Base(file)]++
			if !slices.ContainsFunc(examples, func(e string) bool { return strings.Contains(e, m[1]) }) {
				t.Errorf("%s: this is in no Example:\n%s", file, m[1])
			}
		}
	}
	if found["README.md"] < 1 || found["extending.md"] < 2 {
		t.Fatalf("found only %v snippets", found)
	}
}

// TestLinksLeadSomewhere follows the relative links.
func TestLinksLeadSomewhere(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(readFile(t, "README.md"), -1)
	if len(links) < 5 {
		t.Fatalf("only %d links found", len(links))
	}
	for _, l := range links {
		if strings.Contains(l[1], "://") {
			continue
		}
		if _, err := os.Stat(filepath.Join("..", "..", "..", l[1])); err != nil {
			t.Errorf("broken link %s", l[1])
		}
	}
}

// TestEveryPackageIsInTheArchitecture looks for every package of the table that
// docs/design/architecture.md is made from.
func TestEveryPackageIsInTheArchitecture(t *testing.T) {
	page := readFile(t, "docs", "design", "architecture.md")
	for _, p := range ladder.Packages() {
		if !strings.Contains(page, "- `"+p.Path+"`: "+p.Holds+"\n") {
			t.Errorf("docs/design/architecture.md does not list %s as internal/test/ladder does: run make gen", p.Path)
		}
	}
}
