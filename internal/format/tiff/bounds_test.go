package tiff

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	stdjpeg "image/jpeg"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/kindred-ml/kindred/test/bounded"
	"github.com/kindred-ml/kindred/test/budgettest"
)

// greyJPEG is a picture of one value.
func greyJPEG(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := stdjpeg.Encode(&b, image.NewGray(image.Rect(0, 0, w, h)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// stripped is a grey picture in strips of rows rows, each of which is one of the blocks in turn.
func stripped(w, h, rows, compression int, blocks ...[]byte) *bounded.Part {
	le := binary.LittleEndian
	var of []int
	for i := range (h + rows - 1) / rows {
		of = append(of, i%len(blocks))
	}
	root := &bounded.Part{Name: "II*\x00", Parts: numbersParts(le, map[uint16]int{tagWidth: w, tagHeight: h, tagBits: 8,
		tagCompression: compression, tagPhotometric: blackIsZero, tagRowsPerStrip: rows})}
	root.Parts = append(root.Parts, numbersPart(le, tagStripOffsets, of...), numbersPart(le, tagStripBytes, of...))
	for _, b := range blocks {
		root.Parts = append(root.Parts, &bounded.Part{Name: blockName, Data: b})
	}
	return root
}

// TestHostile: files that explain neither the memory nor the work that they ask for are refused
// by their structure, before a block is decoded.
func TestHostile(t *testing.T) {
	le := binary.LittleEndian
	with := func(root *bounded.Part, parts ...*bounded.Part) *bounded.Part {
		root.Parts = append(root.Parts, parts...)
		return root
	}
	tiles := with(stripped(3000, 3000, 3000, compressNone, []byte{1}),
		numbersPart(le, tagTileWidth, 1), numbersPart(le, tagTileHeight, 1),
		tagPart(le, tagTileOffsets, typeByte, make([]byte, 9_000_000)),
		tagPart(le, tagTileBytes, typeByte, make([]byte, 9_000_000)))
	for name, c := range map[string]struct {
		root *bounded.Part
		want string
	}{
		"JPEG taller than its strips": {stripped(60_000, 3, 1, compressJPEG, greyJPEG(t, 60_000, 200)),
			"a JPEG of 60000 x 200"},
		"JPEG wider than its strip": {stripped(16, 9, 9, compressJPEG, greyJPEG(t, 60_000, 8)), "a JPEG of 60000 x 8"},
		"strips of the same bytes":  {stripped(1, 60_000, 1, compressPackBits, make([]byte, 60_000)), "are read from"},
		"tables for each strip": {with(stripped(8, 60_000, 8, compressJPEG, greyJPEG(t, 8, 8)),
			tagPart(le, tagJPEGTables, 7, make([]byte, 60_000))), "JPEG tables of 60000 bytes"},
		"tiles of a pixel": {tiles, "9000000 tiles of 1 x 1 pixels"},
		"a tile far larger than the picture": {with(stripped(1, 1, 1, compressDeflate, []byte{1}),
			numbersPart(le, tagTileWidth, 1<<14), numbersPart(le, tagTileHeight, 1<<14)), "1 tiles of 16384 x 16384"},
		"rows of a byte below the picture": {with(stripped(8, 1, 1, compressPackBits, make([]byte, 1<<16)),
			numbersPart(le, tagTileWidth, 8), numbersPart(le, tagTileHeight, 1<<24)), "1 tiles of 8 x 16777216"},
		"many samples": {with(stripped(2000, 2000, 2000, compressDeflate, []byte{1}),
			numbersPart(le, tagSamples, 64)), "hold 256000000 bytes"},
	} {
		b := write(le)(c.root)
		var err error
		n := budgettest.Taken(func() { _, err = decodeFile(b) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if n > 16<<20 {
			t.Errorf("%s: took %d bytes", name, n)
		}
	}
}

// TestTallerStrip: the last strip may hold the rows of a whole one, as libtiff allows.
func TestTallerStrip(t *testing.T) {
	for high, ok := range map[int]bool{15: false, 16: true, 17: true, 24: true, 25: false} {
		// Strips of 20 rows, of which the last has 16 in the picture, in units of 8.
		b := write(binary.LittleEndian)(stripped(9, 36, 20, compressJPEG, greyJPEG(t, 9, 20), greyJPEG(t, 9, high)))
		_, err := decodeFile(b)
		if (err == nil) != ok {
			t.Errorf("a last strip of %d rows: %v", high, err)
		}
	}
}

// TestZstandardWindow: a window of 512 MB takes no more memory than its block.
func TestZstandardWindow(t *testing.T) {
	content := bytes.Repeat([]byte("ab"), 5000)
	w, err := zstd.NewWriter(nil, zstd.WithSingleSegment(false), zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	w.Reset(&stream)
	for part := content; len(part) > 0; part = part[1000:] {
		if _, err := w.Write(part[:1000]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	frame := stream.Bytes()
	if frame[4]&0x20 != 0 {
		t.Fatal("the frame has no window")
	}
	frame[5] = 19 << 3
	b := write(binary.LittleEndian)(stripped(100, 100, 100, compressZstd, frame))
	var im image.Image
	n := budgettest.Taken(func() { im, err = decodeFile(b) })
	if err != nil || n > 4<<20 {
		t.Fatalf("took %d bytes, %v", n, err)
	}
	if !bytes.Equal(im.(*image.Gray).Pix, content) {
		t.Error("other pixels")
	}
}

// TestManyBlocks: blocks share buffers and tables.
func TestManyBlocks(t *testing.T) {
	for name, c := range map[string]struct {
		compression int
		block       []byte
	}{
		"none": {compressNone, []byte{7}}, "PackBits": {compressPackBits, []byte{0, 7}},
		"LZW": {compressLZW, []byte{0x80, 3, 0xc0, 0x40}}, "JPEG": {compressJPEG, greyJPEG(t, 1, 1)},
	} {
		root := stripped(1, 20_000, 1, c.compression, c.block)
		for range 20_000*len(c.block)/(16<<10) + 1 { // what explains the bytes that are read
			root.Parts = append(root.Parts, &bounded.Part{Name: blockName, Data: make([]byte, 16<<10)})
		}
		b := write(binary.LittleEndian)(root)
		f, err := Open(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		n := budgettest.Taken(func() { _, err = f.Decode(t.Context()) })
		if err != nil || n > 2*f.Memory()+40*20_000 {
			t.Errorf("%s: took %d bytes of %d, %v", name, n, f.Memory(), err)
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

// TestDecodeEnds: decoding asks whether its context has ended in each kind of compression, and ends
// then.
func TestDecodeEnds(t *testing.T) {
	for _, format := range formats(t) {
		for i, valid := range format.Valid {
			f, err := Open(format.Write(valid))
			if err != nil {
				t.Fatal(err)
			}
			for n := range 20 {
				if im, err := f.Decode(&endingContext{t.Context(), n}); !errors.Is(err, context.Canceled) || im != nil {
					if n < 2+f.rows {
						t.Errorf("%s %d at %d: %v", format.Name, i, n, err)
					}
				}
			}
		}
	}
}
