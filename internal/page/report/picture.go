package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"net/url"
	"path/filepath"
	"strings"

	"golang.org/x/image/draw"

	"github.com/kindred-ml/kindred/internal/page/figure"
)

// Picture is an image with its texts. Any field may be empty; without an image only
// the texts are shown.
type Picture struct {
	Image image.Image
	// Name identifies the item, such as a file's path; Label is its class.
	Name, Label string
	// Link is the address of the whole photo, as Link returns it. A reader who
	// enlarges the thumbnail sees this photo, if it can be loaded.
	Link string
	// Distance is the distance to the query as text.
	Distance string
	// Match is whether a neighbour is right.
	Match Match
}

// Match is whether a neighbour has its query's label.
type Match int

// The verdicts on a neighbour. It is Unjudged if its label or its query's label is
// unknown.
const (
	UnknownMatch Match = iota
	RightMatch
	WrongMatch
)

// class returns the verdict's name in the style sheet.
func (m Match) class() string { return [...]string{"plain", "right", "wrong"}[min(max(m, 0), 2)] }

// sign returns a sign for readers who cannot see the frame's colour.
func (m Match) sign() string { return [...]string{"", "✓", "✗"}[min(max(m, 0), 2)] }

// frameColour returns the colour of the frame in a figure.
func (m Match) frameColour() color.NRGBA {
	return [...]color.NRGBA{figure.Ink, figure.GoodColour, figure.BadColour}[min(max(m, 0), 2)]
}

// RelativeLink returns the address of a photo for a page; both are paths. The address is
// relative to the page's folder, so that both can move together.
func RelativeLink(page, photo string) string {
	page, err := filepath.Abs(page)
	if err != nil {
		return ""
	}
	if photo, err = filepath.Abs(photo); err != nil {
		return ""
	}
	rel, err := filepath.Rel(filepath.Dir(page), photo)
	if err != nil { // another drive
		return ""
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	if parts[0] != ".." {
		parts = append([]string{"."}, parts...) // "c:x" is not a scheme
	}
	return strings.Join(parts, "/")
}

// thumbSides are the sizes of thumbnails on a page in pixels, with the JPEG quality of
// each: the larger the thumbnail, the less visible the losses of JPEG.
var thumbSides = [...]thumbSize{{240, 78}, {208, 76}, {176, 75}, {144, 74}, {120, 72}, {96, 70}}

type thumbSize struct{ side, quality int }

const (
	// thumbBudget is the largest number of bytes for the thumbnails of a block.
	thumbBudget = 2_200_000
	// tinyPicture is the longest side of pictures that are kept pixel by pixel.
	tinyPicture = 64
)

// thumb is a picture as a data URL. A tiny one is enlarged with hard pixels.
type thumb struct {
	src  string
	tiny bool
}

// sampledThumbs is the number of pictures that are encoded to choose the size for all.
const sampledThumbs = 16

// thumbnails encodes pictures for a page in the given size. Without a size it takes the
// largest of thumbSides with which the pictures fit the budget, estimated from a sample.
func thumbnails(pics []Picture, side int) ([]thumb, error) {
	encode := func(i int, size thumbSize) (thumb, error) {
		t, err := encodeThumb(pics[i].Image, size)
		if err != nil {
			return t, fmt.Errorf("thumbnail of %q: %w", pics[i].Name, err)
		}
		return t, nil
	}
	size := thumbSize{min(side, 512), 78}
	if side <= 0 {
		step := (len(pics) + sampledThumbs - 1) / sampledThumbs
		for _, size = range thumbSides {
			bytes, n := 0, 0
			for i := 0; i < len(pics); i += step {
				t, err := encode(i, size)
				if err != nil {
					return nil, err
				}
				bytes, n = bytes+len(t.src), n+1
			}
			if n == 0 || bytes/n*len(pics) <= thumbBudget {
				break
			}
		}
	}
	out := make([]thumb, len(pics))
	for i := range pics {
		var err error
		if out[i], err = encode(i, size); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// encodeThumb makes a data URL: PNG of tiny pictures, JPEG of photos.
func encodeThumb(img image.Image, size thumbSize) (thumb, error) {
	if img == nil || img.Bounds().Empty() {
		return thumb{}, nil
	}
	var b bytes.Buffer
	if s := img.Bounds().Size(); max(s.X, s.Y) <= tinyPicture {
		err := png.Encode(&b, img)
		return thumb{"data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), true}, err
	}
	err := jpeg.Encode(&b, shrink(img, size.side), &jpeg.Options{Quality: size.quality})
	return thumb{"data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), false}, err
}

// shrink returns img scaled smoothly to fit a square, or img itself if it fits.
func shrink(img image.Image, side int) image.Image {
	b := img.Bounds()
	long := max(b.Dx(), b.Dy())
	if long <= side {
		return img
	}
	box := image.Rect(0, 0, max(1, b.Dx()*side/long), max(1, b.Dy()*side/long))
	if _, grey := img.(*image.Gray); grey {
		out := image.NewGray(box)
		draw.CatmullRom.Scale(out, box, img, b, draw.Src, nil)
		return out
	}
	out := image.NewRGBA(box)
	draw.CatmullRom.Scale(out, box, img, b, draw.Src, nil)
	return out
}

// enlargeSharply returns img scaled by a whole factor with hard pixels. img must fit at least
// twice into the square.
func enlargeSharply(img image.Image, side int) image.Image {
	b := img.Bounds()
	k := side / max(1, b.Dx(), b.Dy())
	if k < 2 {
		return img
	}
	out := image.NewNRGBA(image.Rect(0, 0, b.Dx()*k, b.Dy()*k))
	draw.NearestNeighbor.Scale(out, out.Bounds(), img, b, draw.Src, nil)
	return out
}
