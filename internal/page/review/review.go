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
	"path/filepath"
	"strings"
	"unicode"

	"golang.org/x/image/draw"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/page/theme"
)

// Page is a page of decisions.
type Page struct {
	Title string
	// Lead is the introduction: what was examined and what was found.
	Lead string
	// Items are all items of the set, which the manifest lists.
	Items []Item
	// Finer and Others complete the manifest; see Subjects.
	Finer  []string
	Others []embedding.Column
	// Cards are the decisions, in their order on the page.
	Cards []Card
}

// Item is a line of the manifest.
type Item struct {
	// Path is the item's name in the manifest, Name its name on the page.
	Path, Name string
	Label      string
	Split      string // "" if the set has no split
}

// Card asks about an item, or about a group of them.
type Card struct {
	// Items are the numbers of the items that the decision is about.
	Items []int
	// Group marks a sub-class, which can be split off its class.
	Group bool
	// Class is the class of a sub-class. All sub-classes of a class can be decided at once.
	Class string
	// Title says what the card is about, Reason why the page asks.
	Title, Reason string
	// Suggested is the label that relabelling gives, or the label of the class that
	// splitting makes.
	Suggested string
	// Score is shown with two digits if it is above 0.
	Score float64
	// Pictures are shown on the card, the first one largest.
	Pictures []Picture
}

// Picture is a small picture with the text below it.
type Picture struct {
	Image   image.Image // nil without a picture
	Caption string
}

// Style and Script are the files of the page, which a server serves separately.
var (
	//go:embed page.css
	Style string
	//go:embed page.js
	Script string
)

// thumb is the longest side of pictures on the page, quality their JPEG quality.
const (
	maxSide = 132
	quality = 78
)

// HTML returns the page.
func (p *Page) HTML() ([]byte, error) {
	text, key, err := p.dataAndKey()
	if err != nil {
		return nil, err
	}
	return pageFrame(p.Title, p.Lead, g.Group{theme.Policy(Script), line, h.StyleEl(g.Raw(theme.Style + Style))},
		g.Group{
			h.Script(h.Type("application/json"), h.ID("data"), h.Data("key", key), g.Raw(string(text))), line,
			h.Script(g.Raw(Script)), line,
		})
}

// dataAndKey returns the JSON that the script reads, and the key, which is computed from it.
func (p *Page) dataAndKey() (text []byte, key string, err error) {
	data, err := p.data()
	if err != nil {
		return nil, "", err
	}
	if text, err = json.Marshal(data); err != nil { // json escapes <, > and &
		return nil, "", err
	}
	sum := sha256.Sum256(text)
	return []byte(escapeBidi(text)), keyStart + hex.EncodeToString(sum[:8]), nil
}

// keyStart begins the name under which a page's progress is kept.
const keyStart = "kindred-review-"

// escapeBidi writes characters that change the direction of text as escapes in JSON. The
// characters are kept, and cannot mislead a reader of the file.
func escapeBidi(text []byte) string {
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
		if err := atomic.WriteFile(filepath.Join(dir, name), atomic.Bytes(text)); err != nil {
			return err
		}
	}
	return nil
}

// pageData is the input of the script. Items refer to the lists of labels and splits
// by number.
type pageData struct {
	Labels []string      `json:"labels"`
	Splits []string      `json:"splits"`
	Paths  []string      `json:"paths"`
	Names  []string      `json:"names,omitempty"` // nil if they are the paths
	Label  []int         `json:"label"`
	Split  []int         `json:"split"`
	Finer  []string      `json:"finer,omitempty"`
	Others []otherColumn `json:"others,omitempty"`
	Cards  []cardData    `json:"cards"`
}

// otherColumn is a further column of the manifest.
type otherColumn struct {
	Name string   `json:"name"`
	Text []string `json:"text"`
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
	d := &pageData{Cards: []cardData{}, Finer: p.Finer}
	for _, c := range p.Others {
		o := otherColumn{Name: c.Name}
		for i := range p.Items {
			o.Text = append(o.Text, c.At(i))
		}
		d.Others = append(d.Others, o)
	}
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
				return nil, fmt.Errorf("card %q is about item %d of %d", c.Title, i, len(p.Items))
			}
		}
		if c.Score > 0 {
			out.Score = fmt.Sprintf("%.2f", c.Score)
		}
		for _, pic := range c.Pictures {
			s := shotData{Caption: pic.Caption}
			var err error
			if s.Src, s.Tiny, err = encodePicture(pic.Image); err != nil {
				return nil, fmt.Errorf("picture of card %q: %w", c.Title, err)
			}
			out.Pictures = append(out.Pictures, s)
		}
		d.Cards = append(d.Cards, out)
	}
	return d, nil
}

// encodePicture makes a data URL: PNG of tiny pictures, which the page enlarges with hard
// pixels, and JPEG of others.
func encodePicture(im image.Image) (src string, tiny bool, err error) {
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
	if long > maxSide {
		small := image.NewRGBA(image.Rect(0, 0, max(1, size.X*maxSide/long), max(1, size.Y*maxSide/long)))
		draw.CatmullRom.Scale(small, small.Bounds(), im, im.Bounds(), draw.Src, nil)
		im = small
	}
	err = jpeg.Encode(&b, im, &jpeg.Options{Quality: quality})
	return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), false, err
}
