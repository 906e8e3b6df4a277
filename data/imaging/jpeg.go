package imaging

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/jpeg"
	"iter"

	"github.com/kindred-ml/kindred/internal/base/budget"
	fastjpeg "github.com/kindred-ml/kindred/internal/format/jpeg"
)

var jpegFormat = format{name: "JPEG", extensions: []string{".jpg", ".jpeg", ".jpe", ".jfif"}, mediaType: "image/jpeg",
	matches: hasPrefix("\xff\xd8"), open: openJPEG, exif: jpegExif, colours: jpegColours,
	fastDecode: (*Decoder).decodeJPEG}

// openJPEG reads the structure of a JPEG file for the standard library, which reads more kinds than package fastjpeg.
func openJPEG(ctx context.Context, b []byte, size int64) (*source, error) {
	s, err := goDecoder(jpegConfig, jpeg.Decode)(ctx, b, size)
	if err == nil {
		kind, ok := fastjpeg.ReadHeader(b)
		s.jpeg, s.reducible = kind, ok && kind.IsDecodable()
		s.check = func(file []byte) error { return s.jpeg.CountPasses(file).Check() }
	}
	return s, err
}

// decodeJPEG reads the kinds of JPEG that package fastjpeg knows. It returns false for others, which are of another
// kind or damaged.
func (d *Decoder) decodeJPEG(ctx context.Context, dst *Image, b []byte) (done bool, err error) {
	orientation := tiffOrientation(jpegExif(b))
	d.fast.MaxPixels, d.fast.MaxBytes = d.limit(), max(1, budget.Limit()-int64(len(b))) // see refuse
	if d.MaxBytes > 0 {
		d.fast.MaxBytes = min(d.MaxBytes, d.fast.MaxBytes)
	}
	d.fast.Done, d.fast.Smooth, d.fast.Shrink = ctx.Done(), d.Smooth, d.Shrink
	if d.Shrink != nil && orientation >= 5 { // the stored picture lies on its side
		d.fast.Shrink = func(w, h int) int { return d.Shrink(h, w) }
	}
	none := func() {}
	leave := none
	defer func() { leave() }()
	d.fast.Reserve = func(bytes int64) bool {
		leave() // what a header before this one needs
		var err error
		if leave, err = d.reserve(ctx, bytes, b); err != nil {
			leave = none
		}
		return err == nil
	}
	defer func() { d.fast.Reserve = nil }()
	err = d.fast.Decode(b, func(w, h, c int) []uint8 { dst.Reset(w, h, c); return dst.Pix })
	if err == nil {
		dst.orient(orientation)
	}
	return err == nil || ctx.Err() != nil, ctx.Err()
}

var errJPEG = errors.New("the data are not valid JPEG, or end early")

// jpegConfig reads the size of a JPEG file. For an unsupported kind the error names the kind.
func jpegConfig(b []byte) (image.Config, error) {
	if kind, ok := fastjpeg.ReadHeader(b); ok && kind.UnsupportedReason() != "" {
		return image.Config{}, unsupported(kind.UnsupportedReason())
	}
	return jpeg.DecodeConfig(bytes.NewReader(b))
}

// jpegSegments yields the markers of a JPEG file and the content of their segments, up to the image data.
func jpegSegments(b []byte) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
		for at := 2; at+4 <= len(b); {
			marker := b[at+1]
			if b[at] != 0xff || marker == 0xff { // stray bytes, padding
				at++
				continue
			}
			if marker == 0xda || marker == 0xd9 { // image data, end
				return
			}
			n := int(binary.BigEndian.Uint16(b[at+2:]))
			if n < 2 || at+2+n > len(b) || !yield(marker, b[at+4:at+2+n]) {
				return
			}
			at += 2 + n
		}
	}
}

// jpegExif returns the EXIF block of a JPEG file, or nil without one.
func jpegExif(b []byte) []byte {
	for marker, segment := range jpegSegments(b) {
		if body, ok := bytes.CutPrefix(segment, []byte("Exif\x00\x00")); ok && marker == 0xe1 {
			return body
		}
	}
	return nil
}

// jpegColours joins the pieces of the ICC profile (ICC.1, annex B.4): each has its number, from 1, and how many there
// are.
func jpegColours(b []byte) (c colourSpace) {
	var pieces [256][]byte
	n, size := 0, 0
	for marker, segment := range jpegSegments(b) {
		body, ok := bytes.CutPrefix(segment, []byte("ICC_PROFILE\x00"))
		if !ok || marker != 0xe2 || len(body) < 2 || pieces[body[0]] != nil {
			continue
		}
		n = int(body[1])
		pieces[body[0]] = body[2:]
		size += len(body) - 2
	}
	if size > maxProfile {
		return c
	}
	for _, piece := range pieces[min(1, n) : n+1] {
		if piece == nil { // one is missing
			return colourSpace{}
		}
		c.icc = append(c.icc, piece...)
	}
	return c
}
