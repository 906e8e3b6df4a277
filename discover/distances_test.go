package discover

import (
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// Kinds are shown by the distances that divided them: less along what all classes vary in where
// Ward divides one, and those of the rows as given where no class is divided, or by density.
func TestDistancesOfExemplars(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const classes, each, d = 27, 20, 4
	x, labels := matrix.New(classes*each, d), make([]int64, classes*each)
	for i := range labels {
		labels[i] = int64(i / each)
		for j := range d {
			x.Row(i)[j] = float32(rng.NormFloat64())
		}
		x.Row(i)[0] *= 4
		x.Row(i)[1] += float32(100 * labels[i])
	}
	for name, c := range map[string]struct {
		apart float32 // half of the first class from the other half
		opt   Options
		even  bool
	}{"none divided": {}, "one divided": {apart: 40, even: true},
		"one divided by density": {apart: 40, opt: Options{Method: Density}}} {
		y := matrix.FromSlice(x.Rows, d, append([]float32{}, x.Data...))
		for i := range each / 2 {
			y.Row(i)[2] += c.apart
		}
		c.opt.Resamples = -1
		r := findSubClasses(t, y, labels, c.opt)
		if several := r.Verdict.NumDivided; !r.Verdict.Calibrated || several > 0 != (c.apart > 0) {
			t.Fatalf("%s: %v", name, &r.Verdict)
		}
		s, err := newClassSet(t.Context(), y, labels, &c.opt)
		if err != nil {
			t.Fatal(err)
		}
		even, err := levelScatter(t.Context(), y, s.classes)
		if err != nil {
			t.Fatal(err)
		}
		differ := 0
		for k, got := range r.Classes {
			j := s.classes[k]
			if len(got.SubClasses) > 1 {
				continue
			}
			alone := make([]int, len(j.sample))
			plain, _ := chooseShown(distances(y.RowsAt(j.sample)), j.sample, alone, 0, 1)
			level, _ := chooseShown(distances(even.RowsAt(j.sample)), j.sample, alone, 0, 1)
			if plain != level {
				differ++
			}
			want := plain
			if c.even {
				want = level
			}
			if got.SubClasses[0].Exemplar != want {
				t.Errorf("%s: class %d is shown by row %d, want %d", name, k, got.SubClasses[0].Exemplar, want)
			}
		}
		if differ == 0 {
			t.Errorf("%s: both distances have the same exemplars", name)
		}
	}
}
