// Package readme checks what README says against the code.
package readme

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/ladder"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLibraryExampleIsTheTestedOne compares README's Go snippet with the body of
// the Example that go test runs.
func TestLibraryExampleIsTheTestedOne(t *testing.T) {
	_, rest, ok := strings.Cut(read(t, "README.md"), "```go\n")
	snippet, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("README has no Go snippet")
	}
	_, body, ok := strings.Cut(read(t, "objective", "example_test.go"), "func Example() {\n")
	if !ok {
		t.Fatal("objective has no Example")
	}
	body = body[:strings.LastIndex(body, "}")]
	if indented := regexp.MustCompile(`(?m)^\t`).ReplaceAllString(body, ""); indented != snippet {
		t.Errorf("README's snippet differs from the Example:\n%s\nExample:\n%s", snippet, indented)
	}
}

// TestLinksLeadSomewhere follows README's relative links.
func TestLinksLeadSomewhere(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(links) < 5 {
		t.Fatalf("only %d links found", len(links))
	}
	for _, l := range links {
		if strings.Contains(l[1], "://") {
			continue
		}
		if _, err := os.Stat(filepath.Join("..", "..", l[1])); err != nil {
			t.Errorf("broken link %s", l[1])
		}
	}
}

// TestEveryPackageIsInTheArchitecture looks for every package of the table that
// docs/design/architecture.md is made from.
func TestEveryPackageIsInTheArchitecture(t *testing.T) {
	page := read(t, "docs", "design", "architecture.md")
	for _, p := range ladder.Packages() {
		if !strings.Contains(page, "| "+p.Path+" | "+p.Holds+" |") {
			t.Errorf("docs/design/architecture.md does not list %s as internal/ladder does: run make gen", p.Path)
		}
	}
}
