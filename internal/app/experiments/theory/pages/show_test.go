package pages

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/experiments/theory/field"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/objective"
)

// checkFiles reads what was written: every named file is there and not empty,
// tables have rows of one width, and there is a page.
func checkFiles(t *testing.T, o Output) {
	t.Helper()
	page := false
	for _, name := range o.Files {
		path := filepath.Join(o.Dir, name)
		raw, err := os.ReadFile(path)
		if err != nil || len(raw) < 50 {
			t.Errorf("%s: %d bytes, %v", name, len(raw), err)
		}
		switch filepath.Ext(name) {
		case ".csv":
			rows, err := csv.NewReader(bytes.NewReader(raw)).ReadAll()
			if err != nil || len(rows) < 2 {
				t.Errorf("%s: %d rows, %v", name, len(rows), err)
			}
		case ".html":
			page = true
			if strings.Contains(string(raw), "NaN") {
				t.Errorf("%s says NaN", name)
			}
		}
	}
	if !page {
		t.Error("no page")
	}
}

// newProgress returns a callback that checks that progress is made and ends.
func newProgress(t *testing.T) (Progress, func()) {
	last, all := 0, 1
	return func(stage string, done, total int) {
			if done <= last || done > total || stage == "" {
				t.Errorf("progress %q %d of %d after %d", stage, done, total, last)
			}
			last, all = done, total
		}, func() {
			if last != all {
				t.Errorf("progress ended at %d of %d", last, all)
			}
		}
}

// checkSame runs a command twice and compares its JSON without times and folders.
func checkSame(t *testing.T, run func(dir string) (any, *Output)) {
	t.Helper()
	var first string
	for k := range 2 {
		r, o := run(t.TempDir())
		checkFiles(t, *o)
		o.Dir, o.Seconds = "", 0
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			first = string(raw)
		} else if string(raw) != first {
			t.Error("the second run differs")
		}
	}
}

func TestNoise(t *testing.T) {
	p, end := newProgress(t)
	r, err := Noise(context.Background(), NoiseOptions{PerClass: 3, Restarts: 1, Draws: 100, Seed: 2}, t.TempDir(), p)
	if err != nil {
		t.Fatal(err)
	}
	end()
	checkFiles(t, r.Output)
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("theory noise --json: %v", err)
	}
	if len(r.Minima) != 36 || len(r.First) != 24 || r.WorstZ > 6 {
		t.Errorf("%d minima, %d first n, z %g", len(r.Minima), len(r.First), r.WorstZ)
	}
	for _, c := range r.Cases {
		if strings.HasPrefix(c.Says, "collapses") != (c.Diameter < 1e-3) {
			t.Errorf("%+v", c)
		}
	}
}

func TestIsometry(t *testing.T) {
	if testing.Short() {
		t.Skip("computes the map of collapse")
	}
	p, end := newProgress(t)
	r, err := Isometry(context.Background(), IsometryOptions{Random: 60, Searches: 3, Steps: 5, Iterations: 2, Seed: 2},
		t.TempDir(), p)
	if err != nil {
		t.Fatal(err)
	}
	end()
	checkFiles(t, r.Output)
	if r.BreaksAt != 8 || r.Violation > 1e-9 || r.TwoFar.Factor < 1.5-1e-6 {
		t.Errorf("%+v", r)
	}
	for _, c := range r.Collapse {
		if c.N == 0 || c.Ratio < c.AtLeast-1e-9 {
			t.Errorf("cell %+v", c)
		}
	}
}

func TestField(t *testing.T) {
	checkSame(t, func(dir string) (any, *Output) {
		p, end := newProgress(t)
		r, err := Field(context.Background(), FieldOptions{Losses: []string{"second", "triplet", "multisimilarity"},
			Gammas: []float64{0.5}, Entangle: []float64{0.4}, Grid: 40, Seed: 2}, dir, p)
		if err != nil {
			t.Fatal(err)
		}
		end()
		if len(r.Shares) != 3 {
			t.Errorf("%d shares", len(r.Shares))
		}
		return r, &r.Output
	})
}

func TestFieldLossByName(t *testing.T) {
	for _, name := range []string{"first", "second", "vanilla", "triplet", "contrastive", "margin", "nca", "nca2",
		"npair", "multisimilarity"} {
		l, err := FieldLoss(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// Where the triplet is wrong every loss pulls or pushes, none the wrong way.
		if pull, push := l.Weights(0.3, 0.7); pull < 0 || push < 0 || pull+push == 0 {
			t.Errorf("%s: pull %g, push %g", name, pull, push)
		}
	}
	for a, b := range map[string]string{"nca": "first", "nca2": "second"} {
		u, err := FieldLoss(a)
		if err != nil {
			t.Fatal(err)
		}
		v, _ := FieldLoss(b)
		c := field.Config{Gamma: 0.4, Entangle: 0.5}
		for _, s := range [][2]float64{{0.1, 0.9}, {0.9, 0.9}, {0.5, 0.2}} {
			x, y := field.Change(u, c, s[0], s[1])
			z, w := field.Change(v, c, s[0], s[1])
			if d := max(x-z, z-x, y-w, w-y); d > 1e-6 {
				t.Errorf("%s and %s differ by %g at %v", a, b, d, s)
			}
		}
	}
	if _, err := FieldLoss("tripple"); err == nil {
		t.Error("unknown loss accepted")
	}
	// Every loss of the library can be drawn, or says why not.
	drawn := 0
	for _, name := range objective.LossNames() {
		l, err := FieldLoss(name)
		if err != nil {
			t.Logf("not drawn: %v", err)
			continue
		}
		drawn++
		for _, s := range [][2]float64{{0, 0}, {1, 1}, {1, 0}, {0, 1}, {-1, 0.5}, {0.4, 0.6}} {
			if pull, push := l.Weights(s[0], s[1]); math.IsNaN(pull+push) || math.IsInf(pull+push, 0) {
				t.Errorf("%s at %v: pull %g, push %g", name, s, pull, push)
			}
		}
	}
	if drawn < 10 {
		t.Errorf("only %d losses can be drawn", drawn)
	}
}

// writeRun writes snapshots in which classes draw together.
func writeRun(t *testing.T, dir string, epochs int) []string {
	t.Helper()
	const n, d = 60, 4
	rng := rand.New(rand.NewPCG(1, 1))
	noise := make([]float64, n*d)
	for i := range noise {
		noise[i] = rng.NormFloat64()
	}
	var files []string
	if err := os.MkdirAll(filepath.Join(dir, "snapshots"), 0o755); err != nil {
		t.Fatal(err)
	}
	for e := range epochs {
		x := matrix.New(n, d)
		labels := make([]int64, n)
		for i := range n {
			labels[i] = int64(i % 3)
			for k := range d {
				x.Row(i)[k] = float32(noise[i*d+k])
			}
			x.Row(i)[i%3] += float32(2 * e)
		}
		stem := filepath.Join(dir, "snapshots", fmt.Sprintf("%04d_test_", e+1))
		files = append(files, stem+"embeddings.npy")
		if err := atomic.WriteFile(stem+"embeddings.npy",
			func(w io.Writer) error { return embedding.WriteNPY(w, x) }); err != nil {
			t.Fatal(err)
		}
		if err := atomic.WriteFile(stem+"labels.csv", func(w io.Writer) error {
			_, err := fmt.Fprintln(w, "label")
			for _, y := range labels {
				if err == nil {
					_, err = fmt.Fprintln(w, y)
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestLive(t *testing.T) {
	run := t.TempDir()
	files := writeRun(t, run, 3)
	var byRun string
	for k, o := range []LiveOptions{{Run: run},
		{Embeddings: files, Labels: strings.Replace(files[0], "embeddings.npy", "labels.csv", 1)}} {
		p, end := newProgress(t)
		r, err := Live(context.Background(), o, t.TempDir(), p)
		if err != nil {
			t.Fatal(err)
		}
		end()
		checkFiles(t, r.Output)
		if len(r.Frames) != 3 || r.Frames[2].Right <= r.Frames[0].Right || r.Frames[2].AN >= 1 ||
			r.Frames[0].Name == "" {
			t.Errorf("%+v", r.Frames)
		}
		if k == 0 && r.Frames[0].Name != "epoch 1" {
			t.Errorf("first frame %q", r.Frames[0].Name)
		}
		s := fmt.Sprint(r.Frames[1].AP, r.Frames[1].AN)
		if byRun == "" {
			byRun = s
		} else if s != byRun {
			t.Error("the run folder and its files differ")
		}
	}
}

func TestLiveErrors(t *testing.T) {
	run := t.TempDir()
	files := writeRun(t, run, 2)
	labels := filepath.Join(run, "bad.csv")
	if err := os.WriteFile(labels, []byte("label\n1\n2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]LiveOptions{
		"nothing":      {},
		"one file":     {Embeddings: files[:1], Labels: labels},
		"few labels":   {Embeddings: files, Labels: labels},
		"empty run":    {Run: t.TempDir()},
		"unknown set":  {Run: run, Set: "train"},
		"unknown loss": {Run: run, Loss: "tripple"},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		if _, err := Live(context.Background(), o, dir, func(string, int, int) {}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	nop := func(string, int, int) {}
	if _, err := Noise(ctx, NoiseOptions{PerClass: 2, Restarts: 1, Draws: 10}, t.TempDir(), nop); !errors.Is(err,
		context.Canceled) {
		t.Errorf("noise: %v", err)
	}
	if _, err := Isometry(ctx, IsometryOptions{Random: 5}, t.TempDir(), nop); !errors.Is(err, context.Canceled) {
		t.Errorf("isometry: %v", err)
	}
	if _, err := Field(ctx, FieldOptions{}, t.TempDir(), nop); !errors.Is(err, context.Canceled) {
		t.Errorf("field: %v", err)
	}
}
