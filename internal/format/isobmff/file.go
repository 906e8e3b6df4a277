package isobmff

import (
	"encoding/binary"
	"errors"
	"image"
	"maps"
	"math"
	"slices"
)

// File is the structure of a file.
type File struct {
	// Primary is the item of the picture.
	Primary *Item
	// PrimaryAt is the place of the number of the primary item in the file, which has PrimaryBytes bytes.
	PrimaryAt, PrimaryBytes int

	b          []byte
	items      map[uint32]*Item
	properties []box
	idat       box
}

// Item is one item: a picture, a part of a picture, or data such as EXIF.
type Item struct {
	ID   uint32
	Type string // hvc1, av01, grid, Exif and others
	// FlagsAt is the place of the byte in the file whose lowest bit hides the item.
	FlagsAt int
	// W and H are the size of a picture before it is turned, or 0 if the file does not say.
	W, H int
	// Turns are the changes of the decoded picture, in this order.
	Turns []Turn
	// Colour is how the picture's planes become colours.
	Colour Colour
	// Bits is the largest number of bits of a channel, or 0 if the file does not say.
	Bits int
	// Parts are the pictures that a grid is made of.
	Parts []uint32

	describes []uint32 // items that this one describes
	extents   []extent
	inside    bool // the extents are in the box idat
}

type extent struct{ at, n uint64 }

// Turn is one change of the decoded picture: a crop, or an EXIF orientation.
type Turn struct {
	Orientation int // 1 to 8; 0 for a crop
	Crop        Crop
}

// Crop is a part of a picture as the box clap gives it: fractions of pixels, with the middle relative to the middle
// of the picture.
type Crop struct{ W, H, X, Y Fraction }

// Fraction is a number of the box clap.
type Fraction struct{ N, D int32 }

func (f Fraction) float() float64 { return float64(f.N) / float64(f.D) }

// Rect returns the crop of a picture of w x h pixels, in whole pixels. It returns false if that is not a part of the
// picture.
func (c Crop) Rect(w, h int) (image.Rectangle, bool) {
	side := func(n int, size, middle Fraction) (from, to int, ok bool) {
		if size.D == 0 || middle.D == 0 {
			return 0, 0, false
		}
		begin := math.Round(middle.float() + float64(n-1)/2 - (size.float()-1)/2)
		end := begin + math.Round(size.float())
		return int(begin), int(end), 0 <= begin && begin < end && end <= float64(n)
	}
	left, right, ok1 := side(w, c.W, c.X)
	top, bottom, ok2 := side(h, c.H, c.Y)
	return image.Rect(left, top, right, bottom), ok1 && ok2
}

// Colour is how luma and chroma become colours, by the numbers of ITU-T H.273.
type Colour struct {
	Known  bool
	Matrix int
	Full   bool // the values span 0 to 255
}

// ErrFile is the error of Parse.
var ErrFile = errors.New("the list of its pictures is missing or damaged")

// Parse reads the structure of the file that begins with b. The pictures themselves need not be in b.
func Parse(b []byte) (*File, error) {
	meta, ok := find(b, 0, "meta")
	c := meta.cursor()
	c.full()
	if !ok || c.bad {
		return nil, ErrFile
	}
	f := &File{b: b, items: map[uint32]*Item{}}
	primary := uint32(0)
	inner := c.rest()
	// Locations, references and properties are of items, which may come later in the file.
	for _, names := range []map[string]func(box){
		{"iinf": f.list, "pitm": func(x box) { primary = f.primary(x) }, "idat": func(x box) { f.idat = x }},
		{"iloc": f.locate, "iref": f.refer, "iprp": f.describe},
	} {
		for x := range boxes(inner.b, inner.at) {
			if read := names[x.name]; read != nil {
				read(x)
			}
		}
	}
	if f.Primary = f.items[primary]; f.Primary == nil {
		return nil, ErrFile
	}
	return f, nil
}

// Item returns an item, or nil if the file has none of this number.
func (f *File) Item(id uint32) *Item { return f.items[id] }

// primary reads the box pitm.
func (f *File) primary(x box) uint32 {
	c := x.cursor()
	version, _ := c.full()
	f.PrimaryAt, f.PrimaryBytes = c.at, width(version)
	return uint32(c.uint(f.PrimaryBytes))
}

// width returns how many bytes the number of an item has: four, or two in boxes of the first version.
func width(version int) int {
	if version == 0 {
		return 2
	}
	return 4
}

// list reads the box iinf: the items and their types.
func (f *File) list(x box) {
	c := x.cursor()
	version, _ := c.full()
	c.uint(width(version)) // their number
	for e := range boxes(c.b, c.at) {
		if e.name != "infe" {
			continue
		}
		c := e.cursor()
		version, _ := c.full()
		if version < 2 {
			continue
		}
		it := &Item{FlagsAt: e.at + 3, ID: uint32(c.uint(width(version - 2)))}
		c.uint(2) // protection
		if len(c.b) < 4 {
			continue
		}
		it.Type = string(c.b[:4])
		f.items[it.ID] = it
	}
}

// locate reads the box iloc: where the content of the items is.
func (f *File) locate(x box) {
	c := x.cursor()
	version, _ := c.full()
	sizes := c.int(2)
	offset, length, base, index := sizes>>12, sizes>>8&15, sizes>>4&15, sizes&15
	if version == 0 {
		index = 0
	}
	idBytes := 2
	if version == 2 {
		idBytes = 4
	}
	for n := c.int(idBytes); n > 0 && !c.bad; n-- {
		it := f.items[uint32(c.uint(idBytes))]
		method := 0
		if version > 0 {
			method = c.int(2) & 15
		}
		c.uint(2) // a reference to another file
		from := c.uint(base)
		for k := c.int(2); k > 0 && !c.bad; k-- {
			c.uint(index)
			e := extent{at: from + c.uint(offset), n: c.uint(length)}
			if it != nil && method <= 1 {
				it.extents, it.inside = append(it.extents, e), method == 1
			}
		}
	}
}

// refer reads the box iref: the parts of a grid (dimg), and which item EXIF describes (cdsc).
func (f *File) refer(x box) {
	c := x.cursor()
	version, _ := c.full()
	n := width(version)
	for r := range boxes(c.b, c.at) {
		c := r.cursor()
		it := f.items[uint32(c.uint(n))]
		for k := c.int(2); k > 0 && !c.bad && it != nil; k-- {
			switch to := uint32(c.uint(n)); {
			case c.bad:
			case r.name == "dimg":
				it.Parts = append(it.Parts, to)
			case r.name == "cdsc":
				it.describes = append(it.describes, to)
			}
		}
	}
}

// Grid describes how the parts of an item of type grid make up the picture: row by row, all of one size, cut off at
// the right and at the bottom.
type Grid struct{ Rows, Columns, W, H int }

// Grid reads the description of a grid. It needs the file up to there.
func (f *File) Grid(it *Item) (Grid, bool) {
	b := f.content(it)
	if len(b) < 8 {
		return Grid{}, false
	}
	g := Grid{Rows: int(b[2]) + 1, Columns: int(b[3]) + 1}
	const large = 1 // the size has four bytes for each side
	if b[1]&large != 0 {
		if len(b) < 12 {
			return Grid{}, false
		}
		g.W, g.H = int(binary.BigEndian.Uint32(b[4:])), int(binary.BigEndian.Uint32(b[8:]))
	} else {
		g.W, g.H = int(binary.BigEndian.Uint16(b[4:])), int(binary.BigEndian.Uint16(b[6:]))
	}
	return g, g.Rows*g.Columns == len(it.Parts) && g.W > 0 && g.H > 0
}

// content returns the content of an item, or nil if it is not all in the file. Content in several pieces is put
// together.
func (f *File) content(it *Item) []byte {
	from := f.b
	if it.inside {
		from = f.idat.b
	}
	var out []byte
	for k, e := range it.extents {
		if e.at > uint64(len(from)) || e.n > uint64(len(from))-e.at || len(out) > len(f.b) {
			return nil
		}
		piece := from[e.at : e.at+e.n]
		if e.n == 0 {
			piece = from[e.at:]
		}
		if k == 0 {
			out = piece[:len(piece):len(piece)]
		} else {
			out = append(out, piece...)
		}
	}
	return out
}

// Exif returns the EXIF block of the picture, a TIFF file, or nil without one. Of several it is that of the item
// with the smallest number.
func (f *File) Exif() []byte {
	for _, id := range slices.Sorted(maps.Keys(f.items)) {
		it := f.items[id]
		if it.Type != "Exif" || len(it.describes) > 0 && !slices.Contains(it.describes, f.Primary.ID) {
			continue
		}
		return Exif(f.content(it))
	}
	return nil
}

// Exif returns the EXIF block in the content of an item or a box of this name: the number of bytes before the block
// comes first. It returns nil without a block.
func Exif(content []byte) []byte {
	if len(content) < 4 {
		return nil
	}
	if skip := uint64(binary.BigEndian.Uint32(content)); skip < uint64(len(content)-4) {
		return content[4+skip:]
	}
	return nil
}
