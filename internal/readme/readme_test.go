// Package readme checks what README says against the code.
package readme

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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

// TestEveryPackageIsInTheArchitecture looks for every package of the import
// ladder in the table of docs/design/architecture.md.
func TestEveryPackageIsInTheArchitecture(t *testing.T) {
	table := read(t, "docs", "design", "architecture.md")
	found := 0
	for _, m := range regexp.MustCompile(`(?m)^\t"([a-z0-9/]+)":`).FindAllStringSubmatch(read(t, "internal", "ladder",
		"ladder_test.go"), -1) {
		found++
		if !strings.Contains(table, "| "+m[1]+" |") {
			t.Errorf("docs/design/architecture.md does not list %s", m[1])
		}
	}
	if found < 10 {
		t.Fatalf("only %d packages found in the ladder", found)
	}
}
