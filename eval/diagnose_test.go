package eval

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/matrix"
)

// drawModel draws an embedding of coarse classes with three fine ones each: classes
// lie far apart, the fine ones inside at a distance of inside, rows around them at
// noise.
func drawModel(seed uint64, coarse, per, d int, inside, noise float64) DiagnosisInput {
	rng := rand.New(rand.NewPCG(seed, 1))
	n := coarse * 3 * per
	in := DiagnosisInput{X: matrix.New(n, d)}
	direction := func(size float64) []float64 {
		v := make([]float64, d)
		var sum float64
		for j := range v {
			v[j] = rng.NormFloat64()
			sum += v[j] * v[j]
		}
		for j := range v {
			v[j] *= size / math.Sqrt(sum)
		}
		return v
	}
	row := 0
	for c := range coarse {
		centre := direction(10)
		for f := range 3 {
			offset := direction(inside)
			for range per {
				for j := range d {
					in.X.Row(row)[j] = float32(centre[j] + offset[j] + noise*rng.NormFloat64())
				}
				in.Labels = append(in.Labels, int64(c))
				in.Fine = append(in.Fine, int64(3*c+f))
				row++
			}
		}
	}
	return in
}

func runDiagnosis(t *testing.T, in DiagnosisInput, opt DiagnosisOptions) *Diagnosis {
	t.Helper()
	r, err := Diagnose(context.Background(), in, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRunTellsCollapsedFromStructured(t *testing.T) {
	for _, d := range []Distance{Euclidean, Cosine} {
		collapsed := runDiagnosis(t, drawModel(1, 6, 30, 16, 0, 0.15), DiagnosisOptions{Distance: d})
		structured := runDiagnosis(t, drawModel(1, 6, 30, 16, 5, 0.3), DiagnosisOptions{Distance: d})
		if collapsed.Verdict.State != Collapsed || structured.Verdict.State != Structured {
			t.Errorf("%v: verdicts %q (%v) and %q (%v)", d, collapsed.Verdict.State, collapsed.Verdict.Reasons,
				structured.Verdict.State, structured.Verdict.Reasons)
		}
		for _, c := range []struct {
			name          string
			collapsed, ok float64 // the collapsed one must be lower
		}{
			{"compactness", collapsed.Compactness, structured.Compactness},
			{"share of classes with several modes", collapsed.DividedShare, structured.DividedShare},
			{"modes", collapsed.MeanSubClasses, structured.MeanSubClasses},
			{"alignment", collapsed.Alignment, structured.Alignment},
			{"fine recall", option.OrDefault(collapsed.FineRecall, 0), option.OrDefault(structured.FineRecall, 0)},
			{"fine gain", option.OrDefault(collapsed.FineGain, 0), option.OrDefault(structured.FineGain, 0)},
			{"hardest triplet", collapsed.Triplets.Hardest, structured.Triplets.Hardest + 1e-9},
			{"NMI by fine labels with three clusters a class", option.OrDefault(collapsed.Curve[2].FineNMI, 0),
				option.OrDefault(structured.Curve[2].FineNMI, 0)},
			{"effective rank of all rows", collapsed.Spectrum.EffectiveRank, structured.Spectrum.EffectiveRank},
			{"diameter", collapsed.Classes[0].Diameter / collapsed.Spread,
				structured.Classes[0].Diameter / structured.Spread},
		} {
			if c.collapsed >= c.ok {
				t.Errorf("%v, %s: %g collapsed, %g structured", d, c.name, c.collapsed, c.ok)
			}
		}
		if structured.MeanSubClasses != 3 || collapsed.MeanSubClasses != 1 {
			t.Errorf("%v: %g modes in classes of three groups, %g in classes of one", d, structured.MeanSubClasses,
				collapsed.MeanSubClasses)
		}
	}
}

func TestRunSaysWhenClassesAreNotSeparated(t *testing.T) {
	in := drawModel(2, 4, 20, 8, 0, 100)
	if r := runDiagnosis(t, in, DiagnosisOptions{}); r.Verdict.State != NotSeparated {
		t.Errorf("noise is %q: %v", r.Verdict.State, r.Verdict.Reasons)
	}
}

// Every figure of the triplets, of the classes and of the whole against plain
// loops over all rows.
//
// Long: every figure is defined from the same few sums.
func TestRunAgreesWithLoops(t *testing.T) {
	in := drawModel(3, 5, 7, 6, 4, 1.5)
	r := runDiagnosis(t, in, DiagnosisOptions{Margin: 3})
	n := in.X.Rows
	sq := func(i, j int) float64 {
		var s float64
		for c := range in.X.Cols {
			e := float64(in.X.At(i, c)) - float64(in.X.At(j, c))
			s += e * e
		}
		return s
	}
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
			t.Errorf("%s: %.8g, by loops %.8g", name, got, want)
		}
	}
	var all, same, pairs, samePairs, uniform float64
	for i := range n {
		for j := range n {
			if i != j {
				all += sq(i, j)
				pairs++
				if in.Labels[i] == in.Labels[j] {
					same += sq(i, j)
					samePairs++
				}
			}
		}
	}
	spread2 := all / float64(2*n*n)
	near("spread", r.Spread, math.Sqrt(spread2))
	near("alignment", r.Alignment, same/samePairs/spread2)
	for i := range n {
		for j := range n {
			if i != j {
				uniform += math.Exp(-2*sq(i, j)/spread2) / pairs
			}
		}
	}
	near("uniformity", r.Uniformity, math.Log(uniform))

	var violated, active, total, hardest, easy, hard float64
	for a := range n {
		nearPos, farPos, nearNeg := math.Inf(1), 0.0, math.Inf(1)
		for p := range n {
			switch {
			case p == a:
			case in.Labels[p] == in.Labels[a]:
				nearPos, farPos = min(nearPos, sq(a, p)), max(farPos, sq(a, p))
				for k := range n {
					if in.Labels[k] != in.Labels[a] {
						total++
						if sq(a, p) > sq(a, k) {
							violated++
						}
						if sq(a, p)-sq(a, k)+3 > 0 {
							active++
						}
					}
				}
			default:
				nearNeg = min(nearNeg, sq(a, p))
			}
		}
		hardest = max(hardest, math.Sqrt(farPos)-math.Sqrt(nearNeg))
		if nearPos < nearNeg {
			easy += 1 / float64(n)
		}
		if farPos < nearNeg {
			hard += 1 / float64(n)
		}
		near("similarity of the hard negative", r.Triplets.HardNegative[a], max(-1, 1-nearNeg/spread2/2))
		near("similarity of the easy positive", r.Triplets.EasyPositive[a], max(-1, 1-nearPos/spread2/2))
		near("similarity of the hard positive", r.Triplets.HardPositive[a], max(-1, 1-farPos/spread2/2))
	}
	near("violated", r.Triplets.Violated, violated/total)
	near("active", r.Triplets.Active, active/total)
	near("hardest", r.Triplets.Hardest, hardest)
	near("easy correct", r.Triplets.EasyCorrect, easy)
	near("hard correct", r.Triplets.HardCorrect, hard)

	for _, c := range r.Classes {
		var diameter, intra, count float64
		other := map[int64][2]float64{}
		for i := range n {
			if in.Labels[i] != c.Label {
				continue
			}
			for j := range n {
				if in.Labels[j] == c.Label {
					diameter = max(diameter, math.Sqrt(sq(i, j)))
					if i != j {
						intra += sq(i, j)
						count++
					}
					continue
				}
				o := other[in.Labels[j]]
				other[in.Labels[j]] = [2]float64{o[0] + sq(i, j), o[1] + 1}
			}
		}
		nearest := math.Inf(1)
		for _, o := range other {
			nearest = min(nearest, math.Sqrt(o[0]/o[1]))
		}
		near("diameter", c.Diameter, diameter)
		near("intra", c.Intra, math.Sqrt(intra/count))
		near("other", c.NearestDistance, nearest)
	}
}

func TestSpectrum(t *testing.T) {
	// Independent axes of standard deviation 4, 2 and 1, and one that is constant.
	rng := rand.New(rand.NewPCG(4, 4))
	x := matrix.New(20000, 4)
	for i := range x.Rows {
		r := x.Row(i)
		r[0], r[1], r[2], r[3] = float32(4*rng.NormFloat64()), float32(2*rng.NormFloat64()), float32(rng.NormFloat64()),
			7
	}
	s, err := spectrum(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{4, 2, 1} {
		if math.Abs(s.Values[i]-want) > 0.05*want {
			t.Errorf("value %d is %g, want %g", i, s.Values[i], want)
		}
	}
	h := 4./7*math.Log(7./4) + 2./7*math.Log(7./2) + 1./7*math.Log(7)
	if math.Abs(s.EffectiveRank-math.Exp(h)) > 0.05 || s.Values[3] > 0.01 || s.Axes90 != 2 {
		t.Errorf("effective rank %g, want %g; last value %g; %d axes hold 90%%", s.EffectiveRank, math.Exp(h),
			s.Values[3], s.Axes90)
	}
	if math.Abs(s.Decay-math.Log(2)) > 0.03 {
		t.Errorf("decay %g, want ln 2", s.Decay)
	}
	// Fewer rows than axes: the Gram matrix has the same values.
	wide, err := spectrum(t.Context(), x.RowRange(0, 3))
	if err != nil {
		t.Fatal(err)
	}
	tall, err := spectrum(t.Context(), copyRows(x, []int{0, 1, 2}, make([]float64, 4), 1))
	if err != nil {
		t.Fatal(err)
	}
	if len(wide.Values) != 3 || !reflect.DeepEqual(wide, tall) {
		t.Errorf("%v and %v", wide, tall)
	}
}

func TestRunRejects(t *testing.T) {
	two := matrix.FromSlice(4, 1, []float32{1, 2, 3, 4})
	for _, c := range []struct {
		name, want string
		in         DiagnosisInput
		opt        DiagnosisOptions
	}{
		{"one class", "at least two classes", DiagnosisInput{X: two, Labels: []int64{5, 5, 5, 5}}, DiagnosisOptions{}},
		{"singletons", "classes of at least two", DiagnosisInput{X: two, Labels: []int64{1, 2, 3, 4}},
			DiagnosisOptions{}},
		{"equal rows", "collapsed to a single point", DiagnosisInput{X: matrix.New(4, 1), Labels: []int64{1, 1, 2, 2}},
			DiagnosisOptions{}},
		{"NaN", "row 0 of the query embeddings holds NaN",
			DiagnosisInput{X: matrix.FromSlice(2, 1, []float32{float32(math.NaN()), 1}), Labels: []int64{1, 1}},
			DiagnosisOptions{}},
		{"counts", "3 query labels", DiagnosisInput{X: two, Labels: []int64{1, 2, 3}}, DiagnosisOptions{}},
		{"fine counts", "in column 1", DiagnosisInput{X: two, Labels: []int64{1, 1, 2, 2}, Fine: []int64{1}},
			DiagnosisOptions{}},
		{"dot", "not dot", DiagnosisInput{X: two, Labels: []int64{1, 1, 2, 2}}, DiagnosisOptions{Distance: Dot}},
	} {
		_, err := Diagnose(context.Background(), c.in, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// Degenerate classes must not leave NaN or infinity in the result: JSON would
// refuse it.
func TestRunOnDegenerateClasses(t *testing.T) {
	for name, in := range map[string]DiagnosisInput{
		"a class of one": {X: matrix.FromSlice(5, 2, []float32{0, 0, 0, 1, 5, 5, 5, 6, 9, 9}),
			Labels: []int64{1, 1, 2, 2, 3}, Fine: []int64{1, 2, 3, 4, 5}},
		"points": {X: matrix.FromSlice(4, 2, []float32{1, 1, 1, 1, 2, 2, 2, 2}),
			Labels: []int64{-1, -1, 1 << 60, 1 << 60}},
		"classes at one place": {X: matrix.FromSlice(6, 1, []float32{0, 0, 0, 0, 5, 5}),
			Labels: []int64{1, 1, 2, 2, 3, 3}},
		"far from the origin": {X: matrix.FromSlice(4, 1, []float32{1e6, 1e6 + 1, 1e6 + 4, 1e6 + 5}),
			Labels: []int64{1, 1, 2, 2}, Fine: []int64{1, 1, 2, 2}},
		"classes of ten equal": {X: matrix.FromSlice(20, 1, append(make([]float32, 10), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)),
			Labels: append(make([]int64, 10), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)},
		"more axes than rows": {X: matrix.FromSlice(4, 5,
			[]float32{1, 2, 3, 4, 5, 1, 2, 3, 4, 6, 9, 2, 3, 4, 5, 9, 2, 3, 4, 6}), Labels: []int64{1, 1, 2, 2}},
		"a zero row, by cosines": {X: matrix.FromSlice(4, 2, []float32{0, 0, 1, 0, 0, 1, 1, 1}),
			Labels: []int64{1, 1, 2, 2}},
	} {
		for _, d := range []Distance{Euclidean, Cosine} {
			r, err := Diagnose(context.Background(), in, DiagnosisOptions{Distance: d})
			if err != nil {
				if d == Cosine && strings.Contains(err.Error(), "single point") {
					continue // all in one direction
				}
				t.Errorf("%s, %v: %v", name, d, err)
				continue
			}
			if _, err := json.Marshal(r); err != nil {
				t.Errorf("%s, %v: %v", name, d, err)
			}
		}
	}
}

func TestRunIsDeterministic(t *testing.T) {
	in := drawModel(6, 5, 40, 8, 2, 0.5)
	opt := DiagnosisOptions{Anchors: 50, PerClass: 30, Seed: 3}
	a := runDiagnosis(t, in, opt)
	old := runtime.GOMAXPROCS(1)
	b := runDiagnosis(t, in, opt)
	runtime.GOMAXPROCS(old)
	if !reflect.DeepEqual(a, b) {
		t.Error("results differ between one core and several")
	}
	if a.Triplets.Anchors != 50 || len(a.Notes) != 1 {
		t.Errorf("%d anchors, notes %v", a.Triplets.Anchors, a.Notes)
	}
}
