package clean

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/detection"
	"github.com/kindred-ml/kindred/internal/test/ctxtest"
	"github.com/kindred-ml/kindred/matrix"
)

// drawClasses draws n rows of each of k classes, apart from each other in d dimensions.
func drawClasses(rng *rand.Rand, k, n, d int, apart float64) (*matrix.Dense, []int64) {
	x, y := matrix.New(k*n, d), make([]int64, k*n)
	for c := range k {
		centre := make([]float64, d)
		for j := range centre {
			centre[j] = apart * rng.NormFloat64()
		}
		for i := range n {
			y[c*n+i] = int64(10 * c)
			for j := range centre {
				x.Row(c*n + i)[j] = float32(centre[j] + rng.NormFloat64())
			}
		}
	}
	return x, y
}

// corruptLabels changes one label in every.
func corruptLabels(y []int64, every, k int, rng *rand.Rand) (noisy []int64, wrong []bool) {
	noisy, wrong = slices.Clone(y), make([]bool, len(y))
	for i := range y {
		if rng.IntN(every) == 0 {
			noisy[i] = 10 * int64(rng.IntN(k))
			wrong[i] = noisy[i] != y[i]
		}
	}
	return noisy, wrong
}

func findErrors(t *testing.T, y []int64, folds ...Fold) *LabelErrors {
	t.Helper()
	j, err := FindLabelErrors(t.Context(), y, Options{}, folds...)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// Wrong labels are found, the right ones suggested, and the scores are probabilities:
// their sum is near the number of wrong labels.
func TestLabels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := drawClasses(rng, 8, 60, 12, 1.2)
	noisy, wrong := corruptLabels(y, 8, 8, rng)
	var folds []Fold
	for f := range 3 {
		fold := Fold{X: x}
		for i := f; i < len(y); i += 3 {
			fold.HeldOut = append(fold.HeldOut, i)
		}
		folds = append(folds, fold)
	}
	for name, with := range map[string][]Fold{"left out": {{X: x}}, "folds": folds} {
		j := findErrors(t, noisy, with...)
		n, hit, right := 0, 0, 0
		var sum float64
		for i, w := range wrong {
			if sum += j.Score[i]; w {
				n++
				if j.Score[i] >= 0.5 {
					hit++
				}
				if j.Suggested[i] == y[i] {
					right++
				}
			}
		}
		suspects := j.Suspects(0.5)
		if hit*10 < n*9 || len(suspects)*10 > n*12 || right*10 < n*9 {
			t.Errorf("%s: %d suspects, %d of %d wrong labels among them, %d suggestions right", name,
				len(suspects), hit, n, right)
		}
		if math.Abs(sum-float64(n)) > 0.3*float64(n) || math.Abs(j.WrongShare-float64(n)/float64(len(y))) > 0.05 {
			t.Errorf("%s: the scores sum to %.1f, the share is %.3f; %d of %d are wrong", name, sum, j.WrongShare,
				n, len(y))
		}
		if first := suspects[0]; j.Votes[first] == 0 || j.Votes[first]+j.Agree[first] > j.Neighbours {
			t.Errorf("%s: %d votes for, %d against of %d", name, j.Votes[first], j.Agree[first], j.Neighbours)
		}
	}
}

// In a weak embedding, in which right labels are denied as well, scores say how many of
// those that have them are wrong. Taken for certain where it is most likely, the share of
// wrong labels came out at four times what it was.
func TestWeakEmbedding(t *testing.T) {
	var ece, share, there float64
	const draws = 3
	for k := range uint64(draws) {
		rng := rand.New(rand.NewPCG(k, 5))
		x, y := drawClasses(rng, 10, 100, 4, 0.5)
		noisy, wrong := corruptLabels(y, 10, 10, rng)
		j := findErrors(t, noisy, Fold{X: x})
		var mean, came [10]float64
		for i, p := range j.Score {
			b := min(int(10*p), 9)
			mean[b] += p / float64(len(y))
			if wrong[i] {
				came[b] += 1 / float64(len(y))
				there += 1 / float64(len(y)) / draws
			}
		}
		for b := range mean {
			ece += math.Abs(mean[b]-came[b]) / draws
		}
		share += j.WrongShare / draws
	}
	t.Logf("expected calibration error %.3f, share %.3f of %.3f", ece, share, there)
	if ece > 0.18 || share > 3.2*there {
		t.Errorf("expected calibration error %.3f; %.3f are said to be wrong, and %.3f are", ece, share, there)
	}
}

// The peers find wrong labels too, in an embedding and in folds.
func TestPeers(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	x, y := drawClasses(rng, 5, 40, 8, 4)
	noisy, wrong := corruptLabels(y, 10, 5, rng)
	half := []int{}
	for i := 0; i < len(y); i += 2 {
		half = append(half, i)
	}
	rest := []int{}
	for i := 1; i < len(y); i += 2 {
		rest = append(rest, i)
	}
	for name, folds := range map[string][]Fold{"whole": {{X: x}},
		"folds": {{X: x, HeldOut: half}, {X: x, HeldOut: rest}}} {
		neighbours, err := Disagreement(t.Context(), noisy, 0, folds...)
		if err != nil {
			t.Fatal(err)
		}
		confident, err := ConfidentLearning(t.Context(), noisy, folds...)
		if err != nil {
			t.Fatal(err)
		}
		for peer, score := range map[string][]float64{"neighbours": neighbours, "confident": confident} {
			if _, area := detection.PrecisionAndArea(score, wrong); area < 0.97 {
				t.Errorf("%s, %s: area under the ROC curve %.3f", peer, name, area)
			}
		}
		if slices.Max(neighbours) > 1+1e-9 || slices.Min(neighbours) < 0 {
			t.Errorf("%s: shares from %g to %g", name, slices.Min(neighbours), slices.Max(neighbours))
		}
	}
	one := make([]int64, len(y))
	if _, err := ConfidentLearning(t.Context(), one, Fold{X: x}); err == nil {
		t.Error("one class")
	}
	if _, err := Disagreement(t.Context(), y[1:], 0, Fold{X: x}); err == nil {
		t.Error("too few labels")
	}
}

// Labels that are all right give next to no suspects.
func TestNoneWrong(t *testing.T) {
	x, y := drawClasses(rand.New(rand.NewPCG(3, 2)), 6, 50, 10, 1.5)
	if j := findErrors(t, y, Fold{X: x}); len(j.Suspects(0.5)) > 3 || j.WrongShare > 0.03 {
		t.Errorf("%d suspects, share %g", len(j.Suspects(0.5)), j.WrongShare)
	}
}

// An embedding that has memorised wrong labels defends them; that of a network which
// did not see them does not.
func TestMemorised(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	x, y := drawClasses(rng, 5, 60, 8, 2)
	noisy, wrong := corruptLabels(y, 6, 5, rng)
	centres, _ := drawClasses(rng, 5, 1, 8, 20)
	memorised := matrix.New(x.Rows, 8)
	for i, l := range noisy {
		for j, v := range centres.Row(int(l) / 10) {
			memorised.Row(i)[j] = v + x.Row(i)[j]/10
		}
	}
	found := func(j *LabelErrors) (n int) {
		for i, w := range wrong {
			if w && j.Score[i] >= 0.5 {
				n++
			}
		}
		return n
	}
	var folds []Fold
	for f := range 2 {
		fold := Fold{X: matrix.New(x.Rows, 8)}
		for i := range y {
			copy(fold.X.Row(i), memorised.Row(i))
			if i%2 == f { // a network sees what it was not trained with as it is
				for j, v := range centres.Row(int(y[i]) / 10) {
					fold.X.Row(i)[j] = v + x.Row(i)[j]/10
				}
				fold.HeldOut = append(fold.HeldOut, i)
			}
		}
		folds = append(folds, fold)
	}
	itself, held := found(findErrors(t, noisy, Fold{X: memorised})), found(findErrors(t, noisy, folds...))
	if itself > 5 || held < 35 {
		t.Errorf("%d wrong labels found in the embedding that learned them, %d in those that did not", itself, held)
	}
}

func TestSameBits(t *testing.T) {
	x, y := drawClasses(rand.New(rand.NewPCG(7, 2)), 4, 40, 6, 1)
	want := findErrors(t, y, Fold{X: x})
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if got := findErrors(t, y, Fold{X: x}); !reflect.DeepEqual(got, want) {
		t.Error("another number of processors gives other scores")
	}
}

func TestDegenerate(t *testing.T) {
	x, y := drawClasses(rand.New(rand.NewPCG(8, 2)), 3, 4, 2, 3)
	nan := matrix.New(12, 2)
	nan.Row(3)[1] = float32(math.NaN())
	ctx := t.Context()
	for name, f := range map[string]func() error{
		"no fold": func() error { _, err := FindLabelErrors(ctx, y, Options{}); return err },
		"one class": func() error {
			_, err := FindLabelErrors(ctx, make([]int64, 12), Options{},
				Fold{X: x})
			return err
		},
		"rows": func() error { _, err := FindLabelErrors(ctx, y[1:], Options{}, Fold{X: x}); return err },
		"NaN":  func() error { _, err := FindLabelErrors(ctx, y, Options{}, Fold{X: nan}); return err },
		"held twice": func() error {
			_, err := FindLabelErrors(ctx, y, Options{}, Fold{X: x},
				Fold{X: x})
			return err
		},
		"not held": func() error {
			_, err := FindLabelErrors(ctx, y, Options{},
				Fold{X: x, HeldOut: []int{1}})
			return err
		},
		"outside": func() error {
			_, err := FindLabelErrors(ctx, y, Options{},
				Fold{X: x, HeldOut: []int{12}})
			return err
		},
		"negative":    func() error { _, err := FindLabelErrors(ctx, y, Options{Rounds: -1}, Fold{X: x}); return err },
		"level":       func() error { _, err := FindOutliers(ctx, x, 0, 0); return err },
		"few labels":  func() error { _, err := FindOverlaps(ctx, x, y[1:], 0, 0.5); return err },
		"too many k":  func() error { _, err := FindOutliers(ctx, x, 12, 0.1); return err },
		"NaN outlier": func() error { _, err := FindOutliers(ctx, nan, 0, 0.1); return err },
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// Equal rows, singletons and two items are judged without a panic or a NaN.
	for name, in := range map[string]struct {
		x *matrix.Dense
		y []int64
	}{"equal rows": {matrix.New(12, 2), y}, "singletons": {x, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
		"two": {x.RowRange(3, 5), y[3:5]}} {
		j := findErrors(t, in.y, Fold{X: in.x})
		for i, s := range j.Score {
			if !(s >= 0 && s <= 1) || j.Suggested[i] == in.y[i] {
				t.Errorf("%s: score %g, suggested %d for %d", name, s, j.Suggested[i], in.y[i])
			}
		}
	}
	if odd, err := FindOutliers(ctx, matrix.New(12, 2), 0, 0.1); err != nil || len(odd) > 0 {
		t.Errorf("equal rows: %v, %v", odd, err)
	}
}

func TestOutliers(t *testing.T) {
	x, _ := drawClasses(rand.New(rand.NewPCG(9, 2)), 3, 80, 6, 3)
	for j := range x.Row(17) {
		x.Row(17)[j], x.Row(200)[j] = 40, -35
	}
	odd, err := FindOutliers(t.Context(), x, 0, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	if len(odd) < 2 || len(odd) > 5 || odd[0].Item+odd[1].Item != 217 || odd[0].Score < 0.99 ||
		odd[0].DistanceRatio < 2 {
		t.Errorf("%+v", odd)
	}
}

// Two classes drawn from one cloud overlap wholly, classes apart not at all.
func TestOverlaps(t *testing.T) {
	x, y := drawClasses(rand.New(rand.NewPCG(10, 2)), 3, 90, 6, 3)
	for i := range 90 {
		if i%2 == 0 {
			y[i] = 77
		}
	}
	pairs, err := FindOverlaps(t.Context(), x, y, 0, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if len(pairs) != 1 || pairs[0].A != 0 || pairs[0].B != 77 || math.Abs(pairs[0].Mixing-1) > 0.3 ||
		pairs[0].Low > 1 || pairs[0].High < 1 {
		t.Errorf("%+v", pairs)
	}
}

// drawPhoto is a picture of smooth blobs.
func drawPhoto(seed uint64, w, h int) *image.RGBA {
	rng := rand.New(rand.NewPCG(seed, 3))
	im := image.NewRGBA(image.Rect(0, 0, w, h))
	type blob struct{ x, y, r, v float64 }
	var blobs []blob
	for range 14 {
		blobs = append(blobs, blob{rng.Float64(), rng.Float64(), 0.05 + 0.2*rng.Float64(), 90 * rng.NormFloat64()})
	}
	for y := range h {
		for x := range w {
			v := 120.0
			for _, b := range blobs {
				u, w := float64(x)/float64(w)-b.x, float64(y)/float64(h)-b.y
				v += b.v * math.Exp(-(u*u+w*w)/(2*b.r*b.r))
			}
			g := uint8(min(max(v, 0), 255))
			im.SetRGBA(x, y, color.RGBA{g, g, uint8(min(255, int(g)+20)), 255})
		}
	}
	return im
}

// Copies that were cut, made brighter or reduced are found, and no others.
func TestDuplicates(t *testing.T) {
	var prints []*Fingerprint
	for k := range 40 {
		prints = append(prints, NewFingerprint(drawPhoto(uint64(k), 120, 90)))
	}
	of := map[int]int{}
	copied := func(k int, im image.Image) {
		of[len(prints)] = k
		prints = append(prints, NewFingerprint(im))
	}
	copied(3, drawPhoto(3, 60, 45))
	copied(5, drawPhoto(5, 120, 90).SubImage(image.Rect(8, 4, 112, 86)))
	bright := drawPhoto(8, 120, 90)
	for i, v := range bright.Pix {
		bright.Pix[i] = uint8(min(255, int(v)*6/5))
	}
	copied(8, bright)
	prints = append(prints, nil, NewFingerprint(image.NewGray(image.Rect(0, 0, 9, 9))),
		NewFingerprint(image.NewGray(image.Rect(0, 0, 9, 9))))
	// The embedding has copies side by side.
	x := matrix.New(len(prints), 1)
	for i := range prints {
		x.Row(i)[0] = float32(i)
		if k, ok := of[i]; ok {
			x.Row(i)[0] = float32(k) + 0.1
		}
	}
	copies, err := FindDuplicates(t.Context(), prints, DuplicateOptions{X: x})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range copies {
		if of[c.B] != c.A || c.Likeness > 1+1e-9 {
			t.Errorf("%+v", c)
		}
	}
	if len(copies) != len(of) {
		t.Errorf("%d copies found of %d: %v", len(copies), len(of), copies)
	}
	// The cut picture is no copy of a whole one.
	if whole, err := FindDuplicates(t.Context(), prints, DuplicateOptions{X: x, WholeOnly: true}); err != nil ||
		len(whole) != 2 {
		t.Errorf("whole copies %v, %v", whole, err)
	}
	if g := GroupCopies([]Copy{{1, 2, 1}, {4, 9, 1}, {2, 6, 1}}); fmt.Sprint(g) != "[[1 2 6] [4 9]]" {
		t.Errorf("groups %v", g)
	}
}

// drawDetailedPhoto is a picture of many small blobs.
func drawDetailedPhoto(seed uint64, w, h int) *image.RGBA {
	rng := rand.New(rand.NewPCG(seed, 9))
	grey := make([]float64, w*h)
	for range 250 {
		cx, cy, r, v := rng.IntN(w), rng.IntN(h), 2+rng.IntN(4), 60*rng.NormFloat64()
		for y := max(0, cy-2*r); y < min(h, cy+2*r); y++ {
			for x := max(0, cx-2*r); x < min(w, cx+2*r); x++ {
				grey[y*w+x] += v * math.Exp(-float64((x-cx)*(x-cx)+(y-cy)*(y-cy))/float64(r*r))
			}
		}
	}
	im := image.NewRGBA(image.Rect(0, 0, w, h))
	for i, g := range grey {
		v := uint8(min(max(g+120, 10), 240))
		im.SetRGBA(i%w, i/w, color.RGBA{v, v, v, 255})
	}
	return im
}

// Parts of pictures with much detail are told from parts of others, wherever they were
// cut out.
func TestCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	const w, h = 128, 104
	found, n := 0, 0
	for _, share := range []float64{0.05, 0.1, 0.2} {
		for k := range uint64(12) {
			im := drawDetailedPhoto(k, w, h)
			cw, ch := int((1-share)*w), int((1-share)*h)
			x, y := rng.IntN(w-cw+1), rng.IntN(h-ch+1)
			p, q := NewFingerprint(im), NewFingerprint(im.SubImage(image.Rect(x, y, x+cw, y+ch)))
			if n++; plainLikeness(p, q, minNeighbourCorrelation) >= minCopyCorrelation {
				found++
			}
			if l := plainLikeness(NewFingerprint(drawDetailedPhoto(k+1, w, h)), q, minNeighbourCorrelation); l >= 0.9 {
				t.Errorf("a part of another picture has the likeness %.3f", l)
			}
		}
	}
	t.Logf("%d of %d parts are found", found, n)
	if found*2 < n {
		t.Errorf("%d of %d parts are found", found, n)
	}
}

func TestStops(t *testing.T) {
	x, y := drawClasses(rand.New(rand.NewPCG(11, 2)), 3, 200, 4, 2)
	ctxtest.CheckStops(t, 6, func(ctx context.Context) error {
		_, err := FindLabelErrors(ctx, y, Options{}, Fold{X: x})
		return err
	})
}
