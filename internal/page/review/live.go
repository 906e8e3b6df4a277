package review

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// FileName is the name of the page in its folder. DataName is the file beside it with the
// page's data, which a server reads.
const (
	FileName = "review.html"
	DataName = "review.json"
)

// LivePage is the page that a server shows. It has no data; its script asks for them.
func LivePage() ([]byte, error) {
	return pageFrame("Review", "", h.Link(h.Rel("stylesheet"), h.Href("review.css")),
		g.Group{h.Script(h.Src("server.js")), line, h.Script(h.Src("review.js")), line})
}

// Saved is a page that was read from the file of its data.
type Saved struct {
	File  string `json:"-"`
	Title string `json:"title"`
	Lead  string `json:"lead"`
	// Key identifies the page: equal data have equal keys.
	Key string `json:"key"`
	// Data is the JSON that the script reads. Cards is the number of decisions that it asks for.
	Data  json.RawMessage `json:"data"`
	Cards int             `json:"-"`
}

// JSON returns the data of the page, which Read reads.
func (p *Page) JSON() ([]byte, error) {
	text, key, err := p.dataAndKey()
	if err != nil {
		return nil, err
	}
	return json.Marshal(Saved{Title: p.Title, Lead: p.Lead, Key: key, Data: text})
}

// keyPattern is the form of a Key, under which a server keeps decisions.
var keyPattern = regexp.MustCompile("^" + keyStart + "[0-9a-f]{16}$")

// Read reads the data of a page. path is the page's folder, or the file of the data or of the
// page in this folder.
func Read(path string) (*Saved, error) {
	const want = "the folder that kindred clean or kindred discover has written"
	st, err := os.Stat(path)
	if err != nil {
		return nil, fileinfo.WithHint(err, path, want)
	}
	if st.IsDir() {
		path = filepath.Join(path, DataName)
	} else if filepath.Base(path) == FileName {
		path = filepath.Join(filepath.Dir(path), DataName)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	text, err := fileinfo.ReadFile(path)
	if err != nil {
		return nil, fileinfo.WithHint(err, path, want)
	}
	bad := func(why error) error {
		return fmt.Errorf("%s has no data of a page of kindred discover or kindred clean: %w", path, why)
	}
	s := &Saved{File: path}
	if err := strictjson.UnmarshalLoose(text, s); err != nil {
		return nil, bad(err)
	}
	if !keyPattern.MatchString(s.Key) {
		return nil, bad(fmt.Errorf("its key is %.100q", s.Key))
	}
	var d pageData
	if err := strictjson.UnmarshalLoose(s.Data, &d); err != nil {
		return nil, bad(err)
	}
	if len(d.Label) != len(d.Paths) {
		return nil, bad(fmt.Errorf("%d labels of %d items", len(d.Label), len(d.Paths)))
	}
	for _, o := range d.Others {
		if len(o.Text) != len(d.Paths) {
			return nil, bad(fmt.Errorf("%d values of %s for %d items", len(o.Text), o.Name, len(d.Paths)))
		}
	}
	if d.Finer != nil && len(d.Finer) != len(d.Paths) {
		return nil, bad(fmt.Errorf("%d finer labels of %d items", len(d.Finer), len(d.Paths)))
	}
	if _, _, err := d.contents(); err != nil {
		return nil, bad(err)
	}
	s.Cards = len(d.Cards)
	return s, nil
}

// Contents returns the items of the page, and for each card the numbers of the items that it is about.
func (s *Saved) Contents() (items []Item, cards [][]int, err error) {
	var d pageData
	if err := strictjson.UnmarshalLoose(s.Data, &d); err != nil {
		return nil, nil, err
	}
	return d.contents()
}

// contents returns the items and the cards of a page, or an error if a number in the data is out of range.
func (d *pageData) contents() (items []Item, cards [][]int, err error) {
	for i, path := range d.Paths {
		it := Item{Path: path, Name: path}
		if d.Names != nil && len(d.Names) == len(d.Paths) {
			it.Name = d.Names[i]
		}
		l := d.Label[i]
		if l < 0 || l >= len(d.Labels) {
			return nil, nil, fmt.Errorf("item %d has the label %d of %d", i, l, len(d.Labels))
		}
		it.Label = d.Labels[l]
		items = append(items, it)
	}
	for k, c := range d.Cards {
		for _, i := range c.Items {
			if i < 0 || i >= len(items) {
				return nil, nil, fmt.Errorf("card %d is about item %d of %d", k, i, len(items))
			}
		}
		cards = append(cards, c.Items)
	}
	return items, cards, nil
}
