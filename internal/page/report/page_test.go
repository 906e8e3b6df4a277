package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"html"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/page/figure"
)

const nasty = `<script>alert("x")</script> & 'q' {{.}} ` + "\x00\xff"

// newPageOfAll returns a page that uses each kind of block, with text s
// everywhere a caller may put text.
func newPageOfAll(s string) Page {
	pic := Picture{Image: image.NewGray(image.Rect(0, 0, 9, 5)), Label: s, Name: s, Link: s, Distance: s,
		Match: RightMatch}
	fig := figure.Scatter{Axes: figure.Axes{Title: s, X: s, Y: s}, X: []float64{1, 2}, Y: []float64{3, 4},
		Class: []int{0, 1},
		Names: []string{s, s}, Label: true}
	return Page{Title: s, Lead: s, Footer: s, Sections: []Section{
		{Title: s, Blocks: []Block{Text(s + "\n\n- " + s + "\n- b"), Verdict{Text: s, Reasons: []string{s}, Tone: Bad},
			Code(s)}},
		{Title: s, Blocks: []Block{
			Table{Caption: s, Note: s,
				Columns: []Column{{Name: s}, {Name: s, Group: s, Best: Highest}, {Name: s, Group: s}},
				Rows: []Row{{Heading: s}, {Cells: []Cell{TextCell(s), MeanStdCell(1, 0.1, 3, 1), PublishedCell(2, 1)}},
					{Cells: []Cell{TextCell(s), NumberCell(3, 1), BlankCell()}}}},
			Figures{Caption: s, Items: []Captioned{{fig, s},
				{figure.Lines{Axes: figure.Axes{Title: s}, Curves: []figure.Curve{{Name: s, X: []float64{1, 2},
					Y: []float64{1, 2}}},
					Refs: []figure.Ref{{Name: s, At: 1}}}, s}}},
		}},
		{Title: s, Blocks: []Block{
			Retrieval{Caption: s, Rows: []RetrievalRow{{Item: pic, Neighbours: []Picture{pic, {Label: s}}}}},
			Map{Title: s, Caption: s, X: []float64{1, 2}, Y: []float64{3, 4}, Names: []string{s, s}, File: s, Folder: s,
				Columns: []MapColumn{{Name: s, Class: []int{0, -1}, Names: []string{s}}}},
			Steps{Caption: s, Frames: []Frame{{s, fig}, {"b", fig}}, Start: -1},
		}},
		{Title: s, Blocks: []Block{PageLinks{Pages: []string{s, s}, At: 1},
			Settings{Caption: s, Items: []Item{{s, s}}, Folded: true}}},
	}}
}

func TestPageIsWellFormed(t *testing.T) {
	html, err := newPageOfAll("plain").HTML()
	if err != nil {
		t.Fatal(err)
	}
	checkNesting(t, string(html))
}

// checkNesting reads html as XML with HTML's void elements and reports the
// first element that is not closed where it should be.
func checkNesting(t *testing.T, html string) {
	t.Helper()
	html = regexp.MustCompile(`(?s)<(style|script)[^>]*>.*?</(style|script)>`).ReplaceAllString(html, "")
	// Void elements and attributes without a value are HTML, not XML.
	html = regexp.MustCompile(`<(meta|img|input|br)([^>]*[^/>])>`).ReplaceAllString(html, "<$1$2/>")
	html = regexp.MustCompile(` (hidden|data-chart|data-sort)>`).ReplaceAllString(html, ">")
	d := xml.NewDecoder(strings.NewReader(html))
	d.Entity = xml.HTMLEntity
	for {
		_, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("not well formed: %v", err)
		}
	}
}

func TestPageNeedsNoNetwork(t *testing.T) {
	html, err := newPageOfAll("plain").HTML()
	if err != nil {
		t.Fatal(err)
	}
	s := string(html)
	marked := regexp.MustCompile(`(?s)<script[^>]*>.*?</script>`).ReplaceAllString(s, "")
	for _, m := range regexp.MustCompile(
		`(?:\b(?:src|href|srcset|action)\s*=|url\()\s*["']?([^"' )>]*)`).FindAllStringSubmatch(marked, -1) {
		// A page of several leads to the files beside it.
		beside := strings.HasPrefix(m[1], "./") && !strings.Contains(m[1][2:], "/")
		if !strings.HasPrefix(m[1], "data:") && !strings.HasPrefix(m[1], "#") && !beside {
			t.Errorf("reference to %q", m[1])
		}
	}
	for _, bad := range []string{"@import", "fetch(", "XMLHttpRequest", "<link", "<iframe"} {
		if strings.Contains(s, bad) {
			t.Errorf("page contains %s", bad)
		}
	}
	rest := strings.ReplaceAll(s, "http://www.w3.org/2000/svg", "")
	if i := strings.Index(rest, "://"); i >= 0 {
		t.Errorf("page mentions an address: %q", rest[max(0, i-20):i+20])
	}
}

func TestPageEscapesEveryString(t *testing.T) {
	html, err := newPageOfAll(nasty).HTML()
	if err != nil {
		t.Fatal(err)
	}
	s := string(html)
	if strings.Contains(s, "<script>alert") || strings.Contains(s, "\x00") {
		t.Error("a string reached the page unescaped")
	}
	// Attribute values are quoted; none may end early.
	if strings.Contains(s, `="<script`) || strings.Contains(s, `alert("x")`) {
		t.Error("a string reached an attribute unescaped")
	}
	if n := strings.Count(s, "&lt;script"); n < 25 {
		t.Errorf("the string appears %d times, want it in every place", n)
	}
	checkNesting(t, strings.Map(func(r rune) rune {
		if r == '\ufffd' || r == 0 {
			return '?'
		}
		return r
	}, s))
}

// The scripts on a page are those that its policy allows, as they stand between their tags, and no text
// becomes another one.
func TestPolicy(t *testing.T) {
	for _, text := range []string{"plain", nasty} {
		page, err := newPageOfAll(text).HTML()
		if err != nil {
			t.Fatal(err)
		}
		head, body, ok := strings.Cut(string(page), "</head>")
		scripts := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(body, -1)
		if !ok || len(scripts) < 3 || strings.Count(body, "<script>") != len(scripts) {
			t.Fatalf("%d scripts", len(scripts))
		}
		if n := strings.Count(head, "sha256-"); n != len(scripts) {
			t.Errorf("the policy allows %d scripts of %d", n, len(scripts))
		}
		for _, s := range scripts {
			sum := sha256.Sum256([]byte(s[1]))
			if !strings.Contains(html.UnescapeString(head), "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
				t.Errorf("the policy forbids the script %.60q", s[1])
			}
		}
	}
}

// A name that closes the script element must not get out of a map's data.
func TestMapDataStaysData(t *testing.T) {
	page := func(name string) string {
		m := Map{X: []float64{1, math.NaN()}, Y: []float64{1, 2}, Names: []string{name, name},
			Columns: []MapColumn{{Name: name, Class: []int{0, 0}, Names: []string{name}}}}
		html, err := Page{Title: "t", Sections: []Section{{Blocks: []Block{m}}}}.HTML()
		if err != nil {
			t.Fatal(err)
		}
		return string(html)
	}
	s := page("</script><img src=x onerror=alert(1)>\u202e")
	n, own := strings.Count(s, "</script>"), strings.Count(page("plain"), "</script>")
	if strings.Contains(s, "<img src=x") || n != own || strings.Contains(s, "\u202e") {
		t.Errorf("a name left the map's data: %d scripts end, %d of the page's own", n, own)
	}
	if !strings.Contains(s, `\u003c/script\u003e\u003cimg src=x`) {
		t.Error("the name is not in the map's data")
	}
}

func TestMapRefuses(t *testing.T) {
	one := []float64{1}
	for want, m := range map[string]Map{
		"1 x, 0 y":           {X: one},
		"2 names":            {X: one, Y: one, Names: []string{"a", "b"}},
		"0 labels for 1":     {X: one, Y: one, Columns: []MapColumn{{Name: "c"}}},
		"class 1 of":         {X: one, Y: one, Columns: []MapColumn{{Class: []int{1}, Names: []string{"a"}}}},
		"1 x, 1 y and 0 nam": {X: one, Y: one, Photos: NewThumbs(32, false)},
	} {
		_, err := Page{Sections: []Section{{Blocks: []Block{m}}}}.HTML()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestThumbsPackInOrder(t *testing.T) {
	th := NewThumbs(16, true)
	for i := range 150 {
		if i == 3 {
			th.Add(nil)
			continue
		}
		im := image.NewGray(image.Rect(0, 0, 16, 8))
		im.Pix[0] = uint8(i)
		th.Add(im)
	}
	p, err := th.pack()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Sheets) != 2 || p.Type != "image/png" {
		t.Fatalf("%d sheets of %s, want 2 of PNG", len(p.Sheets), p.Type)
	}
	sizes, err := base64.StdEncoding.DecodeString(p.Sizes)
	if err != nil || len(sizes) != 300 || sizes[6] != 0 || sizes[8] != 16 || sizes[9] != 8 {
		t.Errorf("sizes %v (%v)", sizes[:12], err)
	}
	for _, i := range []int{0, 14, 143, 149} {
		raw, err := base64.StdEncoding.DecodeString(p.Sheets[i/144])
		if err != nil {
			t.Fatal(err)
		}
		sheet, err := png.Decode(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		cell := i % 144
		if r, _, _, _ := sheet.At(cell%12*16, cell/12*16).RGBA(); int(r>>8) != i {
			t.Errorf("item %d: the first pixel of its cell is %d", i, r>>8)
		}
	}
}

func TestScriptOnlyWhereNeeded(t *testing.T) {
	html, err := Page{Title: "t", Sections: []Section{{Title: "a", Blocks: []Block{Text("b")}}}}.HTML()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(html), "<script") {
		t.Error("a page without steps carries a script")
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "report.html")
	if err := newPageOfAll("x").WriteFile(path); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(b), "<!DOCTYPE html>") {
		t.Fatalf("%v, starts %.20q", err, b)
	}
	bad := Page{Sections: []Section{{Title: "s",
		Blocks: []Block{Table{Columns: []Column{{Name: "a"}},
			Rows: []Row{{Cells: []Cell{TextCell("x"), TextCell("y")}}}}}}}}
	if err := bad.WriteFile(path); err == nil || !strings.Contains(err.Error(), "2 cells for 1 columns") {
		t.Errorf("error %v", err)
	}
	if b, _ := os.ReadFile(path); !strings.HasPrefix(string(b), "<!DOCTYPE html>") {
		t.Error("a failed write changed the file")
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("%d files left", len(names))
	}
	if err := newPageOfAll("x").WriteFile(filepath.Join(dir, "none", "r.html")); err == nil {
		t.Error("wrote into a folder that is not there")
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                       "0 ms",
		340 * time.Millisecond:                  "340 ms",
		12300 * time.Millisecond:                "12.3 s",
		59960 * time.Millisecond:                "1 min 00 s",
		245 * time.Second:                       "4 min 05 s",
		59*time.Minute + 59900*time.Millisecond: "1 h 00 min",
		127 * time.Minute:                       "2 h 07 min",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
}

// TestTurn: a page says which of several it is, and leads to the others; a single one says
// nothing.
func TestTurn(t *testing.T) {
	of := func(turn PageLinks) (string, error) {
		html, err := Page{Sections: []Section{{Blocks: []Block{turn}}}}.HTML()
		return string(html), err
	}
	html, err := of(PageLinks{Pages: []string{"a.html", "b.html"}, At: 1})
	if err != nil || !strings.Contains(html, `<a href="./a.html" aria-label="Page 1">1</a>`) ||
		!strings.Contains(html, `<b aria-current="page">2</b>`) || strings.Contains(html, "b.html") {
		t.Errorf("%v: %s", err, html)
	}
	if html, err = of(PageLinks{Pages: []string{"a.html"}}); err != nil || strings.Contains(html, "<nav") {
		t.Errorf("one page: %v: %s", err, html)
	}
	if _, err = of(PageLinks{Pages: []string{"a.html"}, At: 1}); err == nil {
		t.Error("the second page of one")
	}
}
