package imaging

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/color/palette"
	"image/jpeg"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/base/budget"
	fastjpeg "github.com/kindred-ml/kindred/internal/format/jpeg"
)

// reference is an entry of testdata/expected.json, which testdata/make.py writes
// from what PIL reads.
type reference struct {
	W, H, C, Tolerance int
	Pixels             []byte
}

func references(t testing.TB, folder ...string) map[string]reference {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(filepath.Join("testdata", filepath.Join(folder...)), "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var refs map[string]reference
	if err := json.Unmarshal(b, &refs); err != nil {
		t.Fatal(err)
	}
	return refs
}

func formatFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "formats", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDecodeFormats(t *testing.T) {
	refs := references(t)
	if len(refs) < 30 {
		t.Fatalf("%d references", len(refs))
	}
	var dec Decoder
	var im Image
	for name, want := range refs {
		if err := dec.Decode(t.Context(), &im, formatFile(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if im.W != want.W || im.H != want.H {
			t.Errorf("%s: %d x %d, want %d x %d", name, im.W, im.H, want.W, want.H)
			continue
		}
		im.SetChannels(want.C)
		if worst := im.differs(want.Pixels); worst > want.Tolerance {
			t.Errorf("%s: differs from PIL by up to %d levels, allowed %d", name, worst, want.Tolerance)
		}
	}
}

// differs returns the largest difference of the values of a picture.
func (im *Image) differs(pixels []byte) (worst int) {
	for i, v := range im.Pix {
		d := int(v) - int(pixels[i])
		worst = max(worst, d, -d)
	}
	return worst
}

// Go's own images of every model, against their At.
func TestFromImage(t *testing.T) {
	r := image.Rect(3, 2, 12, 9) // not at the origin
	fill := func(im interface {
		image.Image
		Set(x, y int, c color.Color)
	}) image.Image {
		for y := r.Min.Y; y < r.Max.Y; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				im.Set(x, y,
					color.NRGBA64{uint16(x * 5000), uint16(y * 7000), uint16(x * y * 500), uint16(0xffff - x*y*100)})
			}
		}
		return im
	}
	for _, im := range []image.Image{
		fill(image.NewGray(r)), fill(image.NewGray16(r)), fill(image.NewNRGBA(r)), fill(image.NewNRGBA64(r)),
		fill(image.NewRGBA(r)), fill(image.NewRGBA64(r)), fill(image.NewCMYK(r)),
		fill(image.NewPaletted(r, palette.Plan9)),
	} {
		var got Image
		fromImage(&got, im)
		if got.W != 9 || got.H != 7 {
			t.Fatalf("%T: %d x %d", im, got.W, got.H)
		}
		got.SetChannels(3)
		for y := range 7 {
			for x := range 9 {
				wr, wg, wb := OnWhite.composite(im.At(x+3, y+2))
				for c, want := range []uint8{wr, wg, wb} {
					if d := int(got.Pix[(y*9+x)*3+c]) - int(want); d > 1 || d < -1 {
						t.Fatalf("%T at %d,%d: %v, want %d %d %d", im, x, y, got.Pix[(y*9+x)*3:][:3], wr, wg, wb)
					}
				}
			}
		}
	}
	ycc := image.NewYCbCr(r, image.YCbCrSubsampleRatio420)
	for i := range ycc.Y {
		ycc.Y[i] = uint8(i * 3)
	}
	var got Image
	fromImage(&got, ycc)
	for y := range 7 {
		for x := range 9 {
			c := ycc.YCbCrAt(x+3, y+2)
			wr, wg, wb := color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
			if !slices.Equal(got.Pix[(y*9+x)*3:][:3], []uint8{wr, wg, wb}) {
				t.Fatalf("YCbCr at %d,%d", x, y)
			}
		}
	}
}

// pngHeader is a PNG file that announces w x h pixels and ends there.
func pngHeader(w, h uint32) []byte {
	b := []byte("\x89PNG\r\n\x1a\n")
	chunk := []byte("IHDR")
	chunk = binary.BigEndian.AppendUint32(chunk, w)
	chunk = binary.BigEndian.AppendUint32(chunk, h)
	chunk = append(chunk, 8, 2, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, 13)
	b = append(b, chunk...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(chunk))
}

// bmpHeader is a BMP file that announces w x h pixels and ends there.
func bmpHeader(w, h int32) []byte {
	b := []byte("BM")
	for _, v := range []uint32{54, 0, 54, 40, uint32(w), uint32(h), 1 | 24<<16, 0, 0, 0, 0, 0, 0} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func TestHostileFiles(t *testing.T) {
	png, jpg := formatFile(t, "png-rgb.png"), formatFile(t, "jpeg-420.jpg")
	hugeJPEG := bytes.Clone(jpg)
	at := bytes.Index(hugeJPEG, []byte{0xff, 0xc0})
	copy(hugeJPEG[at+5:], []byte{0xff, 0xff, 0xff, 0xff})
	hugeGIF := bytes.Clone(formatFile(t, "gif.gif"))
	copy(hugeGIF[6:], []byte{0xff, 0xff, 0xff, 0xff})
	for want, b := range map[string][]byte{
		"empty file":                       nil,
		`starts with "hello wo"`:           []byte("hello world"),
		`starts with "\x00\x00\x00\x01`:    append([]byte{0, 0, 0, 1}, make([]byte, 100)...),
		"PNG of 60000 x 60000 pixels: mor": pngHeader(60000, 60000),
		"damaged PNG":                      png[:len(png)/2],
		"damaged PNG: png: invalid":        append(bytes.Clone(png[:40]), png[44:]...),
		"damaged JPEG":                     jpg[:len(jpg)/2],
		"JPEG: ":                           {0xff, 0xd8, 0xff},
		"JPEG of 65535 x 65535 pixels":     hugeJPEG,
		"GIF of 65535 x 65535 pixels":      hugeGIF,
		"BMP of 50000 x 50000 pixels":      bmpHeader(50000, 50000),
		"damaged BMP":                      bmpHeader(5, 5),
		"damaged WebP":                     []byte("RIFF\x10\x00\x00\x00WEBPVP8 "),
		"damaged TIFF":                     []byte("II*\x00\xff\xff\xff\xff"),
		// What is known and not read, under whatever name.
		"no decoder for HEIC: 'kindred":  []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic"),
		"damaged AVIF: the data are not": []byte("\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1avifmiaf"),
		"no decoder for videos":          []byte("\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2"),
		"no decoder for Canon raw files": []byte("\x00\x00\x00\x18ftypcrx \x00\x00\x00\x01crx isom"),
		"damaged JPEG XL: the data are":  {0xff, 0x0a, 0xfa},
		"no decoder for SVG":             []byte("<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\">"),
		// What is no image at all.
		"a web page in place of an image: fetch": []byte("\n<!DOCTYPE HTML><title>404 Not Found</title>"),
		"a web page in place":                    []byte("\xef\xbb\xbf<html><title>404 Not Found</title>"),
		"a server's error, in place":             []byte("<?xml version=\"1.0\"?><Error><Code>Denied"),
		"JSON, such as":                          []byte(`{"error": "not found"}`),
		"git lfs pull fetches the file":          []byte("version https://git-lfs.github.com/spec/v1\noid"),
		"nothing but zeros in place":             make([]byte, 4096),
		"an archive in place of an image":        []byte("PK\x03\x04\x14\x00"),
		"(DNL) is not supported":                 withoutHeight(jpg),
	} {
		var dec Decoder
		var im Image
		if err := dec.Decode(t.Context(), &im, b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	// The limit holds for every decoder.
	for name, ref := range references(t) {
		if ref.W*ref.H == 1 {
			continue // no smaller limit than one pixel
		}
		var im Image
		if err := (&Decoder{MaxPixels: ref.W*ref.H - 1}).Decode(t.Context(), &im, formatFile(t, name)); err == nil ||
			!strings.Contains(err.Error(), "more than the") {
			t.Errorf("%s: %v", name, err)
		}
		if err := (&Decoder{MaxPixels: ref.W * ref.H}).Decode(t.Context(), &im, formatFile(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// withoutHeight is a JPEG whose frame leaves the height to a marker behind the first scan.
func withoutHeight(b []byte) []byte {
	b = bytes.Clone(b)
	at := bytes.IndexByte(b[1:], 0xc0) + 1
	for b[at-1] != 0xff {
		at += bytes.IndexByte(b[at+1:], 0xc0) + 1
	}
	b[at+4], b[at+5] = 0, 0
	return b
}

// progressive is a grey JPEG of w x h pixels with n scans of a few bytes each,
// which together pass over the whole image n times.
func progressive(w, h uint16, n int) []byte {
	b := []byte{0xff, 0xd8, 0xff, 0xdb, 0, 67, 0}
	b = append(b, bytes.Repeat([]byte{1}, 64)...)
	b = append(b, 0xff, 0xc2, 0, 11, 8, byte(h>>8), byte(h), byte(w>>8), byte(w), 1, 1, 0x11, 0)
	// One code of one bit: a run of 2^14 blocks that end here (0xe0).
	b = append(b, 0xff, 0xc4, 0, 20, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe0)
	blocks := (int(w) + 7) / 8 * ((int(h) + 7) / 8)
	for range n {
		b = append(b, 0xff, 0xda, 0, 8, 1, 1, 0, 1, 63, 0)
		b = append(b, make([]byte, 2*(blocks/(1<<14)+1))...)
	}
	return append(b, 0xff, 0xd9)
}

// maxScans is the largest number of scans of a small picture.
const maxScans = 40

// numScans returns the number of scans of a JPEG file, and whether it is progressive.
func numScans(b []byte) (n int, isProgressive bool) {
	kind, _ := fastjpeg.ReadHeader(b)
	return kind.CountPasses(b).Scans, kind.IsProgressive()
}

func TestScans(t *testing.T) {
	var dec Decoder
	var im Image
	if err := dec.Decode(t.Context(), &im, progressive(40, 30, maxScans)); err != nil || im.W != 40 || im.H != 30 {
		t.Errorf("%d scans: %v", maxScans, err)
	}
	if err := dec.Decode(t.Context(), &im, progressive(40, 30, maxScans+1)); err == nil ||
		err.Error() != "JPEG of 41 scans: more than the 40 allowed" {
		t.Errorf("%v", err)
	}
	// Garbage between the segments, which decoders skip, hides no scan; a
	// picture within a segment (a preview, say) adds none.
	many := progressive(40, 30, 3)
	many = bytes.ReplaceAll(many, []byte{0xff, 0xda}, []byte{7, 0xff, 0xff, 0xff, 0xda})
	preview := progressive(8, 8, 50)
	many = append(append([]byte{0xff, 0xd8, 0xff, 0xe1, byte((len(preview) + 2) >> 8), byte(len(preview) + 2)},
		preview...), many[2:]...)
	if n, p := numScans(many); n != 3 || !p {
		t.Errorf("%d scans, progressive: %v", n, p)
	}
	for k := range many {
		numScans(many[:k]) // cut anywhere
	}
	if n, p := numScans(formatFile(t, "jpeg-444.jpg")); n != 1 || p {
		t.Errorf("baseline: %d scans, progressive: %v", n, p)
	}
	if n, p := numScans(formatFile(t, "jpeg-progressive.jpg")); n < 6 || n > 12 || !p {
		t.Errorf("progressive: %d scans, %v", n, p)
	}
}

// A decoding that takes long ends with its context, and the decoder can be used
// again.
func TestDecodeStops(t *testing.T) {
	slow := progressive(8000, 8000, 20)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var dec Decoder
	var im Image
	if err := dec.Decode(ctx, &im, slow); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"png-rgb.png", "jpeg-444.jpg"} {
		if err := dec.Decode(ctx, &im, formatFile(t, name)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s, after the end: %v", name, err)
		}
		if err := dec.Decode(t.Context(), &im, formatFile(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What needs more memory than the limit is refused from the header, with both.
func TestDecodeBudget(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(64 << 20))
	deep := pngHeader(3000, 2000)
	deep[24] = 16 // bits; the checksum of the header must follow
	binary.BigEndian.PutUint32(deep[29:], crc32.ChecksumIEEE(deep[12:29]))
	var baseline bytes.Buffer
	if err := jpeg.Encode(&baseline, image.NewGray(image.Rect(0, 0, 4000, 3000)), nil); err != nil {
		t.Fatal(err)
	}
	for want, b := range map[string][]byte{
		"PNG of 3000 x 2000 pixels: needs 109 MiB, the limit is 64 MiB":  deep,
		"JPEG of 4000 x 3000 pixels: needs 103 MiB, the limit is 64 MiB": progressive(4000, 3000, 1),
		"BMP of 5000 x 2000 pixels: needs ":                              bmpHeader(5000, 2000),
		"JPEG of 4000 x 3000 pixels: needs 57.2 MiB":                     baseline.Bytes(),
	} {
		var dec Decoder
		var im Image
		err := dec.Decode(t.Context(), &im, b)
		if strings.Contains(want, "57.2") { // fits, the slow way too
			if err != nil || im.W != 4000 {
				t.Errorf("%v", err)
			}
			continue
		}
		var over *budget.Error
		if !errors.As(err, &over) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

func TestExifDamage(t *testing.T) {
	good := formatFile(t, "jpeg-exif6.jpg")
	if o := jpegOrientation(good); o != 6 {
		t.Fatalf("orientation %d", o)
	}
	at := bytes.Index(good, []byte("Exif\x00\x00"))
	for n := range good[:at+60] { // cut anywhere
		jpegOrientation(good[:n])
	}
	for i := at; i < at+40; i++ { // any byte wrong
		for _, v := range []byte{0, 1, 0x7f, 0xff} {
			b := bytes.Clone(good)
			b[i] = v
			if o := jpegOrientation(b); o < 1 || o > 8 {
				t.Fatalf("orientation %d", o)
			}
		}
	}
	var plain bytes.Buffer
	if err := jpeg.Encode(&plain, image.NewGray(image.Rect(0, 0, 4, 4)), nil); err != nil {
		t.Fatal(err)
	}
	if o := jpegOrientation(plain.Bytes()); o != 1 {
		t.Errorf("without EXIF: %d", o)
	}
}

func FuzzDecode(f *testing.F) {
	for name := range references(f) {
		f.Add(formatFile(f, name))
	}
	f.Add(pngHeader(60000, 60000))
	f.Add(progressive(300, 200, 3))
	f.Add(progressive(300, 200, maxScans+1))
	f.Fuzz(func(t *testing.T, b []byte) {
		dec := Decoder{MaxPixels: 1 << 20}
		var im Image
		if err := dec.Decode(t.Context(), &im, b); err != nil {
			return
		}
		if im.W*im.H > 1<<20 || im.W < 1 || im.H < 1 || len(im.Pix) != im.W*im.H*im.C {
			t.Fatalf("%d x %d x %d with %d bytes", im.W, im.H, im.C, len(im.Pix))
		}
	})
}
