package imaging

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/jpeg"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// rgbTIFF returns a TIFF file of one strip that is not compressed.
func rgbTIFF(w, h, orientation int) []byte {
	const short, bits = 3, 8 + 2 + 10*12
	entries := [][3]uint16{{256, short, uint16(w)}, {257, short, uint16(h)}, {258, short, bits}, {259, short, 1},
		{262, short, 2}, {273, short, bits + 6}, {274, short, uint16(orientation)}, {277, short, 3},
		{278, short, uint16(h)}, {279, 4, 0}}
	b := directory(binary.LittleEndian, 8, entries...)
	b[10+2*12+4] = 3 // numbers of bits
	binary.LittleEndian.PutUint32(b[10+9*12+8:], uint32(3*w*h))
	return append(append(b, 8, 0, 8, 0, 8, 0), slices.Repeat([]byte{10, 20, 30}, w*h)...)
}

// checkMemory fails if decoding a file takes more than twice what its header says, as buffers grow, and garbage for
// each block.
func checkMemory(t *testing.T, b []byte, blocks int) {
	t.Helper()
	header, err := ReadHeader(t.Context(), bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	var dec Decoder
	var im Image
	taken := budgettest.Allocated(func() { err = dec.Decode(t.Context(), &im, b) })
	if most := 2*header.Bytes(1) + int64(200_000*blocks); taken > most {
		t.Errorf("%d bytes taken, at most %d allowed; %v", taken, most, err)
	}
}

// TestMemoryOfFile: the file itself is part of the memory that decoding needs.
func TestMemoryOfFile(t *testing.T) {
	for name, b := range map[string][]byte{
		"TIFF": rgbTIFF(400, 300, 1), "JPEG": formatFile(t, "jpeg-444.jpg"), "WebP": formatFile(t, "webp.webp"),
	} {
		header, err := ReadHeader(t.Context(), bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		const padding = 16 << 20
		long := append(b, make([]byte, padding)...)
		var dec Decoder
		var im Image
		budgettest.Limit(t, header.Bytes(1)+padding/2)
		if err := dec.Decode(t.Context(), &im, b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var over *budget.Error
		if err := dec.Decode(t.Context(), &im, long); !errors.As(err, &over) || over.Need < padding {
			t.Errorf("%s in a file of %d bytes: %v", name, len(long), err)
		}
	}
}

// TestKeptMemory: small buffers are used for the next picture, and large ones are freed.
func TestKeptMemory(t *testing.T) {
	budgettest.Limit(t, 64<<20)
	for side, kept := range map[int]bool{1000: true, 2400: false} {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, side, side)), nil); err != nil {
			t.Fatal(err)
		}
		dec := Decoder{Buffer: make([]byte, side*side)}
		var im Image
		taken := func() int64 {
			return budgettest.Allocated(func() {
				if err := dec.Decode(t.Context(), &im, b.Bytes()); err != nil {
					t.Fatal(err)
				}
			})
		}
		first, second := taken(), taken()
		dec.Release(&im)
		if again := second > first/2; again == kept || (dec.Buffer != nil) != kept || (im.Pix != nil) != kept {
			t.Errorf("%d x %d: %d bytes taken, and %d for the next picture", side, side, first, second)
		}
	}
}

// TestDecodersShareMemory: a picture of each format waits while others have the memory, except one with a share of its
// own. It gives back what it takes.
func TestDecodersShareMemory(t *testing.T) {
	for _, name := range []string{"jpeg-420.jpg", "jpeg-progressive.jpg", "jpeg-cmyk.jpg", "png-rgb.png", "gif.gif",
		"webp.webp", "tiff.tif", "bmp.bmp", "avif.avif", "jxl.jxl"} {
		b, err := os.ReadFile("testdata/formats/" + name)
		if err != nil {
			t.Fatal(err)
		}
		leave, err := decodeGate.Enter(t.Context(), budget.Limit()/2)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		var im Image
		if err := (&Decoder{}).Decode(ctx, &im, b); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s beside others: %v", name, err)
		}
		cancel()
		if err := (&Decoder{MaxBytes: 1 << 30}).Decode(t.Context(), &im, b); err != nil {
			t.Errorf("%s with a share of its own: %v", name, err)
		}
		leave()
		for range 2 {
			if err := (&Decoder{}).Decode(t.Context(), &im, b); err != nil {
				t.Errorf("%s alone: %v", name, err)
			}
		}
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
		if leave, err = decodeGate.Enter(ctx, budget.Limit()); err != nil {
			t.Fatalf("%s has kept memory: %v", name, err)
		}
		cancel()
		leave()
	}
}
