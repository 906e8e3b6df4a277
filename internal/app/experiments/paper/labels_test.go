package paper

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/detection"
	"github.com/kindred-ml/kindred/matrix"
)

// TestTasksAreOtherRuns: a run of the same settings is not taken for a run of a task, and tasks are
// not taken for each other.
func TestTasksAreOtherRuns(t *testing.T) {
	e := Find("clean-mnist")
	cfg, err := e.config(&e.Arms[0], 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, one, other := Arm{}, Arm{Task: &Task{Plan: "one"}}, Arm{Task: &Task{Plan: "another"}}
	plans := []string{plain.planText(&cfg), one.planText(&cfg), other.planText(&cfg)}
	for i, kept := range plans {
		for k, plan := range plans {
			// With a remark, as if the settings had to be read.
			if got := samePlan([]byte("# kept\n"+kept), plan); got != (i == k) {
				t.Errorf("plan %d passes for plan %d: %v", i, k, got)
			}
		}
	}
	seen := map[string]bool{}
	for _, name := range Names() {
		e := Find(name)
		for _, a := range e.Arms {
			key := name + strings.Join(a.Set, " ")
			if a.Task != nil {
				key += taskMark + a.Task.Plan
			}
			if seen[key] && a.Task != nil {
				t.Errorf("%s, %s: another arm does the same", name, a.Name)
			}
			seen[key] = true
		}
	}
}

func TestNoise(t *testing.T) {
	labels := make([]int64, 1000)
	x := matrix.New(len(labels), 1)
	for i := range labels {
		labels[i] = int64(i % 5)
		x.Row(i)[0] = float32(i % 5)
	}
	y := make([]int, len(labels))
	for i, c := range labels {
		y[i] = int(c)
	}
	alike := detection.ConfusableClasses(x, y, 5, 2)
	if !slices.Equal(alike[0], []int{1, 2}) || !slices.Equal(alike[2], []int{1, 3}) {
		t.Errorf("nearest classes %v", alike)
	}
	for _, n := range []labelNoise{{0.1, false}, {0.2, true}} {
		noisy, wrong := n.apply(labels, 5, alike, 3)
		changed := 0
		for i, y := range noisy {
			if wrong[i] != (y != labels[i]) {
				t.Fatalf("%v: item %d is %d, was %d, and wrong is %v", n, i, y, labels[i], wrong[i])
			}
			if wrong[i] {
				changed++
			}
			if n.alike && wrong[i] && !slices.Contains(alike[labels[i]], int(y)) {
				t.Errorf("%v: %d became %d", n, labels[i], y)
			}
		}
		if want := int(math.Round(1000 * n.share)); changed != want {
			t.Errorf("%v: %d are wrong, want %d", n, changed, want)
		}
		again, _ := n.apply(labels, 5, alike, 3)
		if !slices.Equal(noisy, again) {
			t.Errorf("%v: the same seed gives other labels", n)
		}
	}
}

// TestAlterations: copies are altered as their names say.
func TestAlterations(t *testing.T) {
	im := image.NewRGBA(image.Rect(0, 0, 100, 80))
	for i := range im.Pix {
		im.Pix[i] = uint8(i * 7 % 200)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	cut, err := cropping(0.1).do(im, rng)
	if err != nil || cut.Bounds().Size() != image.Pt(90, 72) {
		t.Errorf("%v, %v", cut.Bounds(), err)
	}
	packed, err := compressing(30).do(im, rng)
	if err != nil || packed.Bounds() != im.Bounds() {
		t.Errorf("%v, %v", packed.Bounds(), err)
	}
	bright, err := brightening(1.3).do(im, rng)
	if err != nil {
		t.Fatal(err)
	}
	was, is := im.RGBAAt(3, 2), color.RGBAModel.Convert(bright.At(3, 2)).(color.RGBA)
	if want := uint8(min(255, 1.3*float64(was.G))); is.G != want || is.A != 255 {
		t.Errorf("%v became %v", was, is)
	}
}

// TestLabelExperiments runs the tasks on made-up digits, some of which have wrong labels: wrong
// labels and sub-classes are found, and networks are trained again.
func TestLabelExperiments(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a dozen networks, half a minute")
	}
	home := writeDigits(t, 12)
	small := append(slices.Clone(smallDigits), "sample.classes=2", "sample.per_class=8")
	for _, c := range []struct {
		e    *Experiment
		arms []string
		set  []string
	}{
		{Find("clean-mnist"), []string{"EPS+Trip+SH, 20 % at random", "EPS+Trip+SH, folds, 20 % at random",
			"trimmed, 20 % to look-alikes"}, nil},
		{Find("cleaned-mnist"),
			[]string{"wrong labels", "relabelled by clean", "dropped by clean", "right labels"}, nil},
		{Find("discover-mnist"), nil, []string{"data.label=parity", "data.fine=digit", "data.train_classes=0-5",
			"data.test_classes=6-9"}},
	} {
		o := Options{Dir: t.TempDir(), Seeds: 1, Seed: 1, Home: home, Arms: c.arms, Set: slices.Concat(small, c.set)}
		if c.e.Name == "discover-mnist" { // the last arm has batches of its own
			o.Arms = []string{"Triplet", "Trip+EPS", "Trip+EPS, on the kinds found"}
		}
		out, err := Reproduce(t.Context(), c.e, o)
		if err != nil {
			t.Fatalf("%s: %v", c.e.Name, err)
		}
		for _, a := range out.Arms {
			for _, m := range a.Measures {
				if v := float64(m.Mean); math.IsNaN(v) || v < -100 || v > 10_000 {
					t.Errorf("%s, %s, %s: %g", c.e.Name, a.Name, m.Key, v)
				}
			}
		}
		if c.e.Name == "cleaned-mnist" {
			const key = "train_labels_wrong"
			w, r := out.meanPercent("wrong labels", key), out.meanPercent("right labels", key)
			if r != 0 || math.Abs(w-20) > 1 {
				t.Errorf("%.1f %% of the labels are wrong, and %.1f %% of the right ones", w, r)
			}
		}
		if err := out.Write(t.Context()); err != nil {
			t.Errorf("%s: %v", c.e.Name, err)
		}
		// Finished runs are not repeated, and give the same numbers.
		again, err := Reproduce(t.Context(), c.e, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range again.Arms {
			if !slices.Equal(a.Measures[0].Values, out.Arms[i].Measures[0].Values) {
				t.Errorf("%s, %s: %v and %v", c.e.Name, a.Name, out.Arms[i].Measures[0].Values, a.Measures[0].Values)
			}
		}
	}
}

// TestTwoLevelsOfOne: if no class is divided, training in two levels is training on the classes.
func TestTwoLevelsOfOne(t *testing.T) {
	e := Find("discover-mnist")
	last := e.Arms[len(e.Arms)-1]
	// One picture of each digit: three of a parity are too few for two kinds.
	set := append(slices.Clone(smallDigits), "data.label=parity", "data.fine=digit", "data.train_classes=0-5",
		"data.test_classes=6-9", "data.train_limit=1", "sample.classes=2", "sample.per_class=3")
	out, err := Reproduce(t.Context(), e, Options{Dir: t.TempDir(), Seeds: 1, Seed: 1, Home: writeDigits(t, 4),
		Arms: []string{"Trip+EPS", last.Name}, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range out.Arms[1].Measures {
		if want := out.Arms[0].Measures[i].Mean; m.Mean != want {
			t.Errorf("%s: %g, on the classes %g", m.Key, m.Mean, want)
		}
	}
}
