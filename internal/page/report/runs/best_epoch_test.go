package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
)

// writeFeatures writes ready features of six classes, whose labels are noise: training
// on them makes nothing better, so that the epoch that is kept is not the last.
func writeFeatures(t *testing.T) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	x := matrix.New(240, 8)
	y := make([]int64, x.Rows)
	for i := range y {
		y[i] = int64(i % 6)
		for j := range x.Cols {
			x.Row(i)[j] = float32(rng.NormFloat64())
		}
		x.Row(i)[y[i]] += 1.5
	}
	var a, b bytes.Buffer
	if err := errors.Join(embedding.WriteNPY(&a, x), embedding.WriteLabelsNPY(&b, y)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, b := range map[string][]byte{"x.npy": a.Bytes(), "x.labels.npy": b.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "x.npy")
}

// A run that keeps its best epoch is shown with that epoch's scores, as training
// recorded them, and with those before training.
func TestKeptEpoch(t *testing.T) {
	cfg, err := run.Parse("", nil, "data.path="+writeFeatures(t), "network.dim=4", "train.epochs=6", "train.lr=0.3",
		"data.validation=images:0.3", "train.best=validation_recall@1", "train.patience=0", "eval.keep=true")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "kept")
	res, err := run.Train(context.Background(), cfg, run.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if res.Epoch == 6 {
		t.Fatal("the last epoch is the best: the test shows nothing")
	}
	r, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range res.Scores {
		if v, err := r.Score(m.Key()); err != nil || v != m.Value {
			t.Errorf("%s is %g (%v), the network that was kept has %g", m.Key(), v, err, m.Value)
		}
	}
	html := pageHTML(t, Compare([]*Run{r}))
	for _, want := range []string{fmt.Sprintf("kept: %d", res.Epoch), "Scores are of the network that was kept",
		"highest recall@1 on the validation set", "before training"} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	// Without the checkpoint the table tells, except of what it has no row of.
	if err := os.RemoveAll(filepath.Join(dir, "checkpoint")); err != nil {
		t.Fatal(err)
	}
	if r, err = Load(dir); err != nil {
		t.Fatal(err)
	}
	if res.Epoch > 0 && r.best("") != float64(res.Epoch) {
		t.Errorf("epoch %g, want %d", r.best(""), res.Epoch)
	}
}
