package imaging

import (
	"context"
	"errors"
	"image"
	"image/color"

	"golang.org/x/image/webp"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

var webpFormat = format{name: "WebP", extensions: []string{".webp"}, mediaType: "image/webp",
	matches: func(b []byte) bool { return len(b) >= riffHeader && hasPrefix("RIFF")(b) && string(b[8:12]) == "WEBP" },
	open:    openWebP,
	exif:    func(b []byte) []byte { return trimEXIFPrefix(webpChunk(b, "EXIF")) },
	colours: func(b []byte) colourSpace { return colourSpace{icc: smallProfile(webpChunk(b, "ICCP"))} }}

// errBegin asks for the whole file where its beginning does not tell what decoding takes.
var errBegin = errors.New("the beginning of the file is not enough")

// openWebP reads the structure of a WebP file.
func openWebP(_ context.Context, b []byte, size int64) (*source, error) {
	if int64(len(b)) < size {
		return nil, errBegin
	}
	p, err := readWebP(b)
	if err != nil {
		return nil, err
	}
	return &source{cfg: image.Config{ColorModel: color.NRGBAModel, Width: p.canvas.X, Height: p.canvas.Y},
		decode: p.decode, bytes: p.memory()}, nil
}

// webpChunk finds a chunk that describes the picture (RFC 9649, section 2.7.1). It returns nil without one.
func webpChunk(b []byte, kind string) []byte {
	for name, c := range riffChunks(b[min(len(b), riffHeader):]) {
		if name == kind {
			return c
		}
	}
	return nil
}

// decodeStill decodes the picture without its canvas. golang.org/x/image/webp returns the planes of a lossy
// picture as an image.YCbCr, which Go takes for full range as in JPEG. But they are studio range: black
// is 16, white is 235, and chroma spans 16 to 240.
func (p *webpPicture) decodeStill(ctx context.Context) (image.Image, error) {
	im, err := webp.Decode(p.reader(ctx))
	if err != nil {
		return nil, err
	}
	switch im := im.(type) {
	case *image.YCbCr:
		return fromStudio(im, nil, 0), nil
	case *image.NYCbCrA:
		return fromStudio(&im.YCbCr, im.A, im.AStride), nil
	}
	return im, nil
}

// memory returns an upper bound of the memory for decoding the picture to three channels. A lossy
// picture with alpha takes planes, a lossless picture for the alpha, and the colours of both. An
// animation takes a canvas as well.
func (p *webpPicture) memory() int64 {
	const opaque, alpha, animation = 12, 16, 28 // bytes of a pixel
	n := int64(opaque)
	switch {
	case p.animated:
		n = animation
	case p.alpha != nil:
		n = alpha
	}
	return budget.Sum(budget.Product(int64(p.canvas.X), int64(p.canvas.Y), n), p.treeMemory())
}

// fromStudio converts the planes of a VP8 frame, 4:2:0 and studio range, to colours with the bits
// of libwebp. They are opaque if alpha is nil. Chroma is enlarged with weights 9:3:3:1 for the
// nearest four samples. Then ITU-R 601 applies in 14-bit fixed point (libwebp's
// src/dsp/upsampling.c and yuv.h).
func fromStudio(im *image.YCbCr, alpha []uint8, alphaStride int) *image.NRGBA {
	w, h := im.Rect.Dx(), im.Rect.Dy()
	cw, ch := (w+1)/2, (h+1)/2
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		// The chroma rows at and next to y. Rows at the border are repeated.
		near := y / 2
		far := min(max(near+2*(y&1)-1, 0), ch-1)
		near, far = near*im.CStride, far*im.CStride
		luma := im.Y[y*im.YStride:]
		row := out.Pix[y*out.Stride:]
		for x := range w {
			cx := x / 2
			beside := min(max(cx+2*(x&1)-1, 0), cw-1)
			u := enlarge(im.Cb, near+cx, near+beside, far+cx, far+beside)
			v := enlarge(im.Cr, near+cx, near+beside, far+cx, far+beside)
			l := int32(luma[x]) * 19077 >> 8
			p := row[4*x : 4*x+4 : 4*x+4]
			p[0] = clip6(l + v*26149>>8 - 14234)
			p[1] = clip6(l - u*6419>>8 - v*13320>>8 + 8708)
			p[2] = clip6(l + u*33050>>8 - 17685)
			p[3] = 255
			if alpha != nil {
				p[3] = alpha[y*alphaStride+x]
			}
		}
	}
	return out
}

// enlarge mixes four samples of c with weights 9:3:3:1, rounded as libwebp does.
func enlarge(c []uint8, near, beside, above, across int) int32 {
	n, b, a, x := int32(c[near]), int32(c[beside]), int32(c[above]), int32(c[across])
	return ((n+3*b+3*a+x+8)>>3 + n) >> 1
}

// clip6 rounds a value with 6 binary places down to 8 bits.
func clip6(v int32) uint8 { return uint8(min(max(v>>6, 0), 255)) }
