package imaging

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/budgettest"
	"github.com/kindred-ml/kindred/internal/test/hostile"
)

// tiffFiles are small files as libtiff writes them: of 20 x 13 pixels, in all the kinds that it has.
func tiffFiles(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "tiff", "*.tif"))
	if err != nil || len(names) < 20 {
		t.Fatal(names, err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		if files[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestTIFFKinds: every kind has the pixels that it was made of, or is refused by name.
func TestTIFFKinds(t *testing.T) {
	refused := map[string]string{"big": "BigTIFF", "jpeg": "JPEG in TIFF", "zstd": "Zstandard", "cmyk": "CMYK",
		"float": "floating-point", "lzma": "compression 34925", "rle": "compression 2", "planes": "planes",
		"g32": "two dimensions", "packbits_lsb": "reverse order"}
	read := 0
	for name, b := range tiffFiles(t) {
		why := ""
		for part, reason := range refused {
			if strings.Contains(name, part) {
				why = reason
			}
		}
		var im Image
		err := new(Decoder).Decode(t.Context(), &im, b)
		if why != "" {
			if err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "damaged") ||
				!strings.Contains(err.Error(), "is not supported") {
				t.Errorf("%s: %v, want %q", name, err, why)
			}
			continue
		}
		if err != nil || im.W != 20 || im.H != 13 {
			t.Errorf("%s: %d x %d, %v", name, im.W, im.H, err)
			continue
		}
		read++
		im.SetChannels(3)
		for i, v := range im.Pix {
			x, y := i/3%20, i/60
			bilevel := uint8((x/3 + y/2) % 2 * 255)
			want := uint8(12 * x)
			switch {
			case strings.HasPrefix(name, "bw"):
				want = bilevel
			case strings.HasPrefix(name, "rgb"):
				want = [3]uint8{uint8(12 * x), uint8(19 * y), uint8(x * y)}[i%3]
			}
			if strings.HasPrefix(name, "rgba") && bilevel == 0 {
				want = 255 // white under what is transparent
			}
			if v != want {
				t.Errorf("%s: %d, %d is %d, want %d", name, x, y, v, want)
				break
			}
		}
	}
	if read < 7 {
		t.Errorf("%d are read", read)
	}
}

// stripped returns the parts of a grey picture in strips of rows, each of which is the same block.
func stripped(w, h, rows, compression int, data []byte, more ...*hostile.Part) *hostile.Part {
	le := binary.LittleEndian
	root := &hostile.Part{}
	add := func(tag string, values ...uint32) {
		p := &hostile.Part{Name: tag, Data: []byte{tagLong, 0}}
		for _, v := range values {
			p.Data = le.AppendUint32(p.Data, v)
		}
		root.Parts = append(root.Parts, p)
	}
	add("256", uint32(w))
	add("257", uint32(h))
	add("258", 8)
	add("259", uint32(compression))
	add("262", 1)
	n := (h + rows - 1) / rows
	add("273", make([]uint32, n)...)
	add("278", uint32(rows))
	add("279", make([]uint32, n)...)
	root.Parts = append(append(root.Parts, more...), &hostile.Part{Name: "block", Data: data})
	return root
}

// TestHostileTIFF: files that explain neither the memory nor the work that they ask for are refused before a block is
// decoded.
func TestHostileTIFF(t *testing.T) {
	tile := func(w, h uint32, n int) []*hostile.Part {
		le := binary.LittleEndian
		number := func(tag string, v uint32) *hostile.Part {
			return &hostile.Part{Name: tag, Data: le.AppendUint32([]byte{tagLong, 0}, v)}
		}
		return []*hostile.Part{number("322", w), number("323", h), {Name: "324", Data: append([]byte{tagByte, 0},
			make([]byte, n)...)}, {Name: "325", Data: append([]byte{tagByte, 0}, make([]byte, n)...)}}
	}
	f := hostile.TIFF(binary.LittleEndian)
	for want, root := range map[string]*hostile.Part{
		"60000 strips or tiles":           stripped(16, 60_000, 1, tiffDeflate, []byte{1}),
		"more than the 16937216 allowed":  stripped(1, 10_000, 1, tiffPB, make([]byte, 60_000)),
		"tiles of 1 x 1 pixels":           stripped(300, 300, 300, 1, []byte{1}, tile(1, 1, 90_000)...),
		"tiles of 16384 x 16384":          stripped(1, 1, 1, tiffDeflate, []byte{1}, tile(1<<14, 1<<14, 1)...),
		"tiles of 1024 x 4194304":         stripped(1024, 64, 64, 1, nil, tile(1024, 4194304, 1)...),
		"without the sizes of its strips": {Parts: stripped(9, 9, 9, 1, nil).Parts[:7]},
		"unsorted tags": stripped(9, 9, 9, 1, nil,
			&hostile.Part{Name: "277", Data: []byte{3, 0, 5, 0}}),
		"directory is missing":                   {},
		"0 x 9 pixels":                           stripped(0, 9, 9, 1, []byte{1}),
		"LZW in TIFF as before 1988":             stripped(9, 9, 9, tiffLZW, []byte{0, 1, 2, 3}),
		"damaged TIFF: tiff: invalid format: no": stripped(9, 9, 9, 1, []byte{1, 2, 3}),
	} {
		var im Image
		var err error
		file := f.Write(root)
		taken := budgettest.Allocated(func() { err = new(Decoder).Decode(context.Background(), &im, file) })
		if err == nil || !strings.Contains(err.Error(), want) || taken > 16<<20 {
			t.Errorf("%d bytes taken, %v, want %q", taken, err, want)
		}
	}
}

// TestTIFFMemory: what decoding takes is at most what the header says, for each compression and each orientation.
func TestTIFFMemory(t *testing.T) {
	const w, h = 900, 700
	for o := 1; o <= 8; o++ {
		checkMemory(t, rgbTIFF(w, h, o), 1)
	}
	for _, rows := range []int{7, h} {
		f := hostile.TIFF(binary.LittleEndian)
		n := w * rows
		for _, file := range []*hostile.Part{
			stripped(w, h, rows, tiffDeflate, deflated(make([]byte, n))),
			stripped(w, h, rows, tiffDeflate, deflated(make([]byte, 20*n))), // much more than the strip needs
			stripped(w, h, rows, tiffPB, slices.Repeat([]byte{0x81, 7}, n/128+1)),
			stripped(w, h, rows, tiffPB, slices.Repeat([]byte{0x81, 7}, 7*n/128)),
			stripped(w, h, rows, 1, make([]byte, 8*n)),
		} {
			checkMemory(t, f.Write(file), h/rows)
		}
	}
}

// endingContext ends when it is asked for the n-th time.
type endingContext struct {
	context.Context
	n int
}

func (c *endingContext) Err() error {
	if c.n--; c.n < 0 {
		return context.Canceled
	}
	return nil
}

// TestTIFFEnds: decoding asks for each piece of the file whether its context has ended, and ends then.
func TestTIFFEnds(t *testing.T) {
	f := hostile.TIFF(binary.LittleEndian)
	for name, b := range map[string][]byte{
		"none":    f.Write(stripped(100, 64, 1, 1, make([]byte, 100))),
		"Deflate": f.Write(stripped(100, 64, 1, tiffDeflate, deflated(make([]byte, 100)))),
	} {
		p, err := Open(t.Context(), b)
		if err != nil {
			t.Fatal(name, err)
		}
		for n := range 60 {
			if im, err := p.source.decode(&endingContext{t.Context(), n}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s at %d: %v, %v", name, n, im != nil, err)
			}
		}
	}
}
