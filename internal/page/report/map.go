package report

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/figure"
)

// Map shows items as points in the plane that a reader can explore. It has a card with
// photo, name and labels for the item under the pointer, a legend to search and
// filter, a lasso, and a CSV file of the chosen items. Without WebGL or scripts,
// and as a Figure, it is a scatter coloured by the first column.
type Map struct {
	Title, Caption string
	// X and Y place the items; an item without finite coordinates is left out. XName
	// and YName name the directions; they are empty if the directions have no meaning.
	X, Y         []float64
	XName, YName string
	// Names are the names of the items, such as their files; nil without names.
	Names []string
	// Columns of labels; the first colours the map at first.
	Columns []MapColumn
	// Photos are the items' thumbnails, optional. Folder is the address of the folder
	// that holds the Names, as Link returns it, with a slash at its end. The browser
	// loads the whole photo of a clicked item from there.
	Photos *Thumbs
	Folder string
	// Step means that the items are every Step-th row of their file; 0 means 1.
	Step int
	// File is the name of the CSV without its ending; default "items".
	File string
}

// MapColumn is a column of labels. Item i has the class Names[Class[i]]; it has no
// class if Class[i] is negative.
type MapColumn struct {
	Name  string
	Class []int
	Names []string
}

func (m Map) check() error {
	n := len(m.X)
	if len(m.Y) != n || (m.Names != nil && len(m.Names) != n) || (m.Photos != nil && m.Photos.n != n) {
		return fmt.Errorf("map %q: %d x, %d y and %d names", m.Title, n, len(m.Y), len(m.Names))
	}
	for _, c := range m.Columns {
		if len(c.Class) != n {
			return fmt.Errorf("map %q: column %q has %d labels for %d items", m.Title, c.Name, len(c.Class), n)
		}
		for i, k := range c.Class {
			if k >= len(c.Names) {
				return fmt.Errorf("map %q: item %d has class %d of %q, which has %d names", m.Title, i, k,
					c.Name, len(c.Names))
			}
		}
	}
	return nil
}

// Scatter returns the map coloured by one of its columns, for a file or for readers
// without scripts.
func (m Map) Scatter(column int) figure.Scatter {
	s := figure.Scatter{
		Axes: figure.Axes{Title: m.Title, X: m.XName, Y: m.YName, Equal: true, Bare: m.XName == "", Width: 460,
			Height: 440},
		X: m.X, Y: m.Y,
	}
	if column < len(m.Columns) {
		c := m.Columns[column]
		s.Class, s.Names, s.Label = c.Class, c.Names, len(c.Names) <= labelledClasses
	}
	return s
}

// mapsScript finds the maps of a page and builds them.
const mapsScript = "maps.js"

// labelledClasses is the largest number of classes that have their names on a map.
const labelledClasses = 12

// mapData is the input of maps.js.
type mapData struct {
	At      string      `json:"at"` // x and y in turn, float32, little-endian, base64
	Names   []string    `json:"names"`
	Columns []mapLabels `json:"columns"`
	Photos  string      `json:"photos,omitempty"` // the element that holds mapPhotos
	Folder  string      `json:"folder"`
	Step    int         `json:"step"`
	File    string      `json:"file"`
}

type mapLabels struct {
	Name    string   `json:"name"`
	Names   []string `json:"names"`
	Colours []string `json:"colours"`
	Shapes  []int    `json:"shapes"`
	Of      string   `json:"of"` // class of each item, int32, little-endian, base64
}

type mapPhotos struct {
	Side   int      `json:"side"`
	Across int      `json:"across"`
	Type   string   `json:"type"`
	Sizes  string   `json:"sizes"` // width and height in turn, bytes, base64
	Sheets []string `json:"sheets"`
}

func (m Map) html(r *renderer) (g.Node, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	d := mapData{Step: max(1, m.Step), File: m.File, Folder: m.Folder, Columns: []mapLabels{}}
	d.File = cmp.Or(d.File, "items")
	at := make([]byte, 0, 8*len(m.X))
	for i := range m.X {
		at = binary.LittleEndian.AppendUint32(at, math.Float32bits(float32(m.X[i])))
		at = binary.LittleEndian.AppendUint32(at, math.Float32bits(float32(m.Y[i])))
	}
	d.At = base64.StdEncoding.EncodeToString(at)
	d.Names = escapeAll(m.Names)
	for _, c := range m.Columns {
		l := mapLabels{Name: escape.Printable(c.Name), Names: escapeAll(c.Names), Colours: []string{}, Shapes: []int{}}
		for k := range c.Names {
			col, s := figure.ClassStyle(k, len(c.Names))
			l.Colours, l.Shapes = append(l.Colours, figure.HexColour(col)), append(l.Shapes, int(s))
		}
		of := make([]byte, 0, 4*len(c.Class))
		for _, k := range c.Class {
			of = binary.LittleEndian.AppendUint32(of, uint32(int32(k)))
		}
		l.Of = base64.StdEncoding.EncodeToString(of)
		d.Columns = append(d.Columns, l)
	}
	var sheets []byte
	if m.Photos != nil {
		var err error
		if d.Photos, sheets, err = r.sheets(m.Photos); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("map %q: %w", m.Title, err)
	}
	still := m.Scatter(0)
	still.Title = ""
	picture, err := figure.PNG(still)
	if err != nil {
		return nil, err
	}
	r.use(mapsScript)
	return g.Group{h.Figure(h.Class("map"), line, nodeIf(m.Title, h.H3(g.Text(m.Title))),
		h.Div(h.Class("stage"), line,
			h.Img(h.Class("still"), h.Src(dataURL("png", picture)), h.Alt(m.name())), line), line,
		dataElement(text), line, g.If(len(sheets) > 0, dataElement(sheets, h.ID(d.Photos))), line,
		figureCaption(m.Caption)), line}, nil
}

// sheets returns the name of the element with the thumbnails, and its content if the
// page does not have it yet. Maps may share thumbnails.
func (r *renderer) sheets(t *Thumbs) (id string, sheets []byte, err error) {
	if id, ok := r.thumbs[t]; ok {
		return id, nil, nil
	}
	p, err := t.pack()
	if err != nil {
		return "", nil, err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return "", nil, fmt.Errorf("thumbnails: %w", err)
	}
	if r.thumbs == nil {
		r.thumbs = map[*Thumbs]string{}
	}
	id = fmt.Sprintf("thumbs%d", len(r.thumbs)+1)
	r.thumbs[t] = id
	return id, text, nil
}

func (m Map) name() string {
	if m.Title != "" {
		return m.Title
	}
	return fmt.Sprintf("map of %d items", len(m.X))
}

// escapeAll returns escape.Printable of every string, because JSON keeps the characters that HTML replaces.
func escapeAll(in []string) []string {
	if in == nil {
		return nil
	}
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = escape.Printable(s)
	}
	return out
}

func dataURL(kind string, b []byte) string {
	return "data:image/" + kind + ";base64," + base64.StdEncoding.EncodeToString(b)
}

// Thumbs are small pictures of a map's items, packed into sheets.
type Thumbs struct {
	side, n int
	tiny    bool // every picture is at most side pixels and is kept exactly
	sizes   []byte
	sheet   *image.RGBA // the sheet that is being filled; nil before its first picture
	encoded []string
	err     error
}

// ThumbSide returns the side in pixels with which n thumbnails take about ten
// megabytes. It returns 0 if n is too large for a page.
func ThumbSide(n int) int {
	switch {
	case n <= 1_500:
		return 96
	case n <= 5_000:
		return 64
	case n <= 12_000:
		return 48
	case n <= 30_000:
		return 32
	}
	return 0
}

// thumbsAcross returns the number of thumbnails in a row of a sheet.
const thumbsAcross = 12

// NewThumbs returns an empty list of thumbnails of at most side pixels; side is at
// most 128. With pixels, pictures are kept exactly, for drawings of a few pixels.
func NewThumbs(side int, pixels bool) *Thumbs {
	return &Thumbs{side: min(max(side, 1), 128), tiny: pixels}
}

// Side is the longest side a thumbnail can have.
func (t *Thumbs) Side() int { return t.side }

// Add appends the thumbnail of the next item. A picture larger than the side is
// reduced; nil means that the item has no picture.
func (t *Thumbs) Add(img image.Image) {
	cell := t.n % (thumbsAcross * thumbsAcross)
	if cell == 0 {
		t.finish()
		whole := image.Rect(0, 0, thumbsAcross*t.side, thumbsAcross*t.side)
		t.sheet = image.NewRGBA(whole)
		draw.Draw(t.sheet, whole, image.NewUniform(color.White), image.Point{}, draw.Src)
	}
	t.n++
	if img == nil || img.Bounds().Empty() {
		t.sizes = append(t.sizes, 0, 0)
		return
	}
	img = shrink(img, t.side)
	b := img.Bounds()
	at := image.Pt(cell%thumbsAcross*t.side, cell/thumbsAcross*t.side)
	draw.Draw(t.sheet, image.Rectangle{Min: at, Max: at.Add(b.Size())}, img, b.Min, draw.Src)
	t.sizes = append(t.sizes, byte(b.Dx()), byte(b.Dy()))
}

// finish encodes the sheet that is being filled.
func (t *Thumbs) finish() {
	if t.sheet == nil || t.err != nil {
		return
	}
	var b bytes.Buffer
	if t.tiny {
		t.err = png.Encode(&b, t.sheet)
	} else {
		t.err = jpeg.Encode(&b, t.sheet, &jpeg.Options{Quality: 72})
	}
	t.encoded = append(t.encoded, base64.StdEncoding.EncodeToString(b.Bytes()))
	t.sheet = nil
}

func (t *Thumbs) pack() (*mapPhotos, error) {
	t.finish()
	if t.err != nil {
		return nil, fmt.Errorf("thumbnails: %w", t.err)
	}
	p := &mapPhotos{Side: t.side, Across: thumbsAcross, Type: "image/jpeg", Sheets: t.encoded,
		Sizes: base64.StdEncoding.EncodeToString(t.sizes)}
	if t.tiny {
		p.Type = "image/png"
	}
	return p, nil
}
