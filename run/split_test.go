package run

import (
	"context"
	"fmt"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/split"
)

// writeBursts writes photographs in folders of classes: scenes of so many shots each, which
// differ by a pixel or two.
func writeBursts(t *testing.T, classes, scenes, shots int) string {
	t.Helper()
	dir := t.TempDir()
	for c := range classes {
		for s := range scenes {
			rng := rand.New(rand.NewPCG(uint64(c), uint64(s)))
			var wave [6][4]float64
			for k := range wave {
				wave[k] = [4]float64{rng.Float64() * 9, rng.Float64() * 9, rng.Float64() * 6, rng.Float64()}
			}
			for k := range shots {
				im := imaging.NewImage(64, 64, 3)
				for i := range im.Pix {
					x, y := float64(i/3%64+k)/64, float64(i/3/64+k/2)/64
					v := 0.0
					for j, w := range wave {
						v += (w[3] + float64((i+j)%3)/4) * math.Sin(w[0]*x+w[1]*y+w[2])
					}
					im.Pix[i] = uint8(127 + 30*v)
				}
				path := filepath.Join(dir, fmt.Sprint("class", c), fmt.Sprintf("%d-%d.jpg", s, k*3))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				f, err := os.Create(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := jpeg.Encode(f, im, nil); err != nil {
					t.Fatal(err)
				}
				f.Close()
			}
		}
	}
	return dir
}

// TestGroupsOfARun: photographs from a pretrained start are divided with their bursts
// whole, which the banner and config.yaml say; a run that goes on has the same
// division.
func TestGroupsOfARun(t *testing.T) {
	weights := smallStart(t, 64)
	cfg := Default()
	cfg.Network.Width, cfg.Train.Epochs, cfg.Eval.Recall, cfg.Data.Path = 16, 2, []int{1}, writeBursts(t, 4, 8, 3)
	newPlanOf := func(change func(*Config), o Options) *plan {
		t.Helper()
		c := cfg.clone()
		change(&c)
		tr, err := newPlan(t.Context(), c, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(tr.close)
		return tr
	}
	as := func(*Config) {}
	none := func(c *Config) { c.Data.Group = "none" }
	found := newPlanOf(as, Options{Weights: weights})
	if got := found.cfg.Data.Group; got != "found" || found.split.GroupCounts != (split.GroupCounts{Groups: 32,
		Samples: 96, Largest: 3,
		Classes: 4}) {
		t.Fatalf("%q, %+v", got, found.split.GroupCounts)
	}
	s := found.newSetup()
	if !strings.Contains(strings.Join(s.Reasons, " "), "; 96 images in 32 bursts or copies stay on one side") {
		t.Errorf("%q", s.Reasons)
	}
	scene := func(tr *plan, p *data.Part) map[string]bool {
		out := map[string]bool{}
		for _, i := range p.Index {
			name, _, _ := strings.Cut(tr.split.Train.Data.Names[i], "-")
			out[name] = true
		}
		return out
	}
	shared := func(tr *plan) (n int) {
		trains := scene(tr, tr.split.Train)
		for _, p := range []*data.Part{tr.split.Query, tr.split.Validation} {
			if p == nil {
				continue
			}
			for name := range scene(tr, p) {
				if trains[name] {
					n++
				}
			}
		}
		return n
	}
	apart := newPlanOf(none, Options{Weights: weights})
	if shared(found) != 0 || shared(apart) == 0 || apart.cfg.Data.Group != "none" {
		t.Errorf("%d scenes on both sides, %d without groups", shared(found), shared(apart))
	}
	if scratch := newPlanOf(as, Options{}); scratch.cfg.Data.Group != "none" || shared(scratch) == 0 {
		t.Errorf("from scratch: %q", scratch.cfg.Data.Group)
	}
	one := newPlanOf(func(c *Config) { c.Data.Path = writeBursts(t, 4, 1, 8) }, Options{Weights: weights})
	if got := strings.Join(one.notes, "\n"); one.cfg.Data.Group != "none" || !strings.Contains(got,
		"data.group is none: bursts are divided, because most classes consist of one burst") {
		t.Errorf("%q: %s", one.cfg.Data.Group, got)
	}
}

// TestGroupsGoOn: a run that goes on has the division that it began with, also
// where only its folder says which.
func TestGroupsGoOn(t *testing.T) {
	weights := smallStart(t, 64)
	cfg := Default()
	cfg.Network.Width, cfg.Train.Epochs, cfg.Eval.Recall, cfg.Data.Path = 16, 2, []int{1}, writeBursts(t, 4, 8, 3)
	for name, rule := range map[string]string{"found": "", "none": "none"} {
		dir := filepath.Join(t.TempDir(), "run")
		c := cfg.clone()
		c.Data.Group = rule
		if _, err := Train(t.Context(), c, Options{Dir: dir, Weights: weights}); err != nil {
			t.Fatal(err)
		}
		f, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := f.Config()
		if err != nil || kept.Data.Group != name {
			t.Fatalf("%q, want %q, %v", kept.Data.Group, name, err)
		}
		resumeRun(t, dir, kept, weights)
		kept.Data.Group = "" // as a sweep asks that promotes a trial
		resumeRun(t, dir, kept, weights)
	}
}

// resumeRun continues a run.
func resumeRun(t *testing.T, dir string, cfg Config, weights func(context.Context, string) (Start, error)) {
	t.Helper()
	if _, err := Train(t.Context(), cfg, Options{Dir: dir, Weights: weights, Resume: true}); err != nil {
		t.Error(err)
	}
}

// TestSeen keeps the test samples of the training classes as a set of their own,
// unless they are the samples that were trained on.
func TestSeen(t *testing.T) {
	for _, c := range []struct {
		split string
		want  bool
	}{{"", true}, {"classes", false}} {
		cfg := Default()
		cfg.Data.TrainClasses, cfg.Data.TestClasses, cfg.Data.Split = "0-1", "2-3", c.split
		cfg.Data.TrainLimit, cfg.Data.TestLimit = 3, 2
		sel, err := selectParts(t.Context(), &cfg, newBlobs(4, 10, 8), new(notes))
		if err != nil {
			t.Fatal(err)
		}
		if (sel.Seen != nil) != c.want {
			t.Errorf("split %q: seen %v", c.split, sel.Seen)
		}
		if sel.Train.Len() != 6 || sel.Query.Len() != 4 || sel.Gallery != sel.Query || sel.Seen != nil &&
			sel.Seen.Len() != 4 {
			t.Errorf("split %q: %d training samples, %d queries", c.split, sel.Train.Len(), sel.Query.Len())
		}
		if sel.Seen != nil && shareSample(sel.Seen, sel.Train) {
			t.Error("a sample is seen and trained on")
		}
	}
	a, b := &data.Part{Index: []int{1, 5}}, &data.Part{Index: []int{2, 3}}
	if shareSample(a, b) || !shareSample(a, &data.Part{Index: []int{3, 5}}) {
		t.Error("overlap")
	}
}

func TestLimitAndSpread(t *testing.T) {
	p := &data.Part{Index: []int{9, 8, 7, 6, 5}, Label: []int64{0, 0, 1, 1, 1}, Fine: []int64{3, 4, 3, 3, 4}}
	for n, want := range map[int][]int{0: {9, 8, 7, 6, 5}, 1: {9, 8}, 2: {9, 8, 7, 5}, 3: {9, 8, 7, 6, 5}} {
		if got := limitPerClass(p, n); !slices.Equal(got.Index, want) {
			t.Errorf("limit %d: %v, want %v", n, got.Index, want)
		}
	}
	if got := limitPerClass(p, 1); !slices.Equal(got.Label, []int64{0, 0}) || !slices.Equal(got.Fine, []int64{3, 4}) {
		t.Errorf("labels %v, %v", got.Label, got.Fine)
	}
	for n, want := range map[int][]int{-1: {9, 8, 7, 6, 5}, 1: {9}, 2: {9, 7}, 3: {9, 8, 6}, 4: {9, 8, 7, 6},
		5: {9, 8, 7, 6, 5}, 6: {9, 8, 7, 6, 5}} {
		if got := sampleEvenly(p, n); !slices.Equal(got.Index, want) {
			t.Errorf("spread %d: %v, want %v", n, got.Index, want)
		}
	}
}
