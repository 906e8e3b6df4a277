package imaging

import (
	"bytes"
	"context"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/heic"
	"github.com/kindred-ml/kindred/internal/test/heif"
)

// TestReadHeader: the header says the size that the picture has, and enough memory to decode it.
func TestReadHeader(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "formats", "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	names = append(names, filepath.Join("testdata", "scans-apart.jpg")) // each colour in a scan of its own
	if os.Getenv("KINDRED_HEIC") != "" {
		heif.Decoder(t)
	}
	read := 0
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := sniff(b); err != nil || f == &heicFormat && !heic.IsInstalled() {
			continue
		}
		for _, shrink := range []int{1, 2, 8} {
			h, err := ReadHeader(t.Context(), bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			var im Image
			d := Decoder{Shrink: func(int, int) int { return shrink }, MaxBytes: h.Bytes(shrink)}
			if err := d.Decode(context.Background(), &im, b); err != nil {
				t.Errorf("%s by %d in %d bytes: %v", name, shrink, d.MaxBytes, err)
				break
			}
			cropped := strings.HasSuffix(name, "avif-turned.avif")
			if shrink == 1 && im.W*im.H != h.W*h.H && !cropped { // it may have been turned
				t.Errorf("%s: %d x %d, the header says %d x %d", name, im.W, im.H, h.W, h.H)
			}
			read++
		}
	}
	if read < 20 {
		t.Errorf("%d pictures were read", read)
	}
}

// TestMaxBytes: a large JPEG file takes little memory when it is made smaller, and one that is cut
// off is damaged, whatever it would take whole.
func TestMaxBytes(t *testing.T) {
	var b bytes.Buffer
	large := image.NewYCbCr(image.Rect(0, 0, 2000, 1000), image.YCbCrSubsampleRatio420)
	if err := jpeg.Encode(&b, large, nil); err != nil {
		t.Fatal(err)
	}
	h, err := ReadHeader(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || h.Bytes(8) > h.Bytes(1)/20 {
		t.Fatalf("%d bytes, by eight %d, %v", h.Bytes(1), h.Bytes(8), err)
	}
	var im Image
	d := Decoder{Shrink: func(int, int) int { return 8 }, MaxBytes: h.Bytes(8)}
	if err := d.Decode(context.Background(), &im, b.Bytes()); err != nil || im.W != 250 || im.H != 125 {
		t.Errorf("%d x %d, %v", im.W, im.H, err)
	}
	err = d.Decode(context.Background(), &im, b.Bytes()[:b.Len()/2])
	if err == nil || !strings.HasPrefix(err.Error(), "damaged JPEG: ") {
		t.Errorf("cut off: %v", err)
	}
}
