package isobmff_test

import (
	"bytes"
	"image"
	"reflect"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/isobmff"
	"github.com/kindred-ml/kindred/internal/test/heif"
)

// sample is a file of a grid with all that Parse reads.
func sample(wide bool) *heif.File {
	exif := append([]byte{0, 0, 0, 2, 'x', 'x'}, "II*\x00"...)
	return &heif.File{Brand: "heic", Primary: 7, Wide: wide, Items: []heif.Item{
		{ID: 1, Type: "hvc1", Hidden: true, Content: []byte("one"), Properties: [][]byte{heif.Size(64, 48)}},
		{ID: 2, Type: "hvc1", Hidden: true, Content: []byte("two"), Properties: [][]byte{heif.Size(64, 48)}},
		{ID: 7, Type: "grid", Inside: true, Content: heif.Grid(1, 2, 120, 48), Parts: []uint32{1, 2},
			Properties: [][]byte{heif.Size(120, 48), heif.Full("pixi", 0, 0, []byte{3, 8, 10, 8}),
				heif.Box("colr", []byte("nclx\x00\x01\x00\x0d\x00\x06\x80")), heif.Box("irot", []byte{3}),
				heif.Box("imir", []byte{0}), heif.Clap(100, 40, 2, -1)}},
		{ID: 9, Type: "Exif", Content: exif, Describes: 7},
		{ID: 8, Type: "Exif", Content: []byte("of another picture"), Describes: 1},
	}}
}

func TestParse(t *testing.T) {
	for _, wide := range []bool{false, true} {
		b := sample(wide).Bytes()
		f, err := isobmff.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		p := f.Primary
		if p.ID != 7 || p.Type != "grid" || p.W != 120 || p.H != 48 || p.Bits != 10 ||
			!slices.Equal(p.Parts, []uint32{1, 2}) || !reflect.DeepEqual(p.Colour, isobmff.Colour{Known: true,
			Primaries: 1, Transfer: 13, Matrix: 6, Full: true}) {
			t.Errorf("%+v", p)
		}
		if len(p.Turns) != 3 || p.Turns[0].Orientation != 6 || p.Turns[1].Orientation != 4 {
			t.Errorf("%+v", p.Turns)
		}
		if r, ok := p.Turns[2].Crop.Rect(120, 48); !ok || r != image.Rect(12, 3, 112, 43) {
			t.Errorf("%v, %v", r, ok)
		}
		if g, ok := f.Grid(p); !ok || g != (isobmff.Grid{Rows: 1, Columns: 2, W: 120, H: 48}) {
			t.Errorf("%+v, %v", g, ok)
		}
		if !bytes.Equal(f.Exif(), []byte("II*\x00")) {
			t.Errorf("%q", f.Exif())
		}
		if one := f.Item(1); one == nil || one.Type != "hvc1" || f.Item(3) != nil {
			t.Errorf("%+v, %+v", one, f.Item(3))
		}
	}
}

// TestWritten: what decoders get has the same picture, and nothing else.
func TestWritten(t *testing.T) {
	for _, wide := range []bool{false, true} {
		b := sample(wide).Bytes()
		f, err := isobmff.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		head, data, err := f.Picture()
		if err != nil {
			t.Fatal(err)
		}
		got, err := isobmff.Parse(append(head, data...))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []uint32{1, 2, 7} {
			is, was := got.Item(id), f.Item(id)
			if is == nil || is.Type != was.Type || is.W != was.W || !slices.Equal(is.Parts, was.Parts) ||
				!slices.Equal(is.Turns, was.Turns) || !reflect.DeepEqual(is.Colour, was.Colour) ||
				is.Bits != was.Bits ||
				!bytes.Equal(got.Content(is), f.Content(was)) {
				t.Errorf("item %d: %+v, was %+v", id, is, was)
			}
		}
		if got.Item(8) != nil || got.Item(9) != nil || got.Exif() != nil {
			t.Error("EXIF is written")
		}
		one := f.Item(1)
		if head, err = f.TileHead(one, len(f.Content(one))); err != nil {
			t.Fatal(err)
		}
		if got, err = isobmff.Parse(append(head, f.Content(one)...)); err != nil {
			t.Fatal(err)
		}
		if p := got.Primary; p.ID != 1 || p.W != 64 || p.H != 48 || string(got.Content(p)) != "one" ||
			got.Item(7) != nil {
			t.Errorf("%+v", p)
		}
	}
}

// TestLargeGrid: sides of more than 65535 pixels have four bytes each.
func TestLargeGrid(t *testing.T) {
	s := sample(false)
	s.Items[2].Content = []byte{0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 48}
	f, err := isobmff.Parse(s.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if g, ok := f.Grid(f.Primary); !ok || g.W != 1<<16 || g.H != 48 {
		t.Errorf("%+v, %v", g, ok)
	}
	for _, content := range [][]byte{nil, {0, 0, 0, 1, 0, 1}, {0, 1, 0, 1, 0, 1, 0, 0}, heif.Grid(2, 2, 9, 9),
		heif.Grid(1, 2, 0, 9)} {
		s.Items[2].Content = content
		if f, err = isobmff.Parse(s.Bytes()); err != nil {
			t.Fatal(err)
		}
		if g, ok := f.Grid(f.Primary); ok {
			t.Errorf("%v is %+v", content, g)
		}
	}
}

// TestTurns: the quarter turns and reflections as orientations of EXIF.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		name  string
		value byte
		want  []int
	}{{"irot", 0, nil}, {"irot", 1, []int{8}}, {"irot", 2, []int{3}}, {"irot", 3, []int{6}}, {"imir", 0, []int{4}},
		{"imir", 1, []int{2}}} {
		s := sample(false)
		s.Items[2].Properties = [][]byte{heif.Box(c.name, []byte{c.value})}
		f, err := isobmff.Parse(s.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, turn := range f.Primary.Turns {
			got = append(got, turn.Orientation)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %d: %v", c.name, c.value, got)
		}
	}
}

func TestCrop(t *testing.T) {
	crop := func(w, h, x, y [2]int32) isobmff.Crop {
		f := func(v [2]int32) isobmff.Fraction { return isobmff.Fraction{N: v[0], D: v[1]} }
		return isobmff.Crop{W: f(w), H: f(h), X: f(x), Y: f(y)}
	}
	none := [2]int32{0, 1}
	for _, c := range []struct {
		crop isobmff.Crop
		want image.Rectangle
		ok   bool
	}{
		{crop([2]int32{10, 1}, [2]int32{6, 1}, none, none), image.Rect(0, 0, 10, 6), true},
		{crop([2]int32{7, 1}, [2]int32{5, 1}, [2]int32{3, 2}, [2]int32{-1, 2}), image.Rect(3, 0, 10, 5), true},
		{crop([2]int32{11, 1}, [2]int32{6, 1}, none, none), image.Rectangle{}, false},
		{crop([2]int32{10, 1}, [2]int32{6, 1}, [2]int32{1, 1}, none), image.Rectangle{}, false},
		{crop([2]int32{10, 0}, [2]int32{6, 1}, none, none), image.Rectangle{}, false},
		{crop([2]int32{-2, 1}, [2]int32{6, 1}, none, none), image.Rectangle{}, false},
		{crop(none, [2]int32{6, 1}, none, none), image.Rectangle{}, false},
		{isobmff.Crop{}, image.Rectangle{}, false},
	} {
		if r, ok := c.crop.Rect(10, 6); ok != c.ok || ok && r != c.want {
			t.Errorf("%+v: %v, %v", c.crop, r, ok)
		}
	}
}

// TestCutOff: a file that is cut off in its list is an error or has what comes before; without its data it lacks
// them alone.
func TestCutOff(t *testing.T) {
	b := sample(false).Bytes()
	data := bytes.LastIndex(b, []byte("mdat")) - 4
	whole, err := isobmff.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	for n := range b {
		f, err := isobmff.Parse(b[:n])
		if n >= data {
			if err != nil || !reflect.DeepEqual(f.Primary, whole.Primary) || f.Exif() != nil && n < len(b)-18 {
				t.Errorf("%d of %d bytes: %+v, %v, %q", n, len(b), f, err, f.Exif())
			}
		} else if err == nil && f.Primary.ID != 7 {
			t.Errorf("%d of %d bytes: %+v", n, len(b), f.Primary)
		}
	}
	for _, b := range [][]byte{nil, []byte("what?"), heif.Box("meta"), heif.Full("meta", 0, 0),
		heif.Full("meta", 0, 0, heif.Full("pitm", 0, 0, []byte{0, 1})), {0, 0, 0, 0, 'm', 'e', 't', 'a'},
		{0, 0, 0, 1, 'm', 'e', 't', 'a', 0, 0, 0, 0, 0, 0, 0, 1}} {
		if f, err := isobmff.Parse(b); err != isobmff.ErrFile {
			t.Errorf("%q: %+v, %v", b, f, err)
		}
	}
}

func TestExif(t *testing.T) {
	for content, want := range map[string]string{"": "", "\x00\x00\x00": "", "\x00\x00\x00\x00": "",
		"\x00\x00\x00\x00II": "II", "\x00\x00\x00\x01II": "I", "\x00\x00\x00\x02II": "", "\xff\xff\xff\xffII": ""} {
		if got := isobmff.Exif([]byte(content)); string(got) != want {
			t.Errorf("%q: %q", content, got)
		}
	}
}

// FuzzParse changes a file in any way.
func FuzzParse(f *testing.F) {
	f.Add(sample(false).Bytes())
	f.Add(sample(true).Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := isobmff.Parse(b)
		if err != nil {
			return
		}
		file.Exif()
		file.Grid(file.Primary)
		if head, data, err := file.Picture(); err == nil {
			if _, err := isobmff.Parse(append(head, data...)); err != nil {
				t.Error(err)
			}
		}
		for _, turn := range file.Primary.Turns {
			turn.Crop.Rect(100, 100)
		}
	})
}
