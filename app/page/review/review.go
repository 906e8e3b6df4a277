package review

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"path/filepath"
	"strings"
	"unicode"

	"golang.org/x/image/draw"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/kindred-ml/kindred/app/page/look"
	"github.com/kindred-ml/kindred/internal/base/atomic"
)

// Page is what is to be decided.
type Page struct {
	Title string
	// Lead says what was looked at and what was found.
	Lead string
	// Items are all items of the set; the manifest lists them.
	Items []Item
	// Cards are decided on in their order.
	Cards []Card
}

// Item is a line of the manifest.
type Item struct {
	// Path is what the manifest calls it, Name what the page does.
	Path, Name string
	Label      string
	Split      string // "" if the set has no split
}

// Card asks about an item, or about a group of them.
type Card struct {
	// Items are what a decision is about, by their numbers.
	Items []int
	// Group marks a kind: it can be split off its class.
	Group bool
	// Class is that of a kind: all of its kinds can be decided on at once.
	Class string
	// Title and Reason say what it is and why it is asked about.
	Title, Reason string
	// Suggested is the label that relabelling proposes, or that of the class that
	// splitting makes.
	Suggested string
	// Score is shown with two digits if it is above 0.
	Score float64
	// Pictures are shown, the first the largest.
	Pictures []Picture
}

// Picture is a small picture with what is written below it.
type Picture struct {
	Image   image.Image // nil: none
	Caption string
}

// Style and Script are the files of the page, which a server serves by themselves.
var (
	//go:embed page.css
	Style string
	//go:embed page.js
	Script string
)

// thumb is the longest side of pictures on the page, quality that of their JPEG.
const (
	thumb   = 132
	quality = 78
)

// HTML returns the page.
func (p *Page) HTML() ([]byte, error) {
	text, key, err := p.keyed()
	if err != nil {
		return nil, err
	}
	return frame(p.Title, p.Lead, g.Group{look.Policy(Script), line, h.StyleEl(g.Raw(look.Style + Style))}, g.Group{
		h.Script(h.Type("application/json"), h.ID("data"), h.Data("key", key), g.Raw(string(text))), line,
		h.Script(g.Raw(Script)), line,
	})
}

// keyed returns what the script reads, as JSON, and the key that follows from it.
func (p *Page) keyed() (text []byte, key string, err error) {
	data, err := p.data()
	if err != nil {
		return nil, "", err
	}
	if text, err = json.Marshal(data); err != nil { // which escapes <, > and &
		return nil, "", err
	}
	sum := sha256.Sum256(text)
	return []byte(spelled(text)), keyStart + hex.EncodeToString(sum[:8]), nil
}

// keyStart begins the name under which a page's progress is kept.
const keyStart = "kindred-review-"

// spelled writes the characters of JSON that turn the direction of text around as
// escapes: they are kept exactly, and show nowhere in the file.
func spelled(text []byte) string {
	var b strings.Builder
	for _, r := range string(text) {
		if unicode.Is(unicode.Bidi_Control, r) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// WriteFiles writes the page and its data into a folder.
func (p *Page) WriteFiles(dir string) error {
	for name, content := range map[string]func() ([]byte, error){FileName: p.HTML, DataName: p.JSON} {
		text, err := content()
		if err != nil {
			return err
		}
		err = atomic.WriteFile(filepath.Join(dir, name), func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pageData is what the script reads. Labels and splits stand in lists, and items
// refer to them by number.
type pageData struct {
	Labels []string   `json:"labels"`
	Splits []string   `json:"splits"`
	Paths  []string   `json:"paths"`
	Names  []string   `json:"names,omitempty"` // where they are not the paths
	Label  []int      `json:"label"`
	Split  []int      `json:"split"`
	Cards  []cardData `json:"cards"`
}

type cardData struct {
	Items     []int      `json:"items"`
	Group     bool       `json:"group"`
	Class     string     `json:"class,omitempty"`
	Title     string     `json:"title"`
	Reason    string     `json:"reason"`
	Suggested string     `json:"suggested"`
	Score     string     `json:"score,omitempty"`
	Pictures  []shotData `json:"pictures"`
}

type shotData struct {
	Src     string `json:"src,omitempty"`
	Tiny    bool   `json:"tiny,omitempty"`
	Caption string `json:"caption"`
}

func (p *Page) data() (*pageData, error) {
	d := &pageData{Cards: []cardData{}}
	labels, splits := map[string]int{}, map[string]int{}
	number := func(of map[string]int, list *[]string, s string) int {
		k, ok := of[s]
		if !ok {
			k = len(*list)
			of[s] = k
			*list = append(*list, s)
		}
		return k
	}
	named := false
	for _, it := range p.Items {
		d.Paths, d.Names = append(d.Paths, it.Path), append(d.Names, it.Name)
		named = named || it.Name != it.Path
		d.Label = append(d.Label, number(labels, &d.Labels, it.Label))
		d.Split = append(d.Split, number(splits, &d.Splits, it.Split))
	}
	if !named {
		d.Names = nil
	}
	for _, c := range p.Cards {
		out := cardData{Items: c.Items, Group: c.Group, Class: c.Class, Title: c.Title, Reason: c.Reason,
			Suggested: c.Suggested}
		for _, i := range c.Items {
			if i < 0 || i >= len(p.Items) {
				return nil, fmt.Errorf("review: card %q is about item %d of %d", c.Title, i, len(p.Items))
			}
		}
		if c.Score > 0 {
			out.Score = fmt.Sprintf("%.2f", c.Score)
		}
		for _, pic := range c.Pictures {
			s := shotData{Caption: pic.Caption}
			var err error
			if s.Src, s.Tiny, err = encode(pic.Image); err != nil {
				return nil, fmt.Errorf("review: picture of card %q: %w", c.Title, err)
			}
			out.Pictures = append(out.Pictures, s)
		}
		d.Cards = append(d.Cards, out)
	}
	return d, nil
}

// encode makes a data URL: PNG of tiny pictures, which are to be enlarged with hard
// pixels, and JPEG of others.
func encode(im image.Image) (src string, tiny bool, err error) {
	if im == nil || im.Bounds().Empty() {
		return "", false, nil
	}
	var b bytes.Buffer
	size := im.Bounds().Size()
	long := max(size.X, size.Y)
	if long <= 64 {
		err := png.Encode(&b, im)
		return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), true, err
	}
	if long > thumb {
		small := image.NewRGBA(image.Rect(0, 0, max(1, size.X*thumb/long), max(1, size.Y*thumb/long)))
		draw.CatmullRom.Scale(small, small.Bounds(), im, im.Bounds(), draw.Src, nil)
		im = small
	}
	err = jpeg.Encode(&b, im, &jpeg.Options{Quality: quality})
	return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), false, err
}
