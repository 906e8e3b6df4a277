package decide

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// drawScaled draws a gallery and strangers like drawnGroups without groups, at a scale.
func drawScaled(seed uint64, classes int, scale float32) (gallery *matrix.Dense, labels []string,
	strangers *matrix.Dense) {
	s := drawnGroups(seed, classes+50, 1, 0, 0)
	for k := range s.x.Data {
		s.x.Data[k] *= scale
	}
	for q := range s.first[classes] {
		labels = append(labels, fmt.Sprint(s.identityOf[q]))
	}
	return s.x.RowRange(0, s.first[classes]), labels, s.x.RowRange(s.first[classes], s.x.Rows)
}

// calibrateDrawn is a calibration on drawn classes without groups, which have names if named is set.
func calibrateDrawn(t *testing.T, seed uint64, classes int, named bool) (*Calibration, *set) {
	t.Helper()
	s := drawnGroups(seed, classes, 1, 0, 0)
	opt := Options{Names: map[int64]string{}}
	var of []int64
	for _, i := range s.identityOf {
		if of = append(of, int64(i)); named {
			opt.Names[int64(i)] = fmt.Sprint(i)
		}
	}
	c, err := Calibrate(t.Context(), s.x, of, opt)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

// TestGalleryDrift: in a gallery at a tenth of the calibration's scale strangers are recognised by the gallery's own
// classes; in galleries like the calibration nothing changes.
func TestGalleryDrift(t *testing.T) {
	c, _ := calibrateDrawn(t, 1, 150, false)
	in := func(x, gallery *matrix.Dense, labels []string) (share float64, drift bool) {
		g, err := MeasureGallery(t.Context(), c, gallery, labels, eval.Euclidean)
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Decider(g, IdentifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rows := make([]int, gallery.Rows)
		for i := range rows {
			rows[i] = i
		}
		both := matrix.New(gallery.Rows+x.Rows, x.Cols)
		copy(both.Data, gallery.Data)
		copy(both.Data[len(gallery.Data):], x.Data)
		for q := range x.Rows {
			got, err := d.Decide([]Photo{{Vector: x.Row(q), Neighbours: nearestByLoop(both, labels, gallery.Rows+q,
				rows)}})
			if err != nil {
				t.Fatal(err)
			}
			if !got.Unknown {
				share += 1 / float64(x.Rows)
			}
		}
		return share, d.unknown[0].Drift > 0
	}
	for _, classes := range []int{10, 40} {
		wrong := 0
		for seed := range uint64(10) {
			gallery, labels, x := drawScaled(seed+2, classes, 1)
			if few, drift := in(x, gallery, labels); few > 0.15 {
				t.Errorf("%d classes like the calibration's: %.3f of the strangers", classes, few)
			} else if drift {
				wrong++
			}
			gallery, labels, x = drawScaled(seed+2, classes, 0.1)
			if few, drift := in(x, gallery, labels); !drift || few > 0.3 {
				t.Errorf("%d classes: %.3f of the strangers, drift %v", classes, few, drift)
			}
		}
		if wrong > 2 {
			t.Errorf("%d classes: drift in %d of 10 galleries like the calibration", classes, wrong)
		}
	}
}

// TestClassesOfTheGallery: classes of the calibration that are in the gallery are no strangers to it, by their name or
// as a photo of them is an item; then the gallery's own classes are strangers to each other.
func TestClassesOfTheGallery(t *testing.T) {
	for _, named := range []bool{false, true} {
		c, s := calibrateDrawn(t, 3, 30, named)
		var rows []int
		var labels []string
		for q := range s.first[25] {
			if !named || q%2 == 0 {
				rows, labels = append(rows, q), append(labels, fmt.Sprint(s.identityOf[q]))
			}
		}
		g, err := MeasureGallery(t.Context(), c, copyRows(s.x, rows), labels, eval.Euclidean)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(g.StrangerTrial.Strangers); n != 5 || len(g.StrangerTrial.OwnItems) != 25 {
			t.Errorf("names %v: %d and %d classes of strangers", named, n, len(g.StrangerTrial.OwnItems))
		}
		if _, err := c.Decider(g, IdentifyOptions{FPIR: 0.2}); err != nil {
			t.Error(err)
		}
	}
}

// TestMeans: means, counts and scatter are those of loops, also without some of the items.
func TestMeans(t *testing.T) {
	s := drawnGroups(5, 3, 1, 0, 0)
	for _, by := range []eval.Distance{eval.Euclidean, eval.Cosine} {
		m := NewMeans(s.x.Cols, by)
		x := s.x
		if by == eval.Cosine {
			x = eval.NormalizeRows(s.x)
		}
		for q := range s.x.Rows {
			if err := m.Add(fmt.Sprint(s.identityOf[q]), s.x.Row(q)); err != nil {
				t.Fatal(err)
			}
		}
		photo, out := x.Row(0), []Member{{"1", s.x.Row(s.first[1])}, {"1", s.x.Row(s.first[1] + 2)}}
		d := m.squaredDistances(matrix.FromSlice(1, x.Cols, photo)).Data
		count, square := m.statsWithout(out, photo, d)
		for i := range 3 {
			var rows []int
			for q := s.first[i]; q < s.first[i+1]; q++ {
				if i != 1 || q != s.first[1] && q != s.first[1]+2 {
					rows = append(rows, q)
				}
			}
			mean := make([]float64, x.Cols)
			for _, q := range rows {
				for k, v := range x.Row(q) {
					mean[k] += float64(v) / float64(len(rows))
				}
			}
			var to, scatter float64
			for k, v := range photo {
				to += (float64(v) - mean[k]) * (float64(v) - mean[k])
			}
			for _, q := range rows {
				for k, v := range x.Row(q) {
					scatter += (float64(v) - mean[k]) * (float64(v) - mean[k])
				}
			}
			if count[i] != float64(len(rows)) || math.Abs(float64(d[i])-to) > 1e-4*(1+to) ||
				i != 1 && math.Abs(square[i]-scatter) > 1e-4*scatter {
				t.Errorf("%v, class %d: %v items at %v, scatter %v; want %d at %v, %v", by, i, count[i], d[i],
					square[i], len(rows), to, scatter)
			}
		}
	}
	m := NewMeans(2, eval.Cosine)
	if m.Add("a", []float32{0, 0}) == nil || m.Add("a", []float32{1}) == nil {
		t.Error("an item without a direction, or of another length")
	}
}

// TestBoundOfShares: the bound of a mean share is at least the mean, and grows with what may have been missed.
func TestBoundOfShares(t *testing.T) {
	classes := make([]ClassScores, 50)
	for i := range classes {
		classes[i] = ClassScores{Scores: []float64{0, float64(i % 10)}, Group: i / 5}
	}
	s := shareAtScore(classes, 9)
	if math.Abs(s.mean-0.05) > 1e-12 || s.largest != 0.5 || s.variance <= 0 {
		t.Errorf("%+v", s)
	}
	last := s.mean
	for _, missed := range []float64{0, 0.6, 0.9} {
		b := s.bound(50, missed, 0.5)
		if !(b > last) {
			t.Errorf("missed %v: %v after %v", missed, b, last)
		}
		last = b
	}
}

// TestSampleOfSingles: among many classes of one photo each, those with several are in the sample, so that photos are
// known in galleries.
func TestSampleOfSingles(t *testing.T) {
	s := drawnGroups(8, 1500, 1, 0, 0)
	var rows []int
	var labels []int64
	for i := range s.numIdentities() {
		n := 1
		if i%100 == 0 {
			n = 2
		}
		for k := range n {
			rows, labels = append(rows, s.first[i]+k), append(labels, int64(i))
		}
	}
	c, err := Calibrate(t.Context(), copyRows(s.x, rows), labels, Options{})
	if err != nil {
		t.Fatal(err)
	}
	several := 0
	for _, i := range c.Score.SampleClass {
		if i%100 == 0 {
			several++
		}
	}
	if several != 15 {
		t.Errorf("%d of 15 classes with two photos are in the sample", several)
	}
	if _, err := Read(strings.NewReader(encodeText(t, c))); err != nil {
		t.Error(err)
	}
}
