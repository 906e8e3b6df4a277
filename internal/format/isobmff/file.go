package isobmff

import (
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"iter"
	"maps"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// File is the structure of a file as far as its picture needs it: the primary item, what that is made of, and its
// EXIF. StructureBytes bounds its memory, and Parse passes over the bytes a fixed number of times.
type File struct {
	// Primary is the item of the picture.
	Primary *Item

	b          []byte
	items      map[uint32]*Item
	exif       *Item
	isAV1      bool        // one of the items is coded so
	references []reference // between items of the picture
	container  box         // the properties
	properties []int       // where each begins in container.b
	idat       box
}

// Item is one item: a picture, a part of a picture, or data such as EXIF.
type Item struct {
	ID   uint32
	Type string // hvc1, av01, grid, Exif and others
	// W and H are the size of a picture before it is turned, or 0 if the file does not say.
	W, H int
	// Turns are the changes of the decoded picture, in this order.
	Turns []Turn
	// Colour is how the picture's planes become colours.
	Colour Colour
	// Bits is the largest number of bits of a channel, or 0 if the file does not say.
	Bits int
	// Across and Down are the pixels that share a value of chroma, or 0 if the file does not say.
	Across, Down int
	// IsGrey is set for a picture of HEVC without chroma.
	IsGrey bool
	// Parts are the pictures that a grid is made of.
	Parts []uint32

	hidden       bool
	isAlpha      bool     // an auxiliary picture that is the opacity of another one
	associations []uint16 // numbers of properties, from 1, with essential set for those that a reader must know
	extents      []extent
	hasLocation  bool // the box iloc has been read for it
	inIDAT       bool // the extents are in the box idat
}

// Size returns the size of a picture before it is turned.
func (it *Item) Size() image.Point { return image.Pt(it.W, it.H) }

type extent struct{ at, n uint64 }

// reference is a list of items that another item refers to.
type reference struct {
	kind string
	from uint32
	to   itemIDs
}

// itemIDs are numbers of items as the file has them, of so many bytes each.
type itemIDs struct {
	b     []byte
	bytes int
}

func (n itemIDs) ids() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for b := n.b; len(b) >= n.bytes; b = b[n.bytes:] {
			id := uint32(binary.BigEndian.Uint16(b))
			if n.bytes == 4 {
				id = binary.BigEndian.Uint32(b)
			}
			if !yield(id) {
				return
			}
		}
	}
}

// containsAny reports whether one of the numbers has a property.
func (n itemIDs) containsAny(has func(id uint32) bool) bool {
	for id := range n.ids() {
		if has(id) {
			return true
		}
	}
	return false
}

// The bounds of what Parse keeps. A grid has at most 65,535 tiles, as their number has two bytes, and its opacity may
// be a grid of as many.
const (
	maxItems   = 1 << 17
	maxExtents = 1 << 17 // of all items together
	maxDepth   = 4       // from a picture to what it is made of, such as an overlay of grids with opacity
)

// StructureBytes returns more than the memory that Parse takes for a file of size bytes that begins with b.
func StructureBytes(b []byte, size int64) int64 {
	const perByte = 24 // of the box that has the structure
	n := size
	if meta, ok := findBox(b, 0, "meta"); ok {
		n = meta.size - int64(len(meta.whole)-len(meta.b))
	} else if int64(len(b)) == size {
		n = 0
	}
	return budget.Product(perByte, min(n, size))
}

// ErrFile is the error of Parse.
var ErrFile = errors.New("the list of its pictures is missing or damaged")

// Parse reads the structure of the file that begins with b. The pictures themselves need not be in b.
func Parse(b []byte) (*File, error) {
	meta, ok := findBox(b, 0, "meta")
	c := meta.cursor()
	c.full()
	if !ok || c.bad {
		return nil, ErrFile
	}
	lists := map[string]box{}
	inner := c.rest()
	for x := range boxes(inner.b, inner.at) {
		switch x.name {
		case "pitm", "iinf", "iloc", "iref", "iprp", "idat":
			if _, twice := lists[x.name]; !twice {
				lists[x.name] = x
			}
		}
	}
	c = lists["pitm"].cursor()
	version, _ := c.full()
	primary := uint32(c.uint(idWidth(version)))
	if c.bad {
		return nil, ErrFile
	}
	f := &File{b: b, items: map[uint32]*Item{}, idat: lists["idat"]}
	wanted, err := f.readReferences(lists["iref"], primary)
	if err != nil {
		return nil, err
	}
	exifs := f.readItems(lists["iinf"], wanted)
	for _, r := range f.references {
		if it := f.items[r.from]; it != nil && r.kind == "dimg" && it.Parts == nil {
			it.Parts = slices.Collect(r.to.ids())
		}
	}
	f.chooseExif(lists["iref"], exifs, primary)
	if err := f.readLocations(lists["iloc"]); err != nil {
		return nil, err
	}
	f.readProperties(lists["iprp"])
	if f.Primary = f.items[primary]; f.Primary == nil {
		return nil, ErrFile
	}
	return f, f.keepOpacity()
}

// Item returns an item that the picture is made of, or nil if the picture has none of this number.
func (f *File) Item(id uint32) *Item { return f.items[id] }

// Chroma returns the pixels that share a value of chroma, of the picture or of the first part of it that says so. They
// are 0 if none does.
func (f *File) Chroma() (across, down int) {
	for _, id := range append([]uint32{f.Primary.ID}, f.Primary.Parts...) {
		if it := f.items[id]; it != nil && it.Across > 0 {
			return it.Across, it.Down
		}
	}
	return 0, 0
}

// Opacity returns the item of the opacity of another one, or nil for an opaque picture, and whether the colours have
// been multiplied by it.
func (f *File) Opacity(it *Item) (opacity *Item, multiplied bool) {
	is := func(id uint32) bool { return id == it.ID }
	for _, r := range f.references {
		if r.kind == "auxl" && r.to.containsAny(is) {
			opacity = f.items[r.from]
		}
		multiplied = multiplied || r.kind == "prem" && r.from == it.ID
	}
	return opacity, multiplied
}

// idWidth returns how many bytes the number of an item has: four, or two in boxes of the first version.
func idWidth(version int) int {
	if version == 0 {
		return 2
	}
	return 4
}

// references yields the content of the box iref. A list that is cut short ends early.
func references(x box) iter.Seq[reference] {
	return func(yield func(reference) bool) {
		c := x.cursor()
		version, _ := c.full()
		n := idWidth(version)
		for r := range boxes(c.b, c.at) {
			c := r.cursor()
			from, count := uint32(c.uint(n)), c.int(2)
			if !c.bad && !yield(reference{r.name, from, itemIDs{c.b[:min(count*n, len(c.b))], n}}) {
				return
			}
		}
	}
}

// readReferences reads of the box iref what the primary item is made of (dimg), the opacity of such items
// (auxl), and whether their colours are multiplied by it (prem). It returns the numbers of all these items, in order.
func (f *File) readReferences(x box, primary uint32) (wanted []uint32, err error) {
	wanted = []uint32{primary}
	known := func(id uint32) bool {
		_, ok := slices.BinarySearch(wanted, id)
		return ok
	}
	for range maxDepth {
		f.references = f.references[:0]
		more := slices.Clone(wanted)
		for r := range references(x) {
			switch {
			case (r.kind == "dimg" || r.kind == "prem") && known(r.from):
			case r.kind == "auxl" && r.to.containsAny(known):
			default:
				continue
			}
			f.references = append(f.references, r)
			more = slices.AppendSeq(append(more, r.from), r.to.ids())
			if len(more) > 2*maxItems {
				return nil, errItems
			}
		}
		slices.Sort(more)
		if more = slices.Compact(more); len(more) == len(wanted) {
			return wanted, nil
		}
		wanted = more
	}
	return wanted, nil
}

// keepOpacity keeps of the auxiliary pictures one opacity for each picture, of the same size. The others, such as
// depths, and what they are made of do not change the picture.
func (f *File) keepOpacity() error {
	opacities := map[uint32]bool{} // pictures that have one
	kept := f.references[:0]
	for _, r := range f.references {
		if r.kind == "auxl" {
			it, of := f.items[r.from], (*Item)(nil)
			for id := range r.to.ids() {
				if of = f.items[id]; of != nil {
					break
				}
			}
			if it == nil || of == nil || !it.isAlpha || opacities[of.ID] {
				continue
			}
			if it.W != of.W || it.H != of.H {
				return fmt.Errorf("opacity of %d x %d pixels for a picture of %d x %d", it.W, it.H, of.W, of.H)
			}
			opacities[of.ID] = true
		}
		kept = append(kept, r)
	}
	needed := map[uint32]bool{f.Primary.ID: true}
	isNeeded := func(id uint32) bool { return needed[id] }
	for range maxDepth {
		for _, r := range kept {
			switch {
			case r.kind == "auxl" && r.to.containsAny(isNeeded):
				needed[r.from] = true
			case r.kind == "dimg" && needed[r.from]:
				for id := range r.to.ids() {
					needed[id] = true
				}
			}
		}
	}
	f.references = slices.DeleteFunc(kept, func(r reference) bool { return !needed[r.from] })
	maps.DeleteFunc(f.items, func(id uint32, it *Item) bool { return !needed[id] && it != f.exif })
	return nil
}

var errItems = fmt.Errorf("its picture is made of more than %d others", maxItems)

// readItems reads the box iinf: the items and their types. It keeps those that are wanted, and returns the
// first ones of EXIF.
func (f *File) readItems(x box, wanted []uint32) (exifs []*Item) {
	const mostExifs = 64
	c := x.cursor()
	version, _ := c.full()
	c.uint(idWidth(version)) // their number
	for e := range boxes(c.b, c.at) {
		if e.name != "infe" {
			continue
		}
		c := e.cursor()
		version, flags := c.full()
		if version < 2 {
			continue
		}
		id := uint32(c.uint(idWidth(version - 2)))
		c.uint(2) // protection
		if len(c.b) < 4 || f.items[id] != nil {
			continue
		}
		const hidden = 1
		switch _, ok := slices.BinarySearch(wanted, id); {
		case ok:
			f.items[id] = &Item{ID: id, Type: string(c.b[:4]), hidden: flags&hidden != 0}
			f.isAV1 = f.isAV1 || f.items[id].Type == "av01"
		case string(c.b[:4]) == "Exif" && len(exifs) < mostExifs:
			exifs = append(exifs, &Item{ID: id, Type: "Exif"})
		}
	}
	return exifs
}

// chooseExif keeps the item of EXIF that describes the picture (cdsc), or nothing in particular. Of several it is
// that with the smallest number.
func (f *File) chooseExif(x box, exifs []*Item, primary uint32) {
	ofPicture, ofOthers := map[uint32]bool{}, map[uint32]bool{}
	for r := range references(x) {
		if !slices.ContainsFunc(exifs, func(it *Item) bool { return r.kind == "cdsc" && it.ID == r.from }) {
			continue
		}
		for id := range r.to.ids() {
			ofPicture[r.from] = ofPicture[r.from] || id == primary
			ofOthers[r.from] = true
		}
	}
	for _, it := range exifs {
		if (ofPicture[it.ID] || !ofOthers[it.ID]) && (f.exif == nil || it.ID < f.exif.ID) {
			f.exif = it
		}
	}
	if f.exif != nil {
		f.items[f.exif.ID] = f.exif
	}
}

// readLocations reads the box iloc: where the content of the items is. An entry without bytes of its own, as
// its sizes are 0, stands for the whole file, and is there once.
func (f *File) readLocations(x box) error {
	c := x.cursor()
	version, _ := c.full()
	sizes := c.int(2)
	offset, length, base, index := sizes>>12, sizes>>8&15, sizes>>4&15, sizes&15
	if version == 0 {
		index = 0
	}
	for _, size := range []int{offset, length, base, index} {
		if size != 0 && size != 4 && size != 8 {
			return fmt.Errorf("the places of its items have numbers of %d bytes, not 0, 4 or 8", size)
		}
	}
	idBytes := 2
	if version == 2 {
		idBytes = 4
	}
	extents := 0
	for n := c.int(idBytes); n > 0 && !c.bad; n-- {
		it := f.items[uint32(c.uint(idBytes))]
		method := 0
		if version > 0 {
			method = c.int(2) & 15
		}
		c.uint(2) // a reference to another file
		from := c.uint(base)
		k := c.int(2)
		if size := index + offset + length; size == 0 && k > 1 {
			return fmt.Errorf("an item has %d pieces, whose places have no bytes", k)
		} else if it == nil || it.hasLocation || method > 1 {
			c.skip(k * size)
			continue
		}
		if extents += k; extents > maxExtents {
			return fmt.Errorf("its items have more than %d pieces", maxExtents)
		}
		it.hasLocation, it.inIDAT = true, method == 1
		for ; k > 0 && !c.bad; k-- {
			c.uint(index)
			if e := (extent{at: from + c.uint(offset), n: c.uint(length)}); !c.bad {
				it.extents = append(it.extents, e)
			}
		}
	}
	return nil
}

// Grid describes how the parts of an item of type grid make up the picture: row by row, all of one size, cut off at
// the right and at the bottom.
type Grid struct{ Rows, Columns, W, H int }

// Grid reads the description of a grid. It needs the file up to there.
func (f *File) Grid(it *Item) (Grid, bool) {
	b := f.Content(it)
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

// CheckGrid returns an error if the parts of a grid do not make up its picture, or if some lie outside of it.
func (f *File) CheckGrid(it *Item) error {
	g, ok := f.Grid(it)
	if !ok || f.items[it.Parts[0]] == nil {
		return errors.New("the description of a grid is missing or damaged")
	}
	w, h := f.items[it.Parts[0]].W, f.items[it.Parts[0]].H
	if w*g.Columns < g.W || h*g.Rows < g.H || w*(g.Columns-1) >= g.W || h*(g.Rows-1) >= g.H {
		return fmt.Errorf("%d x %d tiles of %d x %d pixels do not make up a picture of %d x %d", g.Columns, g.Rows, w,
			h, g.W, g.H)
	}
	return nil
}

// pieces returns the places in the file of an item's content, or false if it is not all in the file. They have no
// more bytes than the file.
func (f *File) pieces(it *Item) ([]extent, bool) {
	from := box{b: f.b}
	if it.inIDAT {
		from = f.idat
	}
	out, all := make([]extent, 0, len(it.extents)), uint64(0)
	for _, e := range it.extents {
		if e.at > uint64(len(from.b)) || e.n > uint64(len(from.b))-e.at {
			return nil, false
		}
		if e.n == 0 { // to the end
			e.n = uint64(len(from.b)) - e.at
		}
		if all += e.n; all > uint64(len(f.b)) {
			return nil, false
		}
		out = append(out, extent{uint64(from.at) + e.at, e.n})
	}
	return out, true
}

// Size returns the bytes of an item's content, or 0 if it is not all in the file.
func (f *File) Size(it *Item) int64 {
	n := int64(0)
	pieces, _ := f.pieces(it)
	for _, e := range pieces {
		n += int64(e.n)
	}
	return n
}

// Content returns the content of an item, or nil if it is not all in the file. Content in several pieces is put
// together.
func (f *File) Content(it *Item) []byte {
	pieces, _ := f.pieces(it)
	if len(pieces) == 1 {
		e := pieces[0]
		return f.b[e.at : e.at+e.n : e.at+e.n]
	}
	var out []byte
	for _, e := range pieces {
		out = append(out, f.b[e.at:e.at+e.n]...)
	}
	return out
}

// Exif returns the EXIF block of the picture, a TIFF file, or nil without one.
func (f *File) Exif() []byte {
	if f.exif == nil {
		return nil
	}
	return Exif(f.Content(f.exif))
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
