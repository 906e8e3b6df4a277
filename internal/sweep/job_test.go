package sweep

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
)

// newRows is a set of ready features: 12 classes of 8 rows about a point each, of
// which the first eight classes train.
func newRows() *data.Dataset {
	const classes, each, dim = 12, 8, 6
	rng := rand.New(rand.NewPCG(3, 3))
	d := &data.Dataset{Name: "rows", Layout: "test", Fine: "class", Train: "class",
		Features: matrix.New(classes*each, dim)}
	var names []string
	for c := range classes {
		centre := make([]float64, dim)
		for j := range centre {
			centre[j] = rng.NormFloat64()
		}
		for k := range each {
			for j := range dim {
				d.Features.Row(c*each + k)[j] = float32(centre[j] + 0.7*rng.NormFloat64())
			}
			names = append(names, string(rune('a'+c)))
			d.Names = append(d.Names, string(rune('a'+c))+string(rune('0'+k)))
			d.Splits = append(d.Splits, map[bool]data.Split{true: data.Train, false: data.Test}[c < 8])
		}
	}
	d.Columns = []data.Column{data.NewColumn("class", names)}
	d.Disjoint = true
	return d
}

// baseConfig is a run of milliseconds on rows.
const baseConfig = `
data:    {name: rows}
network: {name: linear, dim: 3}
sample:  {classes: 4, per_class: 4, batches: 4}
train:   {epochs: 4, lr: 0.01}
eval:    {recall: [1]}
`

func configText(t *testing.T, set ...string) string {
	t.Helper()
	cfg, err := run.Parse("base", []byte(baseConfig), set...)
	if err != nil {
		t.Fatal(err)
	}
	return string(cfg.YAML())
}

// TestContinued trains a run to an epoch and on from there, and compares it with one
// that was trained at once, and with one whose folder was lost.
func TestContinued(t *testing.T) {
	ctx := t.Context()
	text := configText(t, "data.fold=1/2")
	job := func(name string, until int) Job { return Job{name, text, until, "test_recall@1"} }
	l := Local{Dir: t.TempDir(), Dataset: newRows()}
	half, err := l.Run(ctx, job("a/0001", 2))
	if err != nil || half.Epochs != 2 || len(half.Scores) != 2 {
		t.Fatalf("%+v, %v", half, err)
	}
	if _, err := os.Stat(filepath.Join(l.Dir, "a", "0001", "model.safetensors")); err == nil {
		t.Error("a run that was paused has a network")
	}
	again, err := l.Run(ctx, job("a/0001", 2))
	if err != nil || !reflect.DeepEqual(again, half) {
		t.Errorf("again: %+v, %v", again, err)
	}
	// Its seconds are those of the epochs that were asked for, in training and evaluation.
	const times = "epoch,train_seconds,eval_seconds,images,images_per_second\n1,2,0.5,48,24\n2,4,0.25,48,12\n"
	if err := os.WriteFile(filepath.Join(l.Dir, "a", "0001", "timing.csv"), []byte(times), 0o600); err != nil {
		t.Fatal(err)
	}
	for until, seconds := range map[int]float64{1: 2.5, 2: 6.75} {
		if r, err := readScores(filepath.Join(l.Dir, "a", "0001"), job("", until)); err != nil || r.Seconds != seconds {
			t.Errorf("%g seconds until epoch %d, %v, want %g", r.Seconds, until, err, seconds)
		}
	}
	got, err := l.Run(ctx, job("a/0001", 4))
	if err != nil {
		t.Fatal(err)
	}
	want, err := l.Run(ctx, job("b", 4))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Scores, want.Scores) || !reflect.DeepEqual(got.Metrics, want.Metrics) || got.Epochs != 4 {
		t.Errorf("%+v, at once %+v", got, want)
	}
	if !reflect.DeepEqual(got.Scores[:2], half.Scores) {
		t.Errorf("%+v goes on as %+v", half, got)
	}
	for _, name := range []string{"model.safetensors", "metrics.csv"} {
		a, _ := os.ReadFile(filepath.Join(l.Dir, "a", "0001", name))
		b, _ := os.ReadFile(filepath.Join(l.Dir, "b", name))
		if len(a) == 0 || string(a) != string(b) {
			t.Errorf("%s differs from that of a run without a pause", name)
		}
	}
}

// TestKeptEpoch: a run that keeps its best epoch is scored by that one. Which rates end
// with another epoch than the best rests on rounding; one of several does.
func TestKeptEpoch(t *testing.T) {
	l := Local{Dir: t.TempDir(), Dataset: newRows()}
	for _, rate := range []string{"0.02", "0.1", "0.05", "0.2", "0.4"} {
		j := Job{rate, configText(t, "data.fold=1/2", "train.epochs=6", "train.lr="+rate, "train.best=test_recall@1"),
			6, "test_recall@1"}
		got, err := l.Run(t.Context(), j)
		if err != nil || got.Failed != "" {
			t.Fatalf("%+v, %v", got, err)
		}
		history, err := readScores(filepath.Join(l.Dir, rate), j)
		if err != nil {
			t.Fatal(err)
		}
		best := 0.0
		for _, s := range history.Scores {
			best = max(best, s.Value)
		}
		if last := got.Scores[len(got.Scores)-1]; len(got.Scores) != 6 || last != (Score{6, best}) ||
			got.Metrics[j.Metric] != best {
			t.Errorf("%+v, best %v", got, best)
		}
		if history.Scores[5].Value < best {
			return
		}
	}
	t.Error("all runs are best at their end: nothing was shown")
}

// TestFailed tells settings that cannot be trained from a sweep that cannot go on.
func TestFailed(t *testing.T) {
	l := Local{Dir: t.TempDir(), Dataset: newRows()}
	for _, c := range []struct {
		name, text, want string
	}{
		{"diverges", configText(t, "train.lr=1e30", "train.optimizer=sgd"), "step"},
		{"no batch", configText(t, "data.train_classes=1"), "only one label"},
		{"no configuration", "train: {lrr: 1}", "did you mean"},
	} {
		r, err := l.Run(t.Context(), Job{c.name, c.text, 4, "test_recall@1"})
		if err != nil || !strings.Contains(r.Failed, c.want) {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
	l.Dir = filepath.Join(l.Dir, "file")
	if err := os.WriteFile(l.Dir, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Run(t.Context(), Job{"x", configText(t), 4, "test_recall@1"}); err == nil {
		t.Errorf("below a file: %+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.Dir = t.TempDir()
	if r, err := l.Run(ctx, Job{"x", configText(t), 2, "test_recall@1"}); err == nil {
		t.Errorf("cancelled: %+v", r)
	}
}

// TestJobJSON fixes the text that is sent to other machines.
func TestJobJSON(t *testing.T) {
	text, err := json.Marshal(Job{"a/0001/fold1", "train: {}", 3, "test_recall@1"})
	const want = `{"name":"a/0001/fold1","config":"train: {}","until":3,"metric":"test_recall@1"}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}

// TestSameJob takes a job of a program that did not know a key for the same job.
func TestSameJob(t *testing.T) {
	j := Job{"a", configText(t), 4, "test_recall@1"}
	was := j
	was.Config = strings.Replace(was.Config, "  tensorboard: false\n", "", 1)
	if was == j || !isSameJob(was, j) {
		t.Error("a job without a key that is new is another job")
	}
	if was.Config = configText(t, "train.lr=0.02"); isSameJob(was, j) {
		t.Error("another rate is the same job")
	}
}
