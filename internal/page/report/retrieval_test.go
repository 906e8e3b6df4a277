package report

import (
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/page/figure"
)

// paintPhoto paints something about as detailed as a photo of 320 x 240 pixels.
func paintPhoto(seed int) image.Image {
	im := image.NewNRGBA(image.Rect(0, 0, 320, 240))
	s := float64(seed)
	for y := range 240 {
		for x := range 320 {
			u, v := float64(x)/320, float64(y)/240
			f := math.Sin(9*u+s) + math.Sin(23*v-s) + math.Sin(41*u*v+s) + 0.5*math.Sin(160*u+90*v)
			g := 0.3 * math.Sin(float64(x*x+7*y*y)*0.05+s)
			im.SetNRGBA(x, y, color.NRGBA{uint8(120 + 25*f), uint8(110 + 20*(f+g)), uint8(90 + 20*g), 255})
		}
	}
	return im
}

func TestSixtyQueriesUnderFiveMegabytes(t *testing.T) {
	var photos []image.Image
	for i := range 20 {
		photos = append(photos, paintPhoto(i))
	}
	rows := func(n int) (r Retrieval) {
		for i := range n {
			q := RetrievalRow{Item: Picture{Image: photos[i%20], Name: fmt.Sprint(i, ".jpg")}}
			for k := range 8 {
				q.Neighbours = append(q.Neighbours, Picture{Image: photos[(i+k)%20], Distance: "0.5"})
			}
			r.Rows = append(r.Rows, q)
		}
		return r
	}
	for _, queries := range []int{4, 60} {
		r := rows(queries)
		html, err := Page{Title: "t", Sections: []Section{{Blocks: []Block{r}}}}.HTML()
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(html), `loading="lazy"`); n != 9*queries {
			t.Errorf("%d queries: %d pictures load lazily", queries, n)
		}
		if len(html) > 2_500_000 {
			t.Errorf("%d queries take %d bytes, and a page has them of two kinds", queries, len(html))
		}
	}
}

// Pictures of a few pixels are kept exactly, whatever their number.
func TestTinyPicturesStayExact(t *testing.T) {
	thumbs, err := thumbnails([]Picture{{Image: image.NewGray(image.Rect(0, 0, 28, 28))}, {},
		{Image: paintPhoto(1)}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !thumbs[0].tiny || !strings.HasPrefix(thumbs[0].src, "data:image/png") || thumbs[1].src != "" || thumbs[2].tiny {
		t.Errorf("%.40q, %q, tiny %v", thumbs[0].src, thumbs[1].src, thumbs[2].tiny)
	}
}

func TestLink(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "out", "page.html")
	for photo, want := range map[string]string{
		filepath.Join(dir, "set", "a cat", "1#2?.jpg"): "../set/a%20cat/1%232%3F.jpg",
		filepath.Join(dir, "out", "x.jpg"):             "./x.jpg",
		filepath.Join(dir, "out", "javascript:x"):      "./javascript:x",
	} {
		if got := RelativeLink(page, photo); got != want {
			t.Errorf("Link(%q) = %q, want %q", photo, got, want)
		}
	}
}

func TestRetrievalTexts(t *testing.T) {
	r := Retrieval{Caption: "c", Rows: []RetrievalRow{{
		Item: Picture{Image: paintPhoto(1), Name: "birds/a/very_long_name_of_a_photo_0001.jpg", Label: "tern"},
		Neighbours: []Picture{
			{Image: paintPhoto(2), Name: "b.jpg", Label: "tern", Distance: "distance 0.5", Match: RightMatch,
				Link: "../b.jpg"},
			{Name: "c.jpg", Label: "gull", Distance: "distance 0.7", Match: WrongMatch},
			{Name: "d.jpg"},
		}}}}
	html, err := Page{Title: "t", Sections: []Section{{Blocks: []Block{r}}}}.HTML()
	if err != nil {
		t.Fatal(err)
	}
	s := string(html)
	for _, want := range []string{`title="birds/a/very_long_name_of_a_photo_0001.jpg"`,
		"<span>very_long_name_of_a_photo_</span><span>0001.jpg</span>",
		"distance 0.5", `<b>✓</b><span class="name" title="tern">`, `<b>✗</b><span class="name" title="gull">`,
		`data-full="../b.jpg"`, `class="pic plain"`} {
		if !strings.Contains(s, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	r.Rows[0].Item.Image, r.Rows[0].Neighbours[0].Image = nil, nil
	b, err := figure.SVG(r)
	if err != nil {
		t.Fatal(err)
	}
	svg := string(b)
	for _, want := range []string{"distance 0.7", "d.jpg", "…"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the figure lacks %q", want)
		}
	}
}

func TestDegenerateRetrievals(t *testing.T) {
	for _, q := range []Retrieval{{}, {Caption: "c", Rows: []RetrievalRow{{Item: Picture{Label: strings.Repeat("x",
		99)},
		Neighbours: []Picture{{Image: image.NewGray(image.Rectangle{})}}}}}} {
		if _, err := figure.PNG(q); err != nil {
			t.Error(err)
		}
		svg, _, err := figure.Inline(q)
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil || strings.Contains(svg, "NaN") {
			t.Errorf("%v in\n%s", err, svg)
		}
	}
}
