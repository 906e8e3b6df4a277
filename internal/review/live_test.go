package review

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRead: what is read of a page is what was written, whatever names are in it.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	p := Page{Title: "a <b> & c", Lead: "x</p> \"y\"", Items: []Item{{Path: "a</script>", Label: "<i>"}, {Path: "b"}}}
	p.Cards = []Card{{Items: []int{1}, Title: "t"}, {Items: []int{0}, Title: "</h1>"}}
	path := filepath.Join(dir, FileName)
	if err := p.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{dir, path} {
		s, err := Read(from)
		if err != nil {
			t.Fatal(err)
		}
		if s.Title != p.Title || s.Lead != p.Lead || s.Cards != 2 || !strings.HasPrefix(s.Key, keyStart) ||
			!strings.Contains(string(s.Data), `a\u003c/script\u003e`) || s.File != path {
			t.Errorf("%+v", s)
		}
	}
	for name, text := range map[string]string{"no page": "<h1>hello</h1>", "broken": `<h1>a</h1><p id="lead">b</p>` +
		`<script type="application/json" id="data" data-key="kindred-review-0123456789abcdef">{"cards":</script>`} {
		bad := filepath.Join(dir, "bad.html")
		if err := os.WriteFile(bad, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(filepath.Join(dir, "none")); err == nil {
		t.Error("a page that is not there")
	}
}

// TestLive: the page of a server has no data and nothing inline, which its policy forbids.
func TestLive(t *testing.T) {
	b, err := Live()
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if strings.Contains(text, "<style>") || !strings.Contains(text, `<script src="review.js"></script>`) ||
		strings.Count(text, "<script") != 1 || strings.Contains(text, `id="data"`) {
		t.Errorf("%s", text)
	}
}
