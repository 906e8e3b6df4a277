package decide

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// drawClusters draws classes whose spread and whose closeness to others are heavy-tailed:
// every tenth class is a near twin of another one.
func drawClusters(seed uint64, classes, photos, dim int) (*matrix.Dense, []int64) {
	rng := rand.New(rand.NewPCG(seed, 99))
	x := matrix.New(classes*photos, dim)
	var labels []int64
	centre := make([]float64, dim)
	for c := range classes {
		spread := 0.25 * math.Exp(0.5*rng.NormFloat64())
		if c%10 != 1 {
			for k := range centre {
				centre[k] = rng.NormFloat64()
			}
		} else {
			for k := range centre {
				centre[k] += 0.4 * rng.NormFloat64()
			}
		}
		for p := range photos {
			heavy := spread / math.Sqrt(rng.ExpFloat64()+0.1)
			for k := range centre {
				x.Row(c*photos + p)[k] = float32(centre[k] + heavy*rng.NormFloat64())
			}
			labels = append(labels, int64(c))
		}
	}
	return x, labels
}

// TestPromise: over seeds, the rates of other classes lie under the promised ones in 95
// of 100 cases or more, and not because nothing matches.
func TestPromise(t *testing.T) {
	seeds := 40
	if testing.Short() {
		seeds = 8
	}
	cases, broken, match := 0, 0, 0.0
	openCases, openBroken, known := 0, 0, 0.0
	var ece, coverage float64
	for seed := range seeds {
		x, labels := drawClusters(uint64(seed), 120, 8, 8)
		got, err := Validate(t.Context(), x, labels, ValidationOptions{FMR: []float64{1e-2, 1e-3}, FPIR: []float64{0.1},
			Galleries: []int{10, 50}, Coverage: []float64{0.9}}, Options{Seed: uint64(seed)})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range got.Matches {
			if m.RefusalReason != "" {
				t.Fatal(m.RefusalReason)
			}
			cases++
			match += m.TMR
			if m.FMR > m.Rate {
				broken++
			}
		}
		for _, o := range got.OpenSets {
			if o.RefusalReason != "" {
				t.Fatal(o.RefusalReason)
			}
			openCases++
			known += o.TPIR
			if o.FPIR > o.Rate {
				openBroken++
			}
		}
		ece += got.Reliability.ECE / float64(seeds)
		coverage += got.Coverages[0].Measured / float64(seeds)
	}
	t.Logf("%d of %d rates broken, true matches %.3f; strangers: %d of %d, known %.3f; ece %.3f, coverage %.3f", broken,
		cases, match/float64(cases), openBroken, openCases, known/float64(openCases), ece, coverage)
	if float64(broken) > 0.05*float64(cases) || float64(openBroken) > 0.05*float64(openCases) {
		t.Error("promises are broken in more than one case of twenty")
	}
	if match/float64(cases) < 0.2 || known/float64(openCases) < 0.2 {
		t.Error("kept by matching nothing")
	}
	if ece > 0.05 {
		t.Errorf("the probability is off by %.3f", ece)
	}
	// 60 classes a seed: the standard error of the mean is at most sqrt(0.09 / (60 seeds)).
	if slack := 3 * math.Sqrt(0.09/float64(60*seeds)); coverage < 0.9-slack || coverage > 0.96 {
		t.Errorf("coverage %.3f", coverage)
	}
}

// TestAgainstLoops compares rates with loops over all pairs in float64.
func TestAgainstLoops(t *testing.T) {
	for _, by := range []eval.Distance{eval.Euclidean, eval.Cosine, eval.Dot} {
		x, labels := drawClusters(3, 12, 5, 6)
		c, err := Calibrate(t.Context(), x, labels, Options{Distance: by})
		if err != nil {
			t.Fatal(err)
		}
		k := len(c.Distances) / 3
		d := c.Distances[k] // a few pairs may be rounded across it
		var same, different, near, sames, differents float64
		for i := range labels {
			within := false
			for j := range labels {
				if i == j {
					continue
				}
				in := rowDistance(by, x.Row(i), x.Row(j)) <= d
				if labels[i] == labels[j] {
					sames++
					if in {
						same++
						within = true
					}
				} else {
					differents++
					if in {
						different++
					}
				}
			}
			if within {
				near++
			}
		}
		n := float64(len(labels))
		if math.Abs(same/sames-c.TrueMatch[k]) > 4/sames ||
			math.Abs(different/differents-c.FalseMatch[k]) > 4/differents || math.Abs(near/n-c.NearestMatch[k]) > 2/n {
			t.Errorf("%v: %v %v %v, loops say %v %v %v", by, c.TrueMatch[k], c.FalseMatch[k], c.NearestMatch[k],
				same/sames,
				different/differents, near/n)
		}
		if c.Pairs != 66 || c.PerClass != 5 {
			t.Errorf("%v pairs of classes, %v photos", c.Pairs, c.PerClass)
		}
		// A gallery of all others: strangers are those with any other photo within.
		all := c.Strangers[indexOf(c.Strangers, 11)]
		for q := range c.Distances {
			if all.Rate[q] < c.FalseMatch[q] || all.Bound[q] < all.Rate[q] || c.Bound[q] < c.FalseMatch[q] {
				t.Fatalf("%v: rates and bounds are out of order at %d", by, q)
			}
		}
	}
}

func indexOf(s []Strangers, classes int) int {
	for i := range s {
		if s[i].Classes == classes {
			return i
		}
	}
	return -1
}

func rowDistance(by eval.Distance, x, y []float32) float64 {
	var xy, xx, yy, dd float64
	for k := range x {
		a, b := float64(x[k]), float64(y[k])
		xy, xx, yy, dd = xy+a*b, xx+a*a, yy+b*b, dd+(a-b)*(a-b)
	}
	switch by {
	case eval.Euclidean:
		return math.Sqrt(dd)
	case eval.Cosine:
		return 1 - xy/math.Sqrt(xx*yy)
	}
	return -xy
}

// TestMet: drawing galleries is counted, not tried.
func TestMet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range [][3]int{{10, 0, 3}, {10, 2, 3}, {10, 8, 3}, {10, 1, 10}, {7, 3, 1}} {
		hit := 0
		const times = 20_000
		for range times {
			for _, v := range rng.Perm(c[0])[:c[2]] {
				if v < c[1] {
					hit++
					break
				}
			}
		}
		if got := drawProbability(c[0], c[1], c[2]); math.Abs(got-float64(hit)/times) > 0.02 {
			t.Errorf("met%v = %v, drawn %v", c, got, float64(hit)/times)
		}
	}
}

// TestKeys: keys are in the order of values, and a value is at most the largest of its
// key.
func TestKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	last, at := float32(math.Inf(-1)), uint32(0)
	values := []float32{-3e38, -1, -0.5, float32(math.Copysign(0, -1)), 0, 1e-40, 1e-30, 0.5, 1, 3e38}
	for i, v := range values {
		if k := orderKey(v); k < at || maxValueOf(k) < float64(v) && v > 1e-37 {
			t.Errorf("%v after %v: key %d, largest %v", v, last, k, maxValueOf(k))
		} else {
			last, at = values[i], k
		}
	}
	for range 1000 {
		v := float32(rng.NormFloat64() * math.Exp(10*rng.NormFloat64()))
		if a := maxValueOf(orderKey(v)); a < float64(v) || a-float64(v) > math.Abs(float64(v))/2000 {
			t.Fatalf("%v: largest of its key %v", v, a)
		}
	}
}

func TestBounds(t *testing.T) {
	// Nothing seen: 95 % of an exponential distribution is 3.0, where new classes are half as many 4.42.
	if got := upperBoundUnseen(1e-3); math.Abs(got/1e-3-4.420) > 0.01 {
		t.Errorf("nothing seen: %v", got)
	}
	last := 0.0
	for _, v := range []float64{0, 1e-6, 1e-5, 1e-4, 1e-3} {
		got := upperBound(0.01, v)
		if got < 0.01 || got < last {
			t.Errorf("variance %v: bound %v after %v", v, got, last)
		}
		last = got
	}
	for _, rate := range []float64{1e-2, 1e-3, 1e-4, 1e-5, 1e-6} {
		n := SampleSize(rate)
		if MinimumFMR(n) > rate || n > minClasses && MinimumFMR(n-1) <= rate {
			t.Errorf("%v takes %d classes, which carry %v", rate, n, MinimumFMR(n))
		}
	}
	if SampleSize(1e-3) != 26 && SampleSize(1e-3) != 25 {
		t.Errorf("1e-3 takes %d", SampleSize(1e-3))
	}
}

func TestRefusals(t *testing.T) {
	ctx := t.Context()
	x, labels := drawClusters(1, 50, 6, 4)
	nan := matrix.New(x.Rows, x.Cols)
	copy(nan.Data, x.Data)
	nan.Row(7)[1] = float32(math.NaN())
	zero := matrix.New(x.Rows, x.Cols)
	copy(zero.Data, x.Data)
	clear(zero.Row(3))
	huge := matrix.New(x.Rows, x.Cols)
	for i, v := range x.Data {
		huge.Data[i] = v * 1e25
	}
	one := make([]int64, x.Rows)
	single := make([]int64, x.Rows)
	for i := range single {
		single[i] = int64(i)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for _, e := range []struct {
		ctx    context.Context
		x      *matrix.Dense
		labels []int64
		opt    Options
		want   string
	}{
		{ctx, nil, nil, Options{}, "classes that training did not see"},
		{ctx, matrix.New(0, 3), nil, Options{}, "no embeddings"},
		{ctx, x, labels[1:], Options{}, "300 embeddings, but 299 labels"},
		{ctx, x, one, Options{}, "1 classes with two"},
		{ctx, x, single, Options{}, "0 classes with two"},
		{ctx, matrix.New(x.Rows, x.Cols), labels, Options{}, "0 classes with two"}, // all are copies
		{ctx, nan, labels, Options{}, "NaN"},
		{ctx, zero, labels, Options{Distance: eval.Cosine}, "no direction"},
		{ctx, huge, labels, Options{}, "too large"},
		{ctx, x, labels, Options{Distance: 9}, "Distance(9)"},
		{cancelled, x, labels, Options{}, "context canceled"},
	} {
		if _, err := Calibrate(e.ctx, e.x, e.labels, e.opt); err == nil || !strings.Contains(err.Error(), e.want) {
			t.Errorf("%q: %v", e.want, err)
		}
	}
	c, err := Calibrate(ctx, x, labels, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var refused *RateError
	if _, err := c.Threshold(1e-5); !errors.As(err, &refused) || refused.ClassesNeeded != 246 ||
		!strings.Contains(err.Error(), "1e-05 cannot be promised from 50 classes: 246 are needed") {
		t.Errorf("1e-5 of 50 classes: %v", err)
	}
	for _, rate := range []float64{0, 1, -1, math.NaN()} {
		if _, err := c.Threshold(rate); err == nil {
			t.Errorf("a rate of %v", rate)
		}
	}
	if _, err := c.CoverageDistance(0.99, 3); err == nil || !strings.Contains(err.Error(), "needs 99 classes") {
		t.Errorf("coverage of 99 %% from 50 classes: %v", err)
	}
	if _, err := c.UnknownThreshold(0.05, Gallery{Classes: 30_000_000, Items: 40_000_000}); err == nil {
		t.Error("a gallery of thirty million")
	}
	if _, err := c.UnknownThreshold(0.05, Gallery{}); err == nil {
		t.Error("no gallery")
	}
}

// TestPhotosOfTwoClasses: every photo under two labels leaves nothing to tell apart.
func TestPhotosOfTwoClasses(t *testing.T) {
	x, labels := drawClusters(1, 50, 6, 4)
	twice := matrix.New(2*x.Rows, x.Cols)
	copy(twice.Data, x.Data)
	copy(twice.Data[len(x.Data):], x.Data)
	both := append([]int64{}, labels...)
	for _, l := range labels {
		both = append(both, l+1000)
	}
	c, err := Calibrate(t.Context(), twice, both, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var refused *RateError
	if _, err := c.Threshold(1e-3); !errors.As(err, &refused) || !refused.Overlapped ||
		!strings.Contains(err.Error(), "at distance 0") {
		t.Errorf("photos in two classes: %v", err)
	}
}

// TestCoverOfFewLargeClasses: where few classes have many photos, coverage goes by the
// photos that enough classes have.
func TestCoverOfFewLargeClasses(t *testing.T) {
	x, labels := drawClusters(6, 60, 12, 4)
	for i := range labels { // twelve classes of 24 photos, and 36 of 12
		if labels[i] < 24 {
			labels[i] &^= 1
		}
	}
	c, err := Calibrate(t.Context(), x, labels, Options{})
	if err != nil {
		t.Fatal(err)
	}
	many, err := c.CoverageDistance(0.95, 23)
	if err != nil {
		t.Fatal(err)
	}
	few, err := c.CoverageDistance(0.95, 10)
	if err != nil || many != few {
		t.Errorf("%v: %v with many photos, %v with ten", err, many, few)
	}
	if one, err := c.CoverageDistance(0.95, 1); err != nil || one <= few {
		t.Errorf("%v: %v with one photo, %v with ten", err, one, few)
	}
}

// TestCopies: copies of photos in their class are not matches that were found.
func TestCopies(t *testing.T) {
	x, labels := drawClusters(1, 20, 4, 4)
	twice := matrix.New(2*x.Rows, x.Cols)
	copy(twice.Data, x.Data)
	copy(twice.Data[len(x.Data):], x.Data)
	a, err := Calibrate(t.Context(), x, labels, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Calibrate(t.Context(), twice, append(append([]int64{}, labels...), labels...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if b.Copies != x.Rows {
		t.Errorf("%d copies", b.Copies)
	}
	b.Copies, b.InputPhotos = a.Copies, a.InputPhotos
	if encodeText(t, a) != encodeText(t, b) {
		t.Error("copies change the calibration")
	}
}

func encodeText(t *testing.T, c *Calibration) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSameBits: the order of rows, which is the set's, and the number of threads change
// nothing, and a class cut by tiles is whole.
func TestSameBits(t *testing.T) {
	x, labels := drawClusters(2, 15, 31, 5)
	for i := range labels { // one class larger than a tile
		if labels[i] < 6 {
			labels[i] = 0
		}
	}
	a, err := Calibrate(t.Context(), x, labels, Options{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	old := runtime.GOMAXPROCS(1)
	b, err := Calibrate(t.Context(), x, labels, Options{Seed: 5})
	runtime.GOMAXPROCS(old)
	if err != nil {
		t.Fatal(err)
	}
	if encodeText(t, a) != encodeText(t, b) {
		t.Error("the number of threads changes the calibration")
	}
	if a.Pairs != 10*9/2 {
		t.Errorf("one large class: %v pairs of classes", a.Pairs)
	}
}

func TestThinned(t *testing.T) {
	x, labels := drawClusters(2, 30, 10, 3)
	c, err := Calibrate(t.Context(), x, labels, Options{Rows: 100})
	if err != nil || c.Photos > 100 || c.Classes != 30 || c.InputPhotos != 300 {
		t.Errorf("%v: %+v", err, c)
	}
}

func newNetwork(name, fingerprint, preparation string) embedding.Network {
	return embedding.Network{Name: name, Fingerprint: fingerprint, Preparation: preparation}
}

func TestFile(t *testing.T) {
	x, labels := drawClusters(1, 20, 4, 4)
	c, err := Calibrate(t.Context(), x, labels, Options{Source: newNetwork("net", "abc", "64 x 64")})
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/" + FileName
	if err := c.Save(path); err != nil {
		t.Fatal(err)
	}
	d, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if encodeText(t, c) != encodeText(t, d) {
		t.Error("reading changes the calibration")
	}
	for _, e := range []struct {
		of   embedding.Network
		by   string
		dim  int
		want string
	}{
		{newNetwork("net", "abc", "64 x 64"), "euclidean", 4, ""},
		{embedding.Network{}, "euclidean", 4, ""},
		{newNetwork("other", "abd", "64 x 64"), "euclidean", 4, "another network"},
		{newNetwork("net", "abc", "32 x 32"), "euclidean", 4, "another network"},
		{newNetwork("net", "abc", "64 x 64"), "cosine", 4, "distance"},
		{newNetwork("net", "abc", "64 x 64"), "euclidean", 5, "numbers"},
	} {
		if err := d.CheckNetwork(e.of, e.by, e.dim); (err == nil) != (e.want == "") ||
			err != nil && !strings.Contains(err.Error(), e.want) {
			t.Errorf("%v: %v", e, err)
		}
	}
	good := encodeText(t, c)
	for _, change := range [][2]string{{`"format":1`, `"format":2`}, {`"classes":20`, `"classes":1`},
		{`"distances":[`, `"distances":[1e9,`}, {`"bound":[`, `"bound":[2,`}, {`"dim":4`, `"dim":0`}, {`{`, ``}} {
		if _, err := Read(strings.NewReader(strings.Replace(good, change[0], change[1], 1))); err == nil {
			t.Errorf("%v is read", change)
		}
	}
}

// FuzzRead: what is read answers every question without a panic, and bounds hold what a
// calibration promises of itself.
func FuzzRead(f *testing.F) {
	x, labels := drawClusters(1, 12, 3, 2)
	c, err := Calibrate(f.Context(), x, labels, Options{})
	if err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"format":1,"distance":"euclidean"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		if th, err := c.Threshold(0.1); err == nil && (th.Bound > 0.1 || math.IsNaN(th.Distance)) {
			t.Errorf("promised 0.1: %+v", th)
		}
		for _, d := range []float64{-1, 0, 1, 1e300} {
			if p := c.MatchProbability(d, 0.5); !(p >= 0 && p <= 1) {
				t.Errorf("probability %v", p)
			}
		}
		if c.Dim > 1<<10 {
			return
		}
		x := matrix.New(3, c.Dim)
		for k := range x.Data {
			x.Data[k] = float32(k + 1)
		}
		g, err := MeasureGallery(t.Context(), c, x, []string{"a", "a", "b"}, c.Distance)
		if err != nil {
			return
		}
		d, err := c.Decider(g, IdentifyOptions{Coverage: 0.8, FPIR: 0.3})
		if err != nil {
			return
		}
		got, err := d.Decide([]Photo{{Vector: x.Row(0), Neighbours: []Neighbour{{"a", 0.1}, {"b", 0.2}}}})
		if err == nil && !(got.Probability >= 0 && got.Probability <= 1) {
			t.Errorf("%+v", got)
		}
	})
}
