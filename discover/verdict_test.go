package discover

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

// shapes are classes of one kind that are no normal clouds. Each is made of one.
var shapes = map[string]func(rng *rand.Rand, x *matrix.Dense){
	"normal": func(*rand.Rand, *matrix.Dense) {},
	"t with 3 degrees": func(rng *rand.Rand, x *matrix.Dense) {
		for i := range x.Data {
			a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
			x.Data[i] /= float32(math.Sqrt((a*a + b*b + c*c) / 3))
		}
	},
	"exponential": func(rng *rand.Rand, x *matrix.Dense) {
		for i := range x.Data {
			x.Data[i] = float32(rng.ExpFloat64())
		}
	},
	"lognormal scale": func(rng *rand.Rand, x *matrix.Dense) {
		for i := range x.Rows {
			stretch(x.Row(i), math.Exp(rng.NormFloat64()))
		}
	},
	"sphere with varying spread": func(rng *rand.Rand, x *matrix.Dense) {
		for i := range x.Rows {
			stretch(x.Row(i), math.Exp(0.7*rng.NormFloat64())/math.Sqrt(float64(x.Cols)))
			x.Row(i)[0]++
		}
		copy(x.Data, exact.Normalized(x).Data)
	},
	"cube": func(rng *rand.Rand, x *matrix.Dense) {
		for i := range x.Data {
			x.Data[i] = rng.Float32()
		}
	},
	"one outlier": func(_ *rand.Rand, x *matrix.Dense) { x.Row(0)[0] += 12 },
	"three mislabelled": func(_ *rand.Rand, x *matrix.Dense) {
		for i := range 3 {
			x.Row(i)[0] += 12
		}
	},
	"five copies": func(_ *rand.Rand, x *matrix.Dense) {
		for i := range 5 {
			copy(x.Row(i), x.Row(0))
		}
	},
}

func stretch(row []float32, by float64) {
	for j := range row {
		row[j] *= float32(by)
	}
}

// A class of one kind is divided no more often than the level says, whatever its shape
// and whatever stands beside it: by itself, where nothing can be learned from others. Of
// each shape in 2, 8 and 64 dimensions there are five classes, or twenty with KINDRED_LONG.
func TestShapes(t *testing.T) {
	each, most := 5, 3 // of Binomial(15, 0.05) more has probability 0.005
	if os.Getenv("KINDRED_LONG") != "" {
		each, most = 20, 8 // of Binomial(60, 0.05) 0.003, too
	}
	for name, shape := range shapes {
		var wrong [3]int
		for i, d := range []int{2, 8, 64} {
			for k := range each {
				rng := rand.New(rand.NewPCG(uint64(k), 77))
				x, _ := drawClouds(rng, 1, 60, d, 0)
				shape(rng, x)
				v, err := Judge(t.Context(), x, make([]int64, x.Rows), Options{})
				if err != nil {
					t.Fatal(err)
				}
				if v.Calibrated || v.NumTested != 1 {
					t.Fatalf("%+v", v)
				}
				wrong[i] += v.NumDivided
			}
		}
		if wrong[0]+wrong[1]+wrong[2] > most {
			t.Errorf("%s: %v of %d each are divided at the level of 5 %%", name, wrong, each)
		}
	}
}

// curved are classes in one piece whose halves look apart on every line across them.
var curved = map[string]func(u, v float64) [3]float64{
	"arc":   func(u, _ float64) [3]float64 { return spiralPoint(0.8*u, 1, 0) },
	"ring":  func(u, _ float64) [3]float64 { return spiralPoint(u, 1, 0) },
	"helix": func(u, _ float64) [3]float64 { return spiralPoint(2*u, 1, 2*u) },
	"line with dense ends": func(u, _ float64) [3]float64 {
		return [3]float64{math.Cos(math.Pi * u)}
	},
	"torus": func(u, v float64) [3]float64 {
		return spiralPoint(u, 1+0.4*math.Cos(2*math.Pi*v), 0.4*math.Sin(2*math.Pi*v))
	},
}

func spiralPoint(turns, radius, height float64) [3]float64 {
	sin, cos := math.Sincos(2 * math.Pi * turns)
	return [3]float64{radius * cos, radius * sin, height}
}

// The same holds of classes along a curve. The test across the class alone divides 59 of 96 arcs of 80 rows, and 79 of
// 96 helices.
func TestCurves(t *testing.T) {
	const classes, d = 8, 16
	for name, at := range curved {
		wrong := 0
		for _, n := range []int{20, 40, 80} {
			rng := rand.New(rand.NewPCG(uint64(n), 80))
			x, labels := matrix.New(classes*n, d), make([]int64, classes*n)
			for i := range x.Rows {
				labels[i] = int64(i / n)
				copy(x.Row(i), drawNormal(rng, d, 0.05))
				for j, v := range at(rng.Float64(), rng.Float64()) {
					x.Row(i)[j] += float32(v)
				}
			}
			v, err := Judge(t.Context(), x, labels, Options{})
			if err != nil {
				t.Fatal(err)
			}
			wrong += v.NumDivided
		}
		if wrong > 4 { // of Binomial(24, 0.05) more has probability 0.006
			t.Errorf("%s: %d of %d are divided at the level of 5 %%", name, wrong, 3*classes)
		}
	}
}

// The same holds of a dozen classes, whose gaps are counted together.
func TestShapesTogether(t *testing.T) {
	const sets, classes, n = 2, 12, 60
	for name, shape := range shapes {
		for _, d := range []int{2, 8, 64} {
			wrong := 0
			for k := range sets {
				rng := rand.New(rand.NewPCG(uint64(k), 78))
				x, labels := matrix.New(classes*n, d), make([]int64, classes*n)
				for c := range classes {
					one, _ := drawClouds(rng, 1, n, d, 0)
					shape(rng, one)
					copy(x.Data[c*n*d:], one.Data)
					for i := range n {
						labels[c*n+i] = int64(c)
					}
				}
				v, err := Judge(t.Context(), x, labels, Options{})
				if err != nil {
					t.Fatal(err)
				}
				wrong += v.NumDivided
			}
			if wrong > 4 { // of Binomial(24, 0.05) more has probability 0.006
				t.Errorf("%s, %d: %d of %d are divided at the level of 5 %%", name, d, wrong, sets*classes)
			}
		}
	}
}

// The same holds beside classes of several kinds, which are found: no class opens the way for
// another.
func TestShapesBesideSeveral(t *testing.T) {
	const sets, classes, several, n, d = 2, 10, 2, 60, 12
	for name, shape := range shapes {
		wrong, found := 0, 0
		for k := range sets {
			rng := rand.New(rand.NewPCG(uint64(k), 79))
			x, labels := matrix.New(classes*n, d), make([]int64, classes*n)
			for c := range classes {
				one, _ := drawClouds(rng, 1, n, d, 0)
				if c < several {
					one, _ = drawClouds(rng, 4, n/4, d, 3)
				} else {
					shape(rng, one)
				}
				copy(x.Data[c*n*d:], one.Data)
				for i := range n {
					labels[c*n+i] = int64(c)
				}
			}
			v, err := Judge(t.Context(), x, labels, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for c, j := range v.Classes {
				if j.P <= v.Level && c < several {
					found++
				} else if j.P <= v.Level {
					wrong++
				}
			}
		}
		if wrong > 3 || found < sets*several { // of Binomial(16, 0.05) more than 3 has probability 0.007
			t.Errorf("%s: %d of %d of one kind are divided, %d of %d of several", name, wrong,
				sets*(classes-several), found, sets*several)
		}
	}
}

// More rows are no evidence of several kinds: classes of 30 among classes of 20 are left whole.
func TestLargerClasses(t *testing.T) {
	const classes, d = 40, 12
	rng := rand.New(rand.NewPCG(8, 2))
	var labels []int64
	for c := range classes {
		for range 20 + 10*(c/30) {
			labels = append(labels, int64(c))
		}
	}
	x := matrix.New(len(labels), d)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	v, err := Judge(t.Context(), x, labels, Options{})
	if err != nil || v.NumDivided > 2 || !v.Calibrated {
		t.Errorf("%v, %v", v, err)
	}
}

// A class whose P is the level itself holds several kinds.
func TestAtTheLevel(t *testing.T) {
	x, _ := drawClouds(rand.New(rand.NewPCG(4, 21)), 3, 20, 2, 20)
	v, err := Judge(t.Context(), x, make([]int64, x.Rows), Options{})
	if err != nil || v.NumDivided != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
	p := v.Classes[0].P
	for _, level := range []float64{p, math.Nextafter(p, 0)} {
		v, err := Judge(t.Context(), x, make([]int64, x.Rows), Options{Level: level})
		if err != nil || v.Classes[0].P != p || (v.NumDivided == 1) != (level == p) {
			t.Errorf("at the level %g: %+v, %v, P was %g", level, v, err, p)
		}
	}
}

// Classes come in the order of their labels, however far these are apart.
func TestOrderOfClasses(t *testing.T) {
	labels := []int64{3, math.MaxInt64, -1, math.MinInt64, 0}
	v, err := Judge(t.Context(), matrix.New(5, 1), labels, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var have []int64
	for _, c := range v.Classes {
		if have = append(have, c.Label); c.Tested || c.P != 1 {
			t.Errorf("%+v of one row", c)
		}
	}
	if want := []int64{math.MinInt64, -1, 0, 3, math.MaxInt64}; !slices.Equal(have, want) {
		t.Errorf("%d, want %d", have, want)
	}
}

// At least half of the classes that were tested hold several kinds, or it is not half; and
// only of many it says that the labels are coarse.
func TestHalfOfTheClasses(t *testing.T) {
	for _, c := range []struct {
		several, tested int
		half, coarse    bool
	}{{0, 0, false, false}, {0, 30, false, false}, {1, 2, true, false}, {1, 3, false, false}, {12, 24, true, true},
		{11, 24, false, false}, {12, 23, true, false}, {12, 25, false, false}} {
		v := &Verdict{NumDivided: c.several, NumTested: c.tested}
		if v.IsHalfDivided() != c.half || v.HasCoarseLabels() != c.coarse {
			t.Errorf("%d of %d: half %v, coarse %v", c.several, c.tested, v.IsHalfDivided(), v.HasCoarseLabels())
		}
	}
}

// drawPhotographs draws classes as they are in collections: each of one or several kinds, each
// kind of some series, whose pictures are more alike.
func drawPhotographs(rng *rand.Rand, kinds []int, d int) (x *matrix.Dense, labels, fine []int64) {
	var rows [][]float32
	var kind int64
	for c, n := range kinds {
		for range n {
			centre := drawNormal(rng, d, 3)
			for range 3 + rng.IntN(2) {
				series := drawNormal(rng, d, 0.7)
				for range 7 + rng.IntN(4) {
					row := drawNormal(rng, d, 1)
					for j := range row {
						row[j] += centre[j] + series[j]
					}
					rows, labels, fine = append(rows, row), append(labels, int64(c)), append(fine, kind)
				}
			}
			kind++
		}
	}
	x = matrix.New(len(rows), d)
	for i, r := range rows {
		copy(x.Row(i), r)
	}
	return x, labels, fine
}

func drawNormal(rng *rand.Rand, d int, deviation float64) []float32 {
	out := make([]float32, d)
	for j := range out {
		out[j] = float32(deviation * rng.NormFloat64())
	}
	return out
}

// Where most classes are of one kind, series of photographs are no kinds, classes of several
// kinds are found, and about as many kinds as there are.
func TestLearnsFromTheSet(t *testing.T) {
	kinds := append(slices.Repeat([]int{1}, 31), 2, 3, 3, 4, 4, 5, 6, 6, 8, 10)
	x, labels, _ := drawPhotographs(rand.New(rand.NewPCG(3, 3)), kinds, 24)
	r := findSubClasses(t, x, labels, Options{Resamples: -1})
	if !r.Verdict.Calibrated || r.Verdict.DetectionRate < 0.4 ||
		!strings.Contains(r.Verdict.String(), "%; most classes have none") {
		t.Errorf("%v", &r.Verdict)
	}
	wrong, right, found, there := 0, 0, 0, 0
	for k, c := range r.Classes {
		found, there = found+len(c.SubClasses), there+kinds[k]
		if len(c.SubClasses) > 1 && kinds[k] == 1 {
			wrong++
		} else if len(c.SubClasses) > 1 {
			right++
		}
	}
	if wrong > 4 || right < 8 || found*5 < there*4 || found*5 > there*6 {
		t.Errorf("%d of 31 classes of one kind divided, %d of 10 of several; %d kinds of %d", wrong, right, found,
			there)
	}
	if right+wrong != r.Verdict.NumDivided || r.Verdict.HasCoarseLabels() { // fewer than half
		t.Errorf("%d classes divided: %v", right+wrong, &r.Verdict)
	}
}

// Judge returns for every class the verdict by which Find divides it.
func TestOneVerdict(t *testing.T) {
	several, _ := drawClouds(rand.New(rand.NewPCG(1, 1)), 4, 30, 12, 3)
	one, _ := drawClouds(rand.New(rand.NewPCG(2, 2)), 1, 120, 12, 0)
	x, labels := matrix.New(240, 12), make([]int64, 240)
	copy(x.Data, several.Data)
	copy(x.Data[len(several.Data):], one.Data)
	for i := range 120 {
		labels[120+i] = 1
	}
	v, err := Judge(t.Context(), x, labels, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := findSubClasses(t, x, labels, Options{})
	for k, c := range v.Classes {
		if c != r.Verdict.Classes[k] || c.P != r.Classes[k].P || (c.P <= 0.05) != (len(r.Classes[k].SubClasses) > 1) {
			t.Errorf("%+v, %+v with %d kinds", c, r.Classes[k].P, len(r.Classes[k].SubClasses))
		}
	}
	if v.NumDivided != 1 || v.NumTested != 2 || v.HasCoarseLabels() || // of too few
		!strings.HasPrefix(v.String(), "1 of 2 classes fall into groups") {
		t.Errorf("%v", v)
	}
	none, err := Judge(t.Context(), matrix.New(7, 2), make([]int64, 7), Options{})
	if err != nil || none.HasCoarseLabels() || none.NumTested != 0 ||
		!strings.HasPrefix(none.String(), "no class has the 10") {
		t.Errorf("%v, %v", none, err)
	}
}

// Copies, equal or nearly so, are one row.
func TestDistinct(t *testing.T) {
	x := matrix.FromSlice(6, 1, []float32{0, 1, 1, 1.05, 2, 3})
	if got := distinctRows(ward.Squared(x)); !slices.Equal(got, []int{0, 1, 4, 5}) {
		t.Errorf("%v", got)
	}
	if got := distinctRows(ward.Squared(matrix.New(5, 2))); !slices.Equal(got, []int{0}) {
		t.Errorf("equal rows: %v", got)
	}
}

// Half of the classes that were tested, however few, and never of none.
func TestHalf(t *testing.T) {
	for _, c := range []struct {
		tested, several int
		want            bool
	}{{0, 0, false}, {24, 12, true}, {25, 12, false}, {2, 1, true}, {3, 1, false}, {1, 0, false}} {
		if v := (&Verdict{NumTested: c.tested, NumDivided: c.several}); v.IsHalfDivided() != c.want {
			t.Errorf("%d of %d: %v", c.several, c.tested, v.IsHalfDivided())
		}
	}
}
