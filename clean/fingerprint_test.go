package clean

import (
	"context"
	"image"
	"image/color"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// drawShaded draws a picture of 32 x 32 pixels whose greys the function by returns.
func drawShaded(by func(x, y int) int) *image.Gray {
	im := image.NewGray(image.Rect(0, 0, side, side))
	for i := range im.Pix {
		im.Pix[i] = uint8(by(i%side, i/side))
	}
	return im
}

// A print has the picture's greys and their sums, of all and of every other pixel in both
// directions.
func TestPrint(t *testing.T) {
	im := drawShaded(func(x, y int) int { return (7*x + 11*y + x*y) % 256 })
	p := NewFingerprint(im)
	var whole, half pixelSums
	for i, v := range im.Pix {
		if p.grey[i] != v {
			t.Fatalf("pixel %d has the grey %d, want %d", i, p.grey[i], v)
		}
		for k, s := range []*pixelSums{&whole, &half} {
			if k == 1 && (i%side%2 == 1 || i/side%2 == 1) {
				continue
			}
			s.sum += int(v)
			s.squares += int(v) * int(v)
			if v >= 5 && v <= 250 {
				s.greys++
			}
		}
	}
	if p.allPixels != whole || p.halfPixels != half || p.IsBlank() {
		t.Errorf("%+v and %+v, want %+v and %+v", p.allPixels, p.halfPixels, whole, half)
	}
	var edge pixelSums
	for _, v := range []uint8{0, 4, 5, 250, 251, 255} {
		edge.add(v)
	}
	if edge.greys != 2 {
		t.Errorf("%d greys, want those of 5 and 250", edge.greys)
	}
	if !NewFingerprint(drawShaded(func(int, int) int { return 77 })).IsBlank() {
		t.Error("one grey is not blank")
	}
}

// The hash tells which of two neighbours in a row is brighter, row by row.
func TestHash(t *testing.T) {
	for name, c := range map[string]struct {
		by   func(x, y int) int
		want uint64
	}{
		"brighter to the right": {func(x, _ int) int { return 7 * x }, math.MaxUint64},
		"darker to the right":   {func(x, _ int) int { return 255 - 7*x }, 0},
		"of one grey":           {func(_, y int) int { return 7 * y }, 0},
		"brightest in the middle": {func(x, _ int) int { return 255 - 14*max(x-16, 15-x) },
			0xf0f0f0f0f0f0f0f0},
		"the upper half": {func(x, y int) int {
			if y < 16 {
				return 7 * x
			}
			return 255 - 7*x
		}, 0xffffffff00000000},
	} {
		if got := NewFingerprint(drawShaded(c.by)).hash; got != c.want {
			t.Errorf("%s: %016x, want %016x", name, got, c.want)
		}
	}
}

// A drawing has fewer than half of its pixels grey, of all and of every other.
func TestDrawn(t *testing.T) {
	for _, c := range []struct {
		whole, half int
		want        bool
	}{{511, 127, true}, {512, 127, false}, {511, 128, false}, {0, 0, true}} {
		if p := (&Fingerprint{allPixels: pixelSums{greys: c.whole},
			halfPixels: pixelSums{greys: c.half}}); p.IsDrawing() != c.want {
			t.Errorf("%+v: %v", c, p.IsDrawing())
		}
	}
}

// Neighbours in the embedding are known both ways, five of each picture.
func TestNeighbours(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 21))
	x := matrix.New(30, 2)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	got, err := neighbours(t.Context(), make([]*Fingerprint, 30), x)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		mine, _ := nearestBySorting(x, i, 5)
		for j := range 30 {
			theirs, _ := nearestBySorting(x, j, 5)
			want := i != j && (slices.Contains(mine, j) || slices.Contains(theirs, i))
			if slices.Contains(got[i], j) != want {
				t.Errorf("%d and %d: %v", i, j, !want)
			}
		}
	}
	for n, known := range map[int]int{1: 0, 2: 1, 4: 3} {
		got, err := neighbours(t.Context(), make([]*Fingerprint, n), matrix.New(n, 1))
		slices.Sort(got[0])
		if err != nil || len(slices.Compact(got[0])) != known {
			t.Errorf("of %d pictures: %v, %v", n, got, err)
		}
	}
}

// Groups join copies of copies in whatever order they come.
func TestGroups(t *testing.T) {
	got := GroupCopies([]Copy{{7, 9, 1}, {3, 5, 1}, {5, 9, 1}, {2, 8, 1}, {0, 4, 1}, {4, 8, 1}})
	if want := [][]int{{0, 2, 4, 8}, {3, 5, 7, 9}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, want %v", got, want)
	}
	if GroupCopies(nil) != nil {
		t.Error("groups of nothing")
	}
}

// Windows are the whole picture and squares of at least three quarters of its sides that
// begin on whole pixels and lie within it.
func TestWindows(t *testing.T) {
	got := initialWindows()
	if got[0] != (window{0, 0, 32}) || len(got) != 1+4+16+25+49+64 {
		t.Errorf("%d, the first %v", len(got), got[0])
	}
	for _, w := range got {
		if min(w.x, w.y) < 0 || max(w.x, w.y)+w.side > 32 || w.side < 24 {
			t.Errorf("%v", w)
		}
	}
	if len(slices.Compact(got)) != len(got) {
		t.Error("a window is there twice")
	}
}

// A climb ends at the best window within two pixels, and never leaves the picture.
func TestClimb(t *testing.T) {
	for _, goal := range []window{{2.5, 3, 26}, {1, 1.125, 28.5}, {3.875, 2.25, 25}} {
		far := func(w window) float64 {
			return math.Abs(w.x-goal.x) + math.Abs(w.y-goal.y) + math.Abs(w.side-goal.side)
		}
		got := climbWindow(window{goal.x - 0.5, goal.y + 1, goal.side - 0.5}, func(at, w window) bool {
			if min(w.x, w.y) < 0 || max(w.x, w.y)+w.side > side || w.side < 24 {
				t.Errorf("asked about %v", w)
			}
			return far(w) < far(at)
		})
		if far(got) != 0 {
			t.Errorf("ends at %v, want %v", got, goal)
		}
	}
	// All are better to the left: two pixels of halves, one of quarters, and half a one.
	got := climbWindow(window{8, 4, 24}, func(at, w window) bool { return w.x < at.x && w.side == 24 })
	if want := (window{8 - 2 - 1 - 0.5, 4, 24}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	// The edges of the picture, and the least side, are within reach.
	got = climbWindow(window{0.5, 7.5, 24.5}, func(at, w window) bool {
		return w.x+w.side < at.x+at.side ||
			w.x < at.x
	})
	if got.x != 0 || got.side != 24 {
		t.Errorf("%v", got)
	}
	got = climbWindow(window{0, 0, 31}, func(at, w window) bool { return w.side > at.side })
	if got != (window{0, 0, side}) {
		t.Errorf("%v", got)
	}
}

// Pictures are compared by their greys unless at least half of the pixels are as dark or
// bright as can be in either.
func TestCorrelation(t *testing.T) {
	at := window{0, 0, side}
	ramp := NewFingerprint(drawShaded(func(x, y int) int { return 10 + 3*x + 4*y }))
	upside := NewFingerprint(drawShaded(func(x, y int) int { return 240 - 3*x - 4*y }))
	for _, every := range []int{1, 2} {
		requireNear(t, "itself", windowCorrelation(ramp, ramp, at, every), 1, 1e-12)
		requireNear(t, "its negative", windowCorrelation(ramp, upside, at, every), -1, 1e-12)
	}
	requireNear(t, "of one grey", windowCorrelation(ramp, NewFingerprint(drawShaded(func(int,
		int) int {
		return 9
	})), at, 1), 0, 0)
	// Where brightening has cut off the lower rows, the others count, if they are half.
	for rows, cut := range map[int]bool{16: true, 15: false} {
		clipped := NewFingerprint(drawShaded(func(x, y int) int {
			if y < rows {
				return 10 + 3*x + 4*y
			}
			return 255
		}))
		have := windowCorrelation(ramp, clipped, at, 1)
		if cut != (have > 1-1e-12) || have < 0 {
			t.Errorf("%d rows that are not cut off: %.9f", rows, have)
		}
	}
	// What strokes say of whole pictures is the same.
	rng := rand.New(rand.NewPCG(9, 21))
	for range 5 {
		p, q := NewFingerprint(drawStrokes(rng, 3, false)), NewFingerprint(drawStrokes(rng, 3, true))
		if have, want := newStrokes(p).correlation(p, q), windowCorrelation(p, q, at, 1); have != want {
			t.Errorf("%v by strokes, want %v", have, want)
		}
	}
}

// What is kept of a window gives the correlation of a drawing with it, but for rounding.
func TestViews(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 21))
	p, q := NewFingerprint(drawStrokes(rng, 3, false)), NewFingerprint(drawStrokes(rng, 3, false))
	v := newWindowViews(initialWindows())
	v.picture = q
	v.ink.setPicture(p)
	size := math.Sqrt(float64(p.allPixels.squares) - float64(p.allPixels.sum)*float64(p.allPixels.sum)/1024)
	for round := range 2 { // the second from what is kept
		for _, w := range []window{{0, 0, 32}, {1, 2, 29}, {2, 1, 29}, {0.5, 0.625, 27.5}, {7, 0.125, 24}} {
			got, sure := v.correlation(w, size)
			if !sure {
				t.Errorf("%v shows nothing", w)
			}
			requireNear(t, "of a view", got, windowCorrelation(p, q, w, 1), fineSlack)
		}
		if len(v.fine) != 5 {
			t.Errorf("%d views kept after round %d", len(v.fine), round)
		}
	}
	// Every other pixel, about the mean: products with the coarse views.
	v.prepare()
	row := make([]float32, 256)
	length := p.centre(row)
	for r, w := range v.windows[:20] {
		var product float64
		for k, s := range row {
			product += float64(s) * float64(v.coarse.Row(r)[k])
		}
		requireNear(t, "of a coarse view", product/length, windowCorrelation(p, q, w, 2), coarseSlack)
	}
	v = newWindowViews(nil)
	v.picture = &Fingerprint{}
	if _, sure := v.correlation(window{0, 0, 32}, 1); sure {
		t.Error("a blank picture was compared")
	}
	var dst [3]float32
	requireNear(t, "length", normalizeInto(dst[:], []float64{1, 3, 5}), math.Sqrt(8), 1e-12)
	requireNear(t, "unit", float64(dst[2]), 2/math.Sqrt(8), 1e-7)
	if normalizeInto(dst[:], []float64{4, 4, 4}) != 0 || dst != [3]float32{} {
		t.Errorf("of equals: %v", dst)
	}
}

// Pictures whose hashes differ in ten bits are compared, of eleven bits only those that the
// embedding brings together.
func TestHashesApart(t *testing.T) {
	one := NewFingerprint(drawPhoto(3, 90, 90))
	for differ, want := range map[int]int{10: 1, 11: 0} {
		other := NewFingerprint(drawPhoto(3, 60, 60))
		other.grey[5] ^= 1
		other.hash = one.hash ^ (1<<differ - 1)
		if bits.OnesCount64(one.hash^other.hash) != differ {
			t.Fatal("the hashes are not as far apart as they should be")
		}
		prints := []*Fingerprint{one, other}
		if got, err := FindDuplicates(t.Context(), prints, DuplicateOptions{}); err != nil || len(got) != want {
			t.Errorf("%d bits: %v, %v", differ, got, err)
		}
		if got, err := FindDuplicates(t.Context(), prints, DuplicateOptions{X: rowsOnLine(0, 1)}); err != nil ||
			len(got) != 1 {
			t.Errorf("%d bits, neighbours: %v, %v", differ, got, err)
		}
	}
}

// The progress of a comparison adds up to all pictures.
func TestDuplicatesProgress(t *testing.T) {
	var prints []*Fingerprint
	for k := range uint64(70) {
		prints = append(prints, NewFingerprint(drawPhoto(k, 32, 32)))
	}
	told := make(chan int, 70)
	if _, err := FindDuplicates(context.Background(), prints, DuplicateOptions{Progress: func(done, total int) {
		if told <- done; total != 70 {
			t.Errorf("of %d", total)
		}
	}}); err != nil {
		t.Fatal(err)
	}
	close(told)
	var all []int
	for n := range told {
		all = append(all, n)
	}
	slices.Sort(all)
	if len(all) < 2 || all[len(all)-1] != 70 || all[0] > 16 || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("told of %v", all)
	}
}

// Colours count as the grey that they have.
func TestColours(t *testing.T) {
	im := image.NewRGBA(image.Rect(3, 4, 3+side, 4+side)) // anywhere
	grey := image.NewGray(image.Rect(0, 0, side, side))
	for i := range grey.Pix {
		c := color.RGBA{uint8(i), uint8(i / 7), uint8(i / 3), 255}
		im.SetRGBA(3+i%side, 4+i/side, c)
		grey.Set(i%side, i/side, c)
	}
	if p, q := NewFingerprint(im), NewFingerprint(grey); p.grey != q.grey {
		t.Error("a picture in colours has another print than its greys")
	}
}

// Where windows show the same, or nothing, what is found is still what the search without
// views finds, to the last bit.
func TestViewsOfEquals(t *testing.T) {
	for name, by := range map[string]func(x, y, shift int) int{
		"stripes":     func(x, _, shift int) int { return 255 * ((x + shift) / 5 % 2) },
		"steps":       func(x, _, shift int) int { return []int{0, 255, 0, 3}[(x+shift)/8%4] },
		"a cross":     func(x, y, shift int) int { return 255 * max((x+shift)/14%2, y/14%2) },
		"a corner":    func(x, y, shift int) int { return 255 * min((x+shift)/30, y/30) },
		"bars":        func(x, y, shift int) int { return 255 * ((x + y + shift) % 16 / 8) },
		"one to nine": func(x, y, shift int) int { return min(255, 64*((x+shift)/9%3)*(y/11%3)) },
	} {
		found := 0
		for shift := range 3 {
			whole := NewFingerprint(drawShaded(func(x, y int) int { return by(x, y, shift) }))
			part := NewFingerprint(drawShaded(func(x, y int) int { return by(x, y, 0) }))
			v := newWindowViews(initialWindows())
			v.picture = part
			v.prepare()
			row, scores := make([]float32, side*side/4), make([]float32, len(v.windows))
			length := whole.centre(row)
			for r := range scores {
				for k, s := range row {
					scores[r] += s * v.coarse.Row(r)[k]
				}
			}
			want, _ := searchWindows(whole, part, initialWindows())
			if want < minCopyCorrelation {
				want = 0
			} else {
				found++
			}
			if got, _ := v.search(whole, scores, length); whole.IsDrawing() && got != want {
				t.Errorf("%s, %d pixels to the left: %v, want %v", name, shift, got, want)
			}
		}
		if found == 0 {
			t.Errorf("%s: nothing is found", name)
		}
	}
}
