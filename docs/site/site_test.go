package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	identity  = regexp.MustCompile(`id="([^"]*)"`)
)

// TestSite makes the site of this repository and follows every reference. Each must stay
// within the site and find its file and heading, or be a link to an address outside.
func TestSite(t *testing.T) {
	root := filepath.Join("..", "..")
	files, err := buildSite(root)
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for name, content := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		pages++
		for _, m := range reference.FindAllStringSubmatch(string(content), -1) {
			to, id, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") {
				if strings.HasPrefix(m[0], "src") {
					t.Errorf("%s loads %s", name, to)
				}
				continue
			}
			target := path.Join(path.Dir(name), to)
			if to == "" {
				target = name
			}
			there, ok := files[target]
			if !ok {
				t.Errorf("%s: %s is not there", name, m[1])
				continue
			}
			if id != "" && !slices.ContainsFunc(identity.FindAllStringSubmatch(string(there), -1),
				func(m []string) bool { return m[1] == id }) {
				t.Errorf("%s: %s has no %s", name, target, id)
			}
		}
		if strings.Contains(string(content), "<!-- raw HTML omitted") {
			t.Errorf("%s leaves out HTML", name)
		}
	}
	all, err := markdownFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	if pages < len(all)+4 { // and README, CHANGELOG, SECURITY, CONTRIBUTING
		t.Errorf("%d pages of %d files below docs and four others", pages, len(all))
	}
	for _, want := range []string{`"u":"losses/spread.html"`, `"u":"training.html#from-a-pretrained-network"`} {
		if !strings.Contains(string(files["words.js"]), want) {
			t.Errorf("the search does not know %s", want)
		}
	}
	again, err := buildSite(root)
	if err != nil || !maps.EqualFunc(files, again, func(a, b []byte) bool { return string(a) == string(b) }) {
		t.Errorf("the same pages gave other files (%v)", err)
	}
}

// TestRender makes a page with everything that a page may have.
func TestRender(t *testing.T) {
	const page = "# A page\n\nText with `code`, [a link](other.md#part), [its own](#b), [code](../loss/triplet.go)\n" +
		"and [elsewhere](https://example.org).\n\n## B\n\n<!-- made -->\n\n| a | b |\n|---|---|\n| 1 | `<b>` |\n\n" +
		"![a figure](design/f.png)\n\n```sh\nkindred train\n```\n\n## B\n"
	repository := []string{"docs/other.md", "loss/triplet.go", "docs/design/f.png"}
	p, err := render("docs/page.md", []byte(page), map[string]bool{"docs/other.md": true},
		func(f string) bool { return slices.Contains(repository, f) })
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<h1 id="a-page">`, `<a href="other.html#part">`, `<a href="#b">`,
		`<a href="` + source + `loss/triplet.go">`, `<a href="https://example.org">`, `src="design/f.png"`,
		`<h2 id="b-1">`, `<div class="wide" tabindex="0"><table>`, "</table></div>"} {
		if !strings.Contains(p.HTML, want) {
			t.Errorf("no %s in\n%s", want, p.HTML)
		}
	}
	if strings.Contains(p.HTML, "<b>") || strings.Contains(p.HTML, "<!--") {
		t.Errorf("HTML or a comment is passed on:\n%s", p.HTML)
	}
	if p.Title != "A page" || !slices.Equal(p.Pictures, []string{"docs/design/f.png"}) ||
		!slices.Equal(p.Links, []link{{"docs/other.md", "part"}, {"docs/page.md", "b"}}) {
		t.Errorf("%q, %q, %v", p.Title, p.Pictures, p.Links)
	}
	want := []passage{{"a-page", "A page", "Text with code, a link, its own, code and elsewhere."},
		{"b", "B", "a b 1 <b> a figure kindred train"}, {"b-1", "B", ""}}
	for i, w := range want {
		if got := p.Passages[i]; got != w {
			t.Errorf("passage %d: %+v, want %+v", i, got, w)
		}
	}
	other := &renderedPage{Headings: []heading{{ID: "part"}}}
	both := map[string]*renderedPage{"docs/page.md": p, "docs/other.md": other}
	if err := checkLinks([]string{"docs/page.md"}, both); err != nil {
		t.Error(err)
	}
	other.Headings = nil
	const gone = "docs/page.md: the link to docs/other.md#part leads to no heading"
	if err := checkLinks([]string{"docs/page.md"}, both); err == nil || !strings.Contains(err.Error(), gone) {
		t.Errorf("a heading that is not there: %v", err)
	}
}

// TestRenderRefuses has pages that cannot be part of a site.
func TestRenderRefuses(t *testing.T) {
	for _, c := range []struct{ page, want string }{
		{"# A\n[x](gone.md)", "the link to gone.md leads nowhere"},
		{"# A\n[x](../../../etc/passwd)", "leads nowhere"},
		{"# A\n![x](https://example.org/x.png)", "would be loaded from elsewhere"},
		{"# A\n![x](gone.png)", "there is no picture gone.png"},
		{"text", "has no heading of the first level"},
		{"# A\n<div>x</div>", "HTML is not shown"},
		{"# A\na <b>bold</b> word", "HTML is not shown"},
	} {
		_, err := render("docs/page.md", []byte(c.page), nil, func(string) bool { return false })
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "docs/page.md") {
			t.Errorf("%q: %v, want %s", c.page, err, c.want)
		}
	}
}

// TestListed checks that every page is listed and every listed page exists.
func TestListed(t *testing.T) {
	root := t.TempDir()
	for _, f := range []string{"docs/a.md", "docs/b.md", "docs/more/c.md", "docs/more/d.md"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(f)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, f), []byte("# A\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := listPages(root, []section{{"One", []string{"docs/b.md", "docs/more/*"}}, {"Two", []string{"docs/*"}}})
	if err != nil {
		t.Fatal(err)
	}
	one := []string{"docs/b.md", "docs/more/c.md", "docs/more/d.md"}
	if !slices.Equal(got[0].Pages, one) || !slices.Equal(got[1].Pages, []string{"docs/a.md"}) {
		t.Errorf("%v", got)
	}
	if _, err := listPages(root, []section{{"One", []string{"docs/*"}}}); err == nil ||
		!strings.Contains(err.Error(), "docs/more/c.md is in no section") {
		t.Errorf("a page that was forgotten: %v", err)
	}
	if _, err := listPages(root, []section{{"One", []string{"docs/gone.md"}}}); err == nil ||
		!strings.Contains(err.Error(), "gone.md") {
		t.Errorf("a page that is not there: %v", err)
	}
}

// TestReadContents checks that the headings and lists of docs/README.md are the contents.
func TestReadContents(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "docs"), 0o777); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"# D\n\nText.\n\n## One\n\n- [B](b.md): words\n- [C](more/)\n\n## Two\n\n- [L](../LICENSE.md)\n": "[{One " +
			"[README.md docs/README.md docs/b.md docs/more/*]} {Two [LICENSE.md]}]",
		"# D\n\n- [B](b.md)\n":       "[]",
		"# D\n\n## One\n\n- [B] b\n": "[]",
		"# D\n":                      "[]",
	} {
		if err := os.WriteFile(filepath.Join(root, contentsFile), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := readContents(root)
		if fmt.Sprint(got) != want || (err == nil) != (want != "[]") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// TestAddress checks where pages are on the site.
func TestAddress(t *testing.T) {
	for file, want := range map[string]string{"README.md": "index.html", "docs/README.md": "contents.html",
		"docs/indexes.md":  "indexes.html",
		"docs/training.md": "training.html", "docs/losses/README.md": "losses/index.html",
		"docs/losses/triplet.md": "losses/triplet.html", "CHANGELOG.md": "changelog.html",
		"docs/reproduction/x.png": "reproduction/x.png"} {
		if got := pageAddress(file); got != want {
			t.Errorf("%s is at %s, want %s", file, got, want)
		}
	}
}

// TestSlugs has headings with the names that GitHub gives them.
func TestSlugs(t *testing.T) {
	s := newSlugs()
	for _, c := range []struct{ heading, want string }{
		{"From a pretrained network", "from-a-pretrained-network"}, {"How fast?", "how-fast"},
		{"`data.size`, measured", "datasize-measured"}, {"What a run writes", "what-a-run-writes"},
		{"How fast?", "how-fast-1"}, {"A - b_c", "a---b_c"}, {"Größe 2", "größe-2"}, {"How fast", "how-fast-2"},
	} {
		if got := string(s.Generate([]byte(c.heading), 0)); got != c.want {
			t.Errorf("%q: %q, want %q", c.heading, got, c.want)
		}
	}
}
