package imaging

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/webp"
)

// appendChunk appends a chunk to b.
func appendChunk(b []byte, name string, content []byte) []byte {
	b = append(b, name...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(content)))
	b = append(b, content...)
	if len(content)%2 == 1 {
		b = append(b, 0)
	}
	return b
}

// riff returns a WebP file of the given chunks.
func riff(chunks []byte) []byte {
	b := append([]byte("RIFF"), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(b[4:], uint32(4+len(chunks)))
	return append(append(b, "WEBP"...), chunks...)
}

// readFrame is what a still file has as a frame of an animation: its image with its
// alpha, without the header that says so.
func readFrame(t testing.TB, name string) (chunks []byte, w, h int) {
	t.Helper()
	b := formatFile(t, name)
	cfg, err := webp.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range riffChunks(b[riffHeader:]) {
		if name != "VP8X" {
			chunks = appendChunk(chunks, name, c)
		}
	}
	return chunks, cfg.Width, cfg.Height
}

// bytes24 writes numbers of three bytes.
func bytes24(v ...int) (b []byte) {
	for _, n := range v {
		b = append(b, byte(n), byte(n>>8), byte(n>>16))
	}
	return b
}

// animation is a file of a canvas of w x h with frames of the given content at x, y.
func animation(w, h int, frames ...[]byte) []byte {
	chunks := appendChunk(nil, "VP8X", append([]byte{2 | 16, 0, 0, 0}, bytes24(w-1, h-1)...))
	chunks = appendChunk(chunks, "ANIM", make([]byte, 6))
	for _, f := range frames {
		chunks = appendChunk(chunks, "ANMF", f)
	}
	return riff(chunks)
}

// frame is the content of a chunk ANMF.
func frame(x, y, w, h int, chunks []byte) []byte {
	return append(append(bytes24(x/2, y/2, w-1, h-1, 100), 0), chunks...)
}

// TestAnimatedWebP: of an animation the first frame is read as the still image that it
// is, wherever it stands on the canvas, whatever the other frames are.
func TestAnimatedWebP(t *testing.T) {
	other, ow, oh := readFrame(t, "webp-pixel.webp")
	for _, name := range []string{"webp.webp", "webp-lossless.webp", "webp-lossy-alpha.webp", "webp-alpha.webp",
		"webp-edges.webp", "webp-pixel.webp"} {
		var want, got Image
		var dec Decoder
		if err := dec.Decode(t.Context(), &want, formatFile(t, name)); err != nil {
			t.Fatal(err)
		}
		chunks, w, h := readFrame(t, name)
		first := frame(0, 0, w, h, chunks)
		for _, b := range [][]byte{animation(w, h, first), animation(w, h, first, frame(0, 0, ow, oh, other)),
			animation(w, h, first, []byte("damaged"))} {
			err := dec.Decode(t.Context(), &got, b)
			if err != nil || got.W != want.W || got.H != want.H || got.C != want.C || !slices.Equal(got.Pix, want.Pix) {
				t.Fatalf("%s: %v, %d x %d x %d", name, err, got.W, got.H, got.C)
			}
		}
		// On a larger canvas it stands in its place, on white.
		if err := dec.Decode(t.Context(), &got, animation(w+7, h+5, frame(4, 2, w, h, chunks))); err != nil ||
			got.W != w+7 || got.H != h+5 {
			t.Fatalf("%s: %v, %d x %d", name, err, got.W, got.H)
		}
		for y := range got.H {
			for x := range got.W {
				for c := range 3 {
					v := uint8(255)
					if in := image.Pt(x-4, y-2); in.In(image.Rect(0, 0, w, h)) {
						v = want.Pix[(in.Y*w+in.X)*want.C+c%want.C]
					}
					if p := got.Pix[(y*got.W+x)*got.C+c%got.C]; p != v {
						t.Fatalf("%s: %d at %d, %d, want %d", name, p, x, y, v)
					}
				}
			}
		}
	}
}

// TestDamagedAnimation: every way to be wrong is an error that says which.
func TestDamagedAnimation(t *testing.T) {
	chunks, w, h := readFrame(t, "webp.webp")
	whole := frame(0, 0, w, h, chunks)
	for want, b := range map[string][]byte{
		"an animation without a frame": animation(w, h),
		"a frame without its header":   animation(w, h, whole[:15]),
		"a frame without an image":     animation(w, h, whole[:16]),
		"of an animation of":           animation(w-1, h, whole),
		"that holds an image of":       animation(w+1, h, frame(0, 0, w+1, h, chunks)),
		"damaged WebP":                 animation(w, h, whole)[:100],
	} {
		var dec Decoder
		var im Image
		if err := dec.Decode(t.Context(), &im, b); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "damaged WebP") {
			t.Errorf("%q: %v", want, err)
		}
	}
	dec := Decoder{MaxPixels: w*h - 1}
	var im Image
	if err := dec.Decode(t.Context(), &im, animation(w, h, whole)); err == nil ||
		!strings.Contains(err.Error(), "more than the") {
		t.Errorf("too large: %v", err)
	}
}

// withPNG puts a chunk into a PNG file, before its image data or after.
func withPNG(t testing.TB, b []byte, name string, content []byte, after bool) []byte {
	t.Helper()
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
	chunk = append(append(chunk, name...), content...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	mark := "IDAT"
	if after {
		mark = "IEND"
	}
	at := bytes.Index(b, []byte(mark)) - 4
	if at < 0 {
		t.Fatal("no chunk " + mark)
	}
	return slices.Concat(b[:at], chunk, b[at:])
}

// withWebP adds a chunk EXIF to a WebP file, with the header that announces it.
func withWebP(t testing.TB, name string, exif []byte) []byte {
	t.Helper()
	chunks, w, h := readFrame(t, name)
	flags := byte(1 << 3)
	if bytes.HasPrefix(chunks, []byte("ALPH")) {
		flags |= 1 << 4
	}
	head := appendChunk(nil, "VP8X", append([]byte{flags, 0, 0, 0}, bytes24(w-1, h-1)...))
	return riff(appendChunk(append(head, chunks...), "EXIF", exif))
}

// TestOrientationOfOtherFormats: PNG, WebP and TIFF files are turned as JPEG files are.
func TestOrientationOfOtherFormats(t *testing.T) {
	src := image.NewNRGBA(image.Rect(0, 0, 5, 3))
	for i := range src.Pix {
		src.Pix[i] = uint8(16 * i)
	}
	for i := 3; i < len(src.Pix); i += 4 {
		src.Pix[i] = 255
	}
	var plain bytes.Buffer
	if err := png.Encode(&plain, src); err != nil {
		t.Fatal(err)
	}
	check := func(what string, upright, turned []byte, o int) {
		t.Helper()
		var dec Decoder
		var want, got Image
		if err := dec.Decode(t.Context(), &want, upright); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		want.orient(o)
		if err := dec.Decode(t.Context(), &got, turned); err != nil || got.W != want.W || got.H != want.H ||
			!slices.Equal(got.Pix, want.Pix) {
			t.Errorf("%s, orientation %d: %v, %d x %d, want %d x %d", what, o, err, got.W, got.H, want.W, want.H)
		}
	}
	for o := 1; o <= 8; o++ {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			exif := directory(order, 8, [3]uint16{0x0112, 3, uint16(o)})
			prefixed := append([]byte("Exif\x00\x00"), exif...)
			check("PNG", plain.Bytes(), withPNG(t, plain.Bytes(), "eXIf", exif, false), o)
			check("PNG, after the image", plain.Bytes(), withPNG(t, plain.Bytes(), "eXIf", prefixed, true), o)
			for _, name := range []string{"webp.webp", "webp-lossless.webp", "webp-lossy-alpha.webp"} {
				check(name, formatFile(t, name), withWebP(t, name, exif), o)
				check(name, formatFile(t, name), withWebP(t, name, prefixed), o)
			}
		}
		check("another chunk of PNG", plain.Bytes(), withPNG(t, plain.Bytes(), "prVt",
			directory(binary.LittleEndian, 8, [3]uint16{0x0112, 3, uint16(o)}), false), 1)
		for _, name := range []string{"tiff.tif", "tiff-lzw.tif", "tiff-grey16.tif"} {
			check(name, formatFile(t, name), turnedTIFF(t, formatFile(t, name), o), o)
		}
	}
}

// turnedTIFF adds the tag 0x0112 to the first directory of a TIFF file, which it moves to
// the end.
func turnedTIFF(t testing.TB, b []byte, o int) []byte {
	t.Helper()
	var order binary.AppendByteOrder = binary.LittleEndian
	if b[0] == 'M' {
		order = binary.BigEndian
	}
	reader := order.(binary.ByteOrder)
	at := reader.Uint32(b[4:])
	n := int(reader.Uint16(b[at:]))
	var before, after []byte
	count := uint16(1)
	for i := range n {
		e := b[int(at)+2+12*i:][:12]
		switch tag := reader.Uint16(e); {
		case tag < 0x0112:
			before = append(before, e...)
		case tag > 0x0112:
			after = append(after, e...)
		default:
			continue
		}
		count++
	}
	out := bytes.Clone(b)
	if len(out)%2 == 1 {
		out = append(out, 0)
	}
	reader.PutUint32(out[4:], uint32(len(out)))
	out = order.AppendUint16(out, count)
	entry := order.AppendUint16(nil, 0x0112)
	entry = order.AppendUint16(entry, 3)
	entry = order.AppendUint32(entry, 1)
	entry = order.AppendUint16(entry, uint16(o))
	return append(slices.Concat(out, before, entry, []byte{0, 0}, after), 0, 0, 0, 0)
}
