package theme

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	usedNames    = regexp.MustCompile(`var\((--[a-z-]+)\)`)
	definedNames = regexp.MustCompile(`(--[a-z-]+):`)
)

// lengths are what the templates of reports set at elements.
var lengths = map[string]bool{"--w": true, "--n": true, "--width": true}

// TestColours: each colour that a style sheet of a page names is defined here or there, by light and by
// dark alike, and none that is defined here is defined there again but for print.
func TestColours(t *testing.T) {
	light, dark, ok := strings.Cut(Style, "@media (prefers-color-scheme: dark)")
	dark, _, closed := strings.Cut(dark, "* {")
	if !ok || !closed {
		t.Fatal("no dark colours")
	}
	ours := matchedNames(definedNames, light)
	for name := range ours {
		if !matchedNames(definedNames, dark)[name] {
			t.Errorf("%s is defined by light only", name)
		}
	}
	for _, path := range []string{"../page.css", "../report/page/page.css", "../review/page.css", "../webmap/map.css"} {
		text, err := os.ReadFile(filepath.FromSlash(path))
		if err != nil {
			t.Fatal(err)
		}
		sheet := string(text)
		own, _, _ := strings.Cut(sheet, "@media print")
		for name := range matchedNames(definedNames, own) {
			if ours[name] {
				t.Errorf("%s defines %s again", path, name)
			}
		}
		named := matchedNames(usedNames, sheet)
		if len(named) < 3 {
			t.Errorf("%s names %d colours", path, len(named))
		}
		for name := range named {
			if !ours[name] && !matchedNames(definedNames, own)[name] && !lengths[name] {
				t.Errorf("%s: %s is defined nowhere", path, name)
			}
		}
	}
}

// TestPolicy: a page that is a file runs the scripts that it is made with, by what is in them, and
// reaches nothing elsewhere.
func TestPolicy(t *testing.T) {
	for want, scripts := range map[string][]string{
		"script-src 'none'; ": nil,
		// printf 'alert(1)' | openssl dgst -sha256 -binary | base64
		"script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI=' " +
			"'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; ": {"alert(1)", ""},
	} {
		var b strings.Builder
		if err := Policy(scripts...).Render(&b); err != nil {
			t.Fatal(err)
		}
		got := html.UnescapeString(b.String())
		if !strings.Contains(got, want) || !strings.Contains(got, "default-src 'none'; ") ||
			strings.ContainsAny(strings.ReplaceAll(got, want, ""), "*") || strings.Contains(got, "http:") {
			t.Errorf("%s", got)
		}
	}
}

// matchedNames is the set of first groups of what matches.
func matchedNames(of *regexp.Regexp, text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range of.FindAllStringSubmatch(text, -1) {
		out[m[1]] = true
	}
	return out
}
