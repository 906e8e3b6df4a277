package paper

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/train"
)

// writeDigits writes idx files of made-up digits, n pictures of each class for training and for
// testing. Class c has a bright square, with noise, whose place depends on c. It returns the data
// folder.
func writeDigits(t *testing.T, n int) string {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, "mnist")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 0))
	for _, part := range []string{"train", "t10k"} {
		var images, labels bytes.Buffer
		for _, v := range []uint32{0x803, uint32(10 * n), 28, 28} {
			binary.Write(&images, binary.BigEndian, v)
		}
		for _, v := range []uint32{0x801, uint32(10 * n)} {
			binary.Write(&labels, binary.BigEndian, v)
		}
		for i := range 10 * n {
			class := i % 10
			labels.WriteByte(byte(class))
			for y := range 28 {
				for x := range 28 {
					v := rng.IntN(60)
					if cx, cy := 3+(class%5)*5, 5+(class/5)*14; x >= cx && x < cx+5 && y >= cy && y < cy+7 {
						v += 190
					}
					images.WriteByte(byte(v))
				}
			}
		}
		for name, b := range map[string]*bytes.Buffer{part + "-images-idx3-ubyte": &images, part +
			"-labels-idx1-ubyte": &labels} {
			if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return home
}

var tinyRun = []string{"network.name=conv4", "network.width=8", "train.epochs=2", "eval.every=1", "sample.per_class=8",
	"data.train_limit=0", "data.test_limit=0"}

func TestReproduceWritesKeepsAndResumes(t *testing.T) {
	home, e := writeDigits(t, 12), Find("mnist")
	o := Options{Dir: t.TempDir(), Seeds: 2, Seed: 5, Home: home, Set: tinyRun}
	first, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{ReportFile, ResultsFile, "figure2.png", "figure2.svg", "unseen.png", "curves.svg",
		"runs/trip-eps-seed6/model.safetensors"} {
		if st, err := os.Stat(filepath.Join(o.Dir, f)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	if g := first.Arms[1].Measures[0].Gain; g == nil || g.Gain.N != 2 {
		t.Errorf("EPS has no paired gain: %+v", first.Arms[1].Measures[0])
	}
	table := first.Table().String()
	for _, want := range []string{"Triplet", "Trip+EPS", "±", "gain over Triplet"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}

	checkSparseCurves(t, first)

	// A second call trains nothing and returns the same.
	o.Observe = func(arm string, seed uint64, _ train.Event) { t.Errorf("%s, seed %d was trained again", arm, seed) }
	again, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := asJSON(t, first.Arms), asJSON(t, again.Arms); a != b {
		t.Error("kept runs give another outcome")
	}

	// Other settings must not mix with what is there.
	o.Set = append(o.Set, "train.lr=0.01")
	if _, err := Reproduce(t.Context(), e, o); err == nil || !strings.Contains(err.Error(), "other settings") {
		t.Errorf("other settings: %v", err)
	}

	// An interrupted run continues to the same numbers.
	o = Options{Dir: t.TempDir(), Seeds: 1, Seed: 5, Home: home, Set: tinyRun}
	ctx, cancel := context.WithCancel(t.Context())
	o.Observe = func(arm string, _ uint64, ev train.Event) {
		if arm == "Trip+EPS" && ev.Stage == train.Stepped && ev.Epoch == 2 {
			cancel()
		}
	}
	if _, err := Reproduce(ctx, e, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	o.Observe = nil
	resumed, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range resumed.Arms {
		for k, m := range a.Measures {
			if m.Values[0] != first.Arms[i].Measures[k].Values[0] {
				t.Errorf("%s, %s: %v after an interruption, %v without", a.Name, m.Key, m.Values[0],
					first.Arms[i].Measures[k].Values[0])
			}
		}
	}
}

// checkSparseCurves draws an outcome whose first epoch has no scores.
func checkSparseCurves(t *testing.T, out *Outcome) {
	t.Helper()
	// Epochs without scores, here the first of two, are no gaps in the curves.
	for i := range out.Arms {
		for _, r := range out.Arms[i].Runs {
			r.History = append([]train.Epoch{{Epoch: 0}}, r.History...)
		}
	}
	for _, fig := range out.Curves().Items {
		for _, c := range fig.Figure.(figure.Lines).Curves {
			if !slices.Equal(c.X, []float64{1, 2}) || len(c.Y) != 2 || len(c.Low) != 2 {
				t.Errorf("%s: epochs %v, values %v, band %v", c.Name, c.X, c.Y, c.Low)
			}
		}
	}
	for i := range out.Arms {
		for _, r := range out.Arms[i].Runs {
			r.History = r.History[1:]
		}
	}
	// Patience ends the runs of one arm after different epochs, the last one first.
	for _, arm := range out.Arms {
		last := arm.Runs[len(arm.Runs)-1]
		whole := last.History
		last.History = whole[:1]
		for _, fig := range out.Curves().Items {
			for _, c := range fig.Figure.(figure.Lines).Curves {
				if !slices.Equal(c.X, []float64{1, 2}) || len(c.Y) != 2 || slices.ContainsFunc(c.Y, math.IsNaN) {
					t.Errorf("%s: epochs %v, values %v", c.Name, c.X, c.Y)
				}
			}
		}
		last.History = whole
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDamagedResultIsNamed(t *testing.T) {
	home, e := writeDigits(t, 4), Find("mnist")
	o := Options{Dir: t.TempDir(), Seeds: 1, Seed: 1, Home: home, Set: tinyRun}
	if _, err := Reproduce(t.Context(), e, o); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.Dir, "runs", "triplet-seed1", resultFile)
	if err := os.WriteFile(path, []byte(`{"arm": "Tri`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Reproduce(t.Context(), e, o); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file must be named, got %v", err)
	}
}
