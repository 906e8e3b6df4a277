package isobmff

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Decoders get no list that somebody else wrote: they parse a file that has the items of the picture alone. Their own
// readers of lists take time and memory that do not follow from the size of the picture.

// Picture returns a file with the items of f's picture and nothing else, in two parts: its beginning, and the media
// data, which are a part of f's own file.
func (f *File) Picture() (head, data []byte, err error) {
	items := slices.SortedFunc(maps.Values(f.items), func(a, b *Item) int { return cmp.Compare(a.ID, b.ID) })
	items = slices.DeleteFunc(items, func(it *Item) bool { return it == f.exif })
	all := make([][]extent, len(items))
	begin, end := uint64(len(f.b)), uint64(0)
	for i, it := range items {
		if it.Type == "grid" {
			if err := f.CheckGrid(it); err != nil {
				return nil, nil, err
			}
		}
		if err := f.CheckCoded(it); err != nil {
			return nil, nil, err
		}
		pieces, ok := f.pieces(it)
		if !ok {
			return nil, nil, errCut
		}
		all[i] = pieces
		for _, e := range pieces {
			begin, end = min(begin, e.at), max(end, e.at+e.n)
		}
	}
	w := writer{f: f, numbers: map[int]int{}}
	for i, it := range items {
		for k := range all[i] {
			all[i][k].at -= begin
		}
		w.add(it, all[i], func(box) bool { return true }, nil)
	}
	for _, r := range f.references {
		w.refer(r)
	}
	data = f.b[min(begin, end):end]
	head, err = w.head(f.Primary, len(data))
	return head, data, err
}

// TileHead returns the beginning of a file whose picture is an item alone, as it is stored. The item's content, of so
// many bytes, is to follow it. The picture is said to have green, blue and red in place of luma and chroma, so that a
// decoder returns these as they are.
func (f *File) TileHead(it *Item, size int) ([]byte, error) {
	const unspecified, identity, fullRange = 2, 0, 1 << 7
	w := writer{f: f, numbers: map[int]int{}}
	shown := *it // the tiles of a grid are hidden
	shown.hidden = false
	w.add(&shown, []extent{{0, uint64(size)}}, func(p box) bool {
		return p.name == "hvcC" || p.name == "ispe" || p.name == "pixi"
	}, plainBox("colr", []byte("nclx"), u16(unspecified), u16(unspecified), u16(identity), []byte{fullRange}))
	const most = 8 << 10 // much more than the parameters of an encoder
	if len(w.properties) > most {
		return nil, fmt.Errorf("a tile with properties of %d bytes, more than %d", len(w.properties), most)
	}
	return w.head(it, size)
}

var errCut = errors.New("the file is cut off: a part of the picture lies beyond its end")

// writer writes a file of items. Numbers of items have four bytes.
type writer struct {
	f          *File
	numbers    map[int]int // of properties, by their number in f
	properties []byte
	count      uint32
	infe, iloc []byte
	ipma, iref []byte
	bases      []int // where in iloc the place of the data is to be
}

// add adds an item whose content lies in pieces of the data, with the properties of a kind and, if it is not nil, one
// more, which has no number in f.
func (w *writer) add(it *Item, pieces []extent, kept func(box) bool, more []byte) {
	w.count++
	flags := byte(0)
	if it.hidden {
		flags = 1
	}
	w.infe = append(w.infe, fullBox("infe", 3, flags, u32(it.ID), u16(0), []byte(it.Type), []byte{0})...)
	w.iloc = append(append(w.iloc, u32(it.ID)...), 0, 0, 0, 0)
	w.bases = append(w.bases, len(w.iloc))
	w.iloc = append(append(w.iloc, u32(0)...), u16(len(pieces))...)
	for _, e := range pieces {
		w.iloc = append(append(w.iloc, u32(uint32(e.at))...), u32(uint32(e.n))...)
	}
	w.ipma = append(w.ipma, u32(it.ID)...)
	count := len(w.ipma)
	w.ipma = append(w.ipma, 0)
	for _, a := range it.associations {
		old := int(a &^ essential)
		p, ok := w.f.propertyOf(old)
		if !ok || !kept(p) {
			continue
		}
		if w.numbers[old] == 0 {
			w.numbers[old] = len(w.numbers) + 1
			w.properties = append(w.properties, p.whole...)
		}
		w.ipma[count]++
		w.ipma = append(w.ipma, u16(w.numbers[old]|int(a&essential))...)
	}
	if more != nil {
		w.properties = append(w.properties, more...)
		w.ipma[count]++
		w.ipma = append(w.ipma, u16(len(w.numbers)+1)...)
	}
}

// refer adds a reference between items.
func (w *writer) refer(r reference) {
	ids := slices.Collect(r.to.ids())
	b := append(u32(r.from), u16(len(ids))...)
	for _, id := range ids {
		b = append(b, u32(id)...)
	}
	w.iref = append(w.iref, plainBox(r.kind, b)...)
}

// head returns the file up to its media data, of so many bytes.
func (w *writer) head(primary *Item, size int) ([]byte, error) {
	brand := "heic"
	if w.f.isAV1 {
		brand = "avif"
	}
	begin := plainBox("ftyp", []byte(brand), u32(0), []byte(brand), []byte("mif1"), []byte("miaf"))
	meta := func(data int) []byte {
		return fullBox("meta", 0, 0,
			fullBox("hdlr", 0, 0, u32(0), []byte("pict"), make([]byte, 13)),
			fullBox("pitm", 1, 0, u32(primary.ID)),
			fullBox("iloc", 2, 0, []byte{0x44, 0x40}, u32(w.count), w.locations(data)),
			fullBox("iinf", 1, 0, u32(w.count), w.infe),
			fullBox("iref", 1, 0, w.iref),
			plainBox("iprp", plainBox("ipco", w.properties), fullBox("ipma", 1, 1, u32(w.count), w.ipma)))
	}
	const header = 8
	data := len(begin) + len(meta(0)) + header
	if data+size > math.MaxUint32 {
		return nil, fmt.Errorf("a file of %d bytes is too large for the decoder", size)
	}
	out := append(begin, meta(data)...)
	return append(append(out, u32(uint32(header+size))...), "mdat"...), nil
}

// locations returns the content of iloc for data that begin at a place of the file.
func (w *writer) locations(data int) []byte {
	for _, at := range w.bases {
		binary.BigEndian.PutUint32(w.iloc[at:], uint32(data))
	}
	return w.iloc
}

func plainBox(name string, content ...[]byte) []byte {
	body := slices.Concat(content...)
	return slices.Concat(u32(uint32(8+len(body))), []byte(name), body)
}

func fullBox(name string, version, flags byte, content ...[]byte) []byte {
	return plainBox(name, append([][]byte{{version, 0, 0, flags}}, content...)...)
}

func u32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
func u16(v int) []byte    { return binary.BigEndian.AppendUint16(nil, uint16(v)) }
