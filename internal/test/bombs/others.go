package bombs

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
)

// otherFiles returns hostile files of JPEG, PNG, GIF and WebP.
func otherFiles() []File {
	return []File{
		{"scans.jpg", func() []byte { // progressive, 30 scans of 60,000 x 2,900 pixels
			return jpegScans(60_000, 2900, 30)
		}},
		{"scans-4000.jpg", func() []byte { return jpegScans(4000, 4000, 40) }},
		{"scans-many.jpg", func() []byte { return jpegScans(64, 64, 100_000) }},
		{"markers.jpg", func() []byte { // 1 MiB of fill, and restarts
			b := blackJPEG(4000, 4000)
			fill, restarts := bytes.Repeat([]byte{0xff}, 1<<20), bytes.Repeat([]byte{0xff, 0xd0}, 1<<20)
			return slices.Concat(b[:2], fill, restarts, b[2:])
		}},
		{"tables.jpg", func() []byte {
			b := blackJPEG(64, 64)
			table := append([]byte{0xff, 0xdb, 0, 67, 0}, bytes.Repeat([]byte{1}, 64)...)
			return slices.Concat(b[:2], bytes.Repeat(table, 100_000), b[2:])
		}},
		{"height.jpg", func() []byte { // 65,500 x 2,700 in a short file
			b := bytes.Clone(blackJPEG(64, 64))
			at := bytes.Index(b, []byte{0xff, 0xc0})
			binary.BigEndian.PutUint16(b[at+5:], 2700)
			binary.BigEndian.PutUint16(b[at+7:], 65_500)
			return b
		}},
		{"profile.png", func() []byte { return withChunk("iCCP", append([]byte("x\x00\x00"), zlibZeros(1<<30)...)) }},
		{"text.png", func() []byte { return withChunk("zTXt", append([]byte("x\x00\x00"), zlibZeros(1<<30)...)) }},
		{"chunks.png", func() []byte { return bombChunks(500_000) }},
		{"interlaced.png", func() []byte { return pngOf(13_000, 13_000, 1) }},
		{"large.png", func() []byte { return pngOf(13_400, 13_400, 0) }},
		{"frames.gif", func() []byte { return gifFrames(200_000, 1, 1) }},
		{"canvas.gif", func() []byte { return gifFrames(1, 65_000, 2700) }},
		{"canvas-frames.gif", func() []byte { return gifFrames(3000, 4000, 4000) }},
		{"frames.webp", func() []byte { return webpFrames(100_000, 1<<14, 1<<13) }},
		{"chunks.webp", func() []byte {
			b := Picture("formats/webp-lossy-alpha.webp")
			return riff(slices.Concat(b[12:30], bytes.Repeat([]byte("junk\x00\x00\x00\x00"), 1_000_000), b[30:]))
		}},
	}
}

// blackJPEG is a JPEG file of one colour.
func blackJPEG(w, h int) []byte {
	var b bytes.Buffer
	im := image.NewYCbCr(image.Rect(0, 0, w, h), image.YCbCrSubsampleRatio444)
	if err := jpeg.Encode(&b, im, &jpeg.Options{Quality: 10}); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// jpegScans is a progressive file of n scans that have nearly no bytes.
func jpegScans(w, h, n int) []byte {
	b := []byte{0xff, 0xd8, 0xff, 0xdb, 0, 67, 0}
	b = append(b, bytes.Repeat([]byte{1}, 64)...)
	b = append(b, 0xff, 0xc2, 0, 11, 8, byte(h>>8), byte(h), byte(w>>8), byte(w), 1, 1, 0x11, 0)
	for _, class := range []byte{0x00, 0x10} { // a table whose one code of a bit is "end of band", or no difference
		b = append(append(b, 0xff, 0xc4, 0, 20, class, 1), make([]byte, 16)...)
	}
	b = append(b, 0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0)
	b = append(b, make([]byte, 64)...)
	for i := range n {
		b = append(b, 0xff, 0xda, 0, 8, 1, 1, 0, byte(1+i%63), byte(1+i%63), 0)
		b = append(b, 0, 0)
	}
	return append(b, 0xff, 0xd9)
}

// zlibZeros returns n zeros in the format of zlib. A compressed piece is repeated, which is fast.
func zlibZeros(n int) []byte {
	const piece = 1 << 20
	deflated := func(n int) []byte {
		var b bytes.Buffer
		w, err := flate.NewWriter(&b, flate.BestCompression)
		if err != nil {
			panic(err)
		}
		w.Write(make([]byte, n))
		w.Flush()
		return b.Bytes()
	}
	b := slices.Concat([]byte{0x78, 0xda}, bytes.Repeat(deflated(piece), n/piece), deflated(n%piece))
	b = append(b, 1, 0, 0, 0xff, 0xff) // the last block has no bytes
	const adler = 65521
	return binary.BigEndian.AppendUint32(b, uint32(n%adler)<<16|1)
}

func chunk(name string, content []byte) []byte {
	b := slices.Concat(encodeNumbers(4, int64(len(content))), []byte(name), content)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// withChunk returns a PNG file with a chunk after its header.
func withChunk(name string, content []byte) []byte {
	b := smallPNG()
	const head = 8 + 25
	return slices.Concat(b[:head], chunk(name, content), b[head:])
}

func bombChunks(n int) []byte {
	b := smallPNG()
	const head = 8 + 25
	return slices.Concat(b[:head], bytes.Repeat(chunk("tEXt", []byte("x\x00")), n), b[head:])
}

func smallPNG() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 64, 64))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// pngOf returns a picture of one colour in 16 bits and four channels, whose rows are compressed zeros.
func pngOf(w, h int, interlaced byte) []byte {
	return slices.Concat([]byte("\x89PNG\r\n\x1a\n"),
		chunk("IHDR", append(encodeNumbers(4, int64(w), 4, int64(h)), 16, 6, 0, 0, interlaced)),
		chunk("IDAT", zlibZeros(h*(1+8*w)+8*h)), chunk("IEND", nil))
}

// gifFrames returns a GIF file whose canvas has a size, of frames of one pixel.
func gifFrames(n, w, h int) []byte {
	var b bytes.Buffer
	palette := color.Palette{color.Black, color.White}
	err := gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{image.NewPaletted(image.Rect(0, 0, 1, 1), palette)},
		Delay: []int{1}, Config: image.Config{ColorModel: palette, Width: w, Height: h}})
	if err != nil {
		panic(err)
	}
	f := b.Bytes()
	at := bytes.IndexByte(f, ',')
	return slices.Concat(f[:at], bytes.Repeat(f[at:len(f)-1], n), f[len(f)-1:])
}

func riff(chunks []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(chunks)+4))
	return slices.Concat(b, []byte("WEBP"), chunks)
}

// webpFrames returns an animation of a canvas.
func webpFrames(n, w, h int) []byte {
	part := func(name string, b []byte) []byte {
		b = slices.Concat([]byte(name), binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b)
		return append(b, make([]byte, len(b)%2)...)
	}
	size := func(v int) []byte { return []byte{byte(v - 1), byte((v - 1) >> 8), byte((v - 1) >> 16)} }
	picture := Picture("formats/webp-pixel.webp")[12:]
	if string(picture[:4]) == "VP8X" {
		picture = picture[18:]
	}
	frame := part("ANMF", slices.Concat(make([]byte, 6), size(1), size(1), make([]byte, 4), picture))
	return riff(slices.Concat(part("VP8X", slices.Concat([]byte{2, 0, 0, 0}, size(w), size(h))),
		part("ANIM", make([]byte, 6)), bytes.Repeat(frame, n)))
}
