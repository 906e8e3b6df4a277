package bombs

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"github.com/andybalholm/brotli"

	"github.com/kindred-ml/kindred/internal/test/heif"
	"github.com/kindred-ml/kindred/internal/test/hostile"
)

// newContainer returns a JPEG XL file of boxes.
func newContainer(boxes ...[]byte) []byte {
	return slices.Concat(heif.Box("JXL ", []byte("\r\n\x87\n")), heif.Box("ftyp", []byte("jxl \x00\x00\x00\x00jxl ")),
		slices.Concat(boxes...))
}

// codestreamBombs returns hostile files of JPEG XL.
func codestreamBombs() []File {
	stream := func() []byte { return Picture("formats/jxl.jxl") }
	part := func(index int64, b []byte) []byte { return heif.Box("jxlp", encodeNumbers(4, index), b) }
	packed := func(kind string, content []byte) []byte { return heif.Box("brob", []byte(kind), content) }
	bomb := sync.OnceValue(func() []byte { return compressZeros(1 << 30) })
	files := []File{
		{"parts-empty.jxl", func() []byte {
			empty := repeat(300_000, func(i int) []byte { return part(int64(i), nil) })
			return newContainer(empty, part(1<<31, stream()))
		}},
		{"parts-bytes.jxl", func() []byte { // each byte in a part of its own
			b := stream()
			return newContainer(repeat(len(b), func(i int) []byte { return part(int64(i), b[i:i+1]) }))
		}},
		{"parts-order.jxl", func() []byte { return newContainer(bytes.Repeat(part(maxUint32, stream()), 2000)) }},
		{"twice.jxl", func() []byte { return newContainer(bytes.Repeat(heif.Box("jxlc", stream()), 2000)) }},
		{"boxes.jxl", func() []byte {
			return newContainer(bytes.Repeat(heif.Box("free"), 1_000_000), heif.Box("jxlc", stream()))
		}},
		{"large-box.jxl", func() []byte {
			return newContainer([]byte("\x00\x00\x00\x01jxlc"), encodeNumbers(8, -1), stream())
		}},
		{"index.jxl", func() []byte {
			return newContainer(heif.Box("jxli", encodeNumbers(4, -1, 4, -1)), heif.Box("jxlc", stream()))
		}},
		{"jpeg-boxes.jxl", func() []byte { // a box that rebuilds a JPEG, again and again
			b := Picture("formats/jxl-jpeg.jxl")
			return slices.Concat(b[:32], bytes.Repeat(heif.Box("jbrd", make([]byte, 64)), 20_000), b[32:])
		}},
		{"tail.jxl", func() []byte { return append(stream(), make([]byte, 8<<20)...) }},
		{"signature.jxl", func() []byte { return newContainer()[:12] }},
	}
	for _, kind := range []string{"Exif", "xml ", "jumb", "brob", "jxlc"} {
		files = append(files, File{"packed-" + kind[:3] + ".jxl", func() []byte {
			return newContainer(packed(kind, bomb()), heif.Box("jxlc", stream()))
		}})
	}
	files = append(files, File{"packed-many.jxl", func() []byte {
		return newContainer(bytes.Repeat(packed("Exif", compressZeros(1<<24)), 5000), heif.Box("jxlc", stream()))
	}})
	for _, side := range []int64{1, 512, 2048, 4096, 13_000, 262_144} {
		files = append(files, File{fmt.Sprintf("blank-%d.jxl", side), func() []byte { return blankPicture(side) }})
	}
	files = append(files, File{"frames.jxl", func() []byte { // of 300 x 300 pixels, which take no bits
		frame, last := []byte("\x08\x03 \x00\x0c\x00\xcb\xe7\x1b"), []byte("\x08\x83\x04\x0c\x00\xcb\xe7\x1b")
		return slices.Concat([]byte("\xff\x0aX\x99\x01"), bytes.Repeat(frame, 3000), last)
	}})
	for _, name := range []string{"blank", "lines"} {
		files = append(files, File{name + ".jxl", func() []byte { return Picture("large/" + name + ".jxl") }})
	}
	for _, n := range []int{16, 64, 1024} {
		files = append(files, File{fmt.Sprintf("film-frames-%d.jxl", n), func() []byte {
			b := Picture("formats/jxl-film.jxl")
			return slices.Concat(b, bytes.Repeat(b[len(b)/n:], n))
		}})
	}
	return files
}

// compressZeros returns n zeros in the format of Brotli.
func compressZeros(n int) []byte {
	var b bytes.Buffer
	w := brotli.NewWriterOptions(&b, brotli.WriterOptions{Quality: 5, LGWin: 24})
	zeros := make([]byte, 1<<20)
	for ; n > 0; n -= len(zeros) {
		w.Write(zeros[:min(n, len(zeros))])
	}
	w.Close()
	return b.Bytes()
}

// blankPicture returns a file of one colour that says it is a square of another size, up to 262,144 pixels a side. Its
// header gives the height in 18 bits after 16 bits of signature, a bit of form and two bits of length.
func blankPicture(side int64) []byte {
	b := bytes.Clone(Picture("large/blank.jxl"))
	for k := range 18 {
		at := 16 + 3 + k
		b[at/8] &^= 1 << (at % 8)
		b[at/8] |= byte((side-1)>>k&1) << (at % 8)
	}
	return b
}

// codestreamFiles returns sound files: a codestream, containers with it whole and in pieces, with EXIF, a film and a
// JPEG file that was packed again.
func codestreamFiles() []*hostile.Part {
	b := Picture("formats/jxl.jxl")
	part := func(index int64, b []byte) []byte { return heif.Box("jxlp", encodeNumbers(4, index), b) }
	return []*hostile.Part{{Parts: []*hostile.Part{{Data: b}}}, parseBoxes(newContainer(heif.Box("jxlc", b))),
		parseBoxes(newContainer(part(0, b[:100]), part(1, b[100:200]), part(1<<31|2, b[200:]))),
		parseBoxes(newContainer(heif.Box("Exif", make([]byte, 4), exifBlock()),
			heif.Box("brob", []byte("xml "), compressZeros(1<<16)), heif.Box("jxlc", b))),
		{Parts: []*hostile.Part{{Data: Picture("formats/jxl-film.jxl")}}}, parseBoxes(Picture("formats/jxl-jpeg.jxl"))}
}
