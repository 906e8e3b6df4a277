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
	if err := p.WriteFiles(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, DataName)
	page, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{dir, path, filepath.Join(dir, FileName)} {
		s, err := Read(from)
		if err != nil {
			t.Fatal(err)
		}
		if s.Title != p.Title || s.Lead != p.Lead || s.Cards != 2 || !strings.HasPrefix(s.Key, keyStart) ||
			!strings.Contains(string(s.Data), `a\u003c/script\u003e`) || s.File != path ||
			!strings.Contains(string(page), s.Key) || !strings.Contains(string(page), string(s.Data)) {
			t.Errorf("%+v", s)
		}
	}
	const key = `"key":"kindred-review-0123456789abcdef"`
	for name, text := range map[string]string{"no JSON": "<h1>hello</h1>", "no key": `{"data":{}}`,
		"no data": "{" + key + "}", "cut": "{" + key + `,"data":{"cards":`,
		"another key": `{"key":"kindred-review-../0123456789abc","data":{}}`,
		"no labels":   "{" + key + `,"data":{"paths":["a"]}}`} {
		bad := filepath.Join(dir, "bad.json")
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
	b, err := LivePage()
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if strings.Contains(text, "<style>") || !strings.Contains(text, `<script src="review.js"></script>`) ||
		strings.Count(text, "<script src=") != 2 || strings.Count(text, "<script") != 2 ||
		strings.Contains(text, `id="data"`) {
		t.Errorf("%s", text)
	}
}
