package quality

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
)

// Measure holds the values by which a picture is judged.
type Measure struct {
	// W and H are its sides in pixels.
	W, H int
	// Sharpness is the logarithm of a ratio: the variance of the Laplacian in the second sharpest of
	// 16 parts of the picture, over the variance of the greys of the picture. So a thing in focus in
	// front of a blurred background counts as sharp. The picture is reduced to a longer side of at
	// most 128 pixels.
	Sharpness float64
	// Low, Middle and High are the greys, 0 to 1, that 5, 50 and 95 % of the pixels do not
	// exceed.
	Low, Middle, High float64
	// Flat is the share of the pixels that exactly equal their right and their lower neighbour, at
	// the file's own resolution. Cameras make noise, programs do not.
	Flat float64
	// Straight is the share of edges that run along the rows or columns of pixels.
	Straight float64
	// Err is the error of a picture that could not be read.
	Err error
}

const (
	side  = 128 // longer side of the reduced picture
	tiles = 4   // number of parts along each side
)

// Meter measures pictures, one at a time.
type Meter struct {
	small imaging.Image
	re    prepare.Resizer
}

// Measure measures a picture. It may change the pixels.
func (r *Meter) Measure(im *imaging.Image) Measure {
	m := Measure{W: im.W, H: im.H, Flat: measureFlat(im)}
	im.SetChannels(1)
	m.Straight = measureStraight(im)
	w, h := im.W, im.H
	if long := max(w, h); long > side {
		w, h = max(1, (w*side+long/2)/long), max(1, (h*side+long/2)/long)
	}
	r.re.Resize(&r.small, im, prepare.Box{X1: float64(im.W), Y1: float64(im.H)}, w, h)
	m.Low, m.Middle, m.High = greyQuantiles(&r.small)
	m.Sharpness = measureSharpness(&r.small)
	return m
}

// greyQuantiles returns quantiles of the greys of a picture with one channel.
func greyQuantiles(im *imaging.Image) (low, middle, high float64) {
	var count [256]int
	for _, v := range im.Pix[:im.W*im.H] {
		count[v]++
	}
	quantile := func(share float64) float64 {
		left := int(math.Ceil(share * float64(im.W*im.H)))
		for v, n := range count {
			if left -= n; left <= 0 {
				return float64(v) / 255
			}
		}
		return 1
	}
	return quantile(0.05), quantile(0.5), quantile(0.95)
}

// sum holds sums of values and of their squares. They are whole numbers, so they are the same on every
// machine.
type sum struct{ n, sum, squares int64 }

func (s *sum) add(v int64) { s.n, s.sum, s.squares = s.n+1, s.sum+v, s.squares+v*v }

func (s *sum) variance() float64 {
	if s.n == 0 {
		return 0
	}
	mean := float64(s.sum) / float64(s.n)
	return float64(s.squares)/float64(s.n) - mean*mean
}

// measureSharpness returns Measure.Sharpness of a picture with one channel.
func measureSharpness(im *imaging.Image) float64 {
	var all sum
	var parts [tiles * tiles]sum
	for _, v := range im.Pix[:im.W*im.H] {
		all.add(int64(v))
	}
	for y := 1; y < im.H-1; y++ {
		above, row, below := im.Row(y-1), im.Row(y), im.Row(y+1)
		for x := 1; x < im.W-1; x++ {
			v := 4*int64(row[x]) - int64(row[x-1]) - int64(row[x+1]) - int64(above[x]) - int64(below[x])
			parts[y*tiles/im.H*tiles+x*tiles/im.W].add(v)
		}
	}
	var of [tiles * tiles]float64
	for k := range parts {
		of[k] = parts[k].variance()
	}
	slices.Sort(of[:])
	// One grey level of noise keeps uniform pictures from counting as sharp or blurred.
	return math.Log2((of[len(of)-2] + 1) / (all.variance() + 1))
}

// measureFlat returns Measure.Flat.
func measureFlat(im *imaging.Image) float64 {
	n, c := 0, im.C
	for y := range im.H - 1 {
		row, below := im.Row(y), im.Row(y+1)
		for x := 0; x < (im.W-1)*c; x += c {
			if slices.Equal(row[x:x+c], row[x+c:x+2*c]) && slices.Equal(row[x:x+c], below[x:x+c]) {
				n++
			}
		}
	}
	return float64(n) / float64(max(1, (im.W-1)*(im.H-1)))
}

// measureStraight returns Measure.Straight of a picture with one channel.
func measureStraight(im *imaging.Image) float64 {
	const edge, slope = 24, 8
	edges, along := 0, 0
	for y := range im.H - 1 {
		row, below := im.Row(y), im.Row(y+1)
		for x := range im.W - 1 {
			dx, dy := int(row[x+1])-int(row[x]), int(below[x])-int(row[x])
			dx, dy = max(dx, -dx), max(dy, -dy)
			if dx+dy < edge {
				continue
			}
			edges++
			if dx >= slope*dy || dy >= slope*dx {
				along++
			}
		}
	}
	return float64(along) / float64(max(1, edges))
}
