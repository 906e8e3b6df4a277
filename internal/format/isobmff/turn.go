package isobmff

import (
	"image"
	"math"
)

// Turn is one change of the decoded picture: a crop, or an EXIF orientation.
type Turn struct {
	Orientation int // 1 to 8; 0 for a crop
	Crop        Crop
}

// Crop is a part of a picture as the box clap gives it: fractions of pixels, with the middle relative to the middle
// of the picture.
type Crop struct{ W, H, X, Y Fraction }

// Fraction is a number of the box clap.
type Fraction struct{ N, D int32 }

func (f Fraction) float() float64 { return float64(f.N) / float64(f.D) }

// Rect returns the crop of a picture of w x h pixels, in whole pixels. It returns false if that is not a part of the
// picture.
func (c Crop) Rect(w, h int) (image.Rectangle, bool) {
	side := func(n int, size, middle Fraction) (from, to int, ok bool) {
		if size.D == 0 || middle.D == 0 {
			return 0, 0, false
		}
		begin := math.Round(middle.float() + float64(n-1)/2 - (size.float()-1)/2)
		end := begin + math.Round(size.float())
		return int(begin), int(end), 0 <= begin && begin < end && end <= float64(n)
	}
	left, right, ok1 := side(w, c.W, c.X)
	top, bottom, ok2 := side(h, c.H, c.Y)
	return image.Rect(left, top, right, bottom), ok1 && ok2
}
