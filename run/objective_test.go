package run

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/sample"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"
)

// customConfig is a run of a moment on features.
func customConfig(t *testing.T, overrides ...string) Config {
	t.Helper()
	cfg, err := Parse("", nil, append([]string{"network.name=linear", "network.dim=4", "train.epochs=2",
		"sample.classes=4", "sample.per_class=4", "sample.batches=5", "network.pretrained=none"}, overrides...)...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// trainedWeights are those of the network that a run came to.
func trainedWeights(t *testing.T, cfg Config, o Options) []float32 {
	t.Helper()
	o.Dataset = newFeatures(6, 12, 8)
	res, err := Train(t.Context(), cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	var out []float32
	for _, p := range res.Net.Params() {
		out = append(out, p.Value...)
	}
	return out
}

// TestOwnLoss: a loss that a program brings along trains as the same one by name does, and
// config.yaml does not name another.
func TestOwnLoss(t *testing.T) {
	mining := []string{"mine.positives=easy", "mine.negatives=hard"}
	named := trainedWeights(t, customConfig(t, append(mining, "loss.name=triplet", "loss.margin=0.7")...), Options{})
	dir := filepath.Join(t.TempDir(), "run")
	own := Options{Dir: dir, Loss: loss.Triplet{Margin: new(0.7)}}
	if got := trainedWeights(t, customConfig(t, mining...), own); !slices.Equal(got, named) {
		t.Error("the loss of the options is not what was trained with")
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := f.Config()
	if err != nil || cfg.Loss["name"] != customValue {
		t.Errorf("the run says that its loss is %v (%v)", cfg.Loss["name"], err)
	}
	// Only who brings it along goes on with it.
	cfg.Train.Epochs = 3
	_, err = Train(t.Context(), cfg, Options{Dir: dir, Resume: true, Dataset: newFeatures(6, 12, 8)})
	if err == nil || !strings.Contains(err.Error(), "run.Options.Loss") {
		t.Errorf("the run goes on without its loss: %v", err)
	}
	own.Resume = true
	trainedWeights(t, cfg, own)
	// One that is defined for all pairs gets them.
	trainedWeights(t, customConfig(t), Options{Loss: loss.SupCon{}})
}

// TestOwnMiner: the triplets that a program chooses are what is trained on.
func TestOwnMiner(t *testing.T) {
	steps := 0
	first := func(e *matrix.Dense, b objective.Batch) ([][3]int32, error) {
		steps++
		if e.Rows != len(b.Labels) || e.Cols != 4 {
			t.Errorf("%d x %d embeddings of %d labels", e.Rows, e.Cols, len(b.Labels))
		}
		for p := 1; p < e.Rows; p++ {
			for n := range e.Rows {
				if b.Labels[p] == b.Labels[0] && b.Labels[n] != b.Labels[0] {
					return [][3]int32{{0, int32(p), int32(n)}}, nil
				}
			}
		}
		return nil, errors.New("no triplet")
	}
	cfg := customConfig(t)
	res, err := Train(t.Context(), cfg, Options{Miner: first, Dataset: newFeatures(6, 12, 8)})
	if err != nil {
		t.Fatal(err)
	}
	if last := res.LastEpoch(); steps != 10 || last.Tuples != last.Steps {
		t.Errorf("%d triplets in %d steps; asked %d times", last.Tuples, last.Steps, steps)
	}
	if res.Config.Mine["positives"] != customValue || res.Config.Mine["negatives"] != customValue {
		t.Errorf("the run says that it mined by %v", res.Config.Mine)
	}
	none := func(*matrix.Dense, objective.Batch) ([][3]int32, error) { return nil, nil }
	if res, err = Train(t.Context(), cfg, Options{Miner: none, Dataset: newFeatures(6, 12, 8)}); err != nil {
		t.Fatal(err)
	}
	if w := res.LastEpoch().Warning; !strings.Contains(w, "run.Options.Miner chose no triplets") {
		t.Errorf("it warns: %q", w)
	}
	for name, wrong := range map[string]func(*matrix.Dense, objective.Batch) ([][3]int32, error){
		"an error":    func(*matrix.Dense, objective.Batch) ([][3]int32, error) { return nil, errors.New("no idea") },
		"not a row":   func(*matrix.Dense, objective.Batch) ([][3]int32, error) { return [][3]int32{{0, 1, 99}}, nil },
		"itself":      func(*matrix.Dense, objective.Batch) ([][3]int32, error) { return [][3]int32{{0, 0, 1}}, nil },
		"before zero": func(*matrix.Dense, objective.Batch) ([][3]int32, error) { return [][3]int32{{-1, 0, 1}}, nil },
	} {
		_, err := Train(t.Context(), cfg, Options{Miner: wrong, Dataset: newFeatures(6, 12, 8)})
		if err == nil || !strings.Contains(err.Error(), "run.Options.Miner") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, of := range []string{"loss.name=supcon", "loss.memory=20"} {
		_, err := Train(t.Context(), customConfig(t, of), Options{Miner: first, Dataset: newFeatures(6, 12, 8)})
		if err == nil || !strings.Contains(err.Error(), "run.Options.Miner") {
			t.Errorf("%s: %v", of, err)
		}
	}
}

// TestOwnPolicies: a policy that a program brings along is trained with beside one by name, and
// one that chooses as ours does gives the bits of ours.
func TestOwnPolicies(t *testing.T) {
	hard := &objective.CustomPolicy{Name: "mine", Choose: func(a *objective.Anchor) []int {
		at := 0
		for k, d := range a.Distances {
			if d < a.Distances[at] {
				at = k
			}
		}
		return []int{at}
	}}
	named := trainedWeights(t, customConfig(t, "mine.positives=easy", "mine.negatives=hard"), Options{})
	dir := filepath.Join(t.TempDir(), "run")
	cfg := customConfig(t, "mine.positives=easy")
	own := trainedWeights(t, cfg, Options{Negatives: hard, Dir: dir})
	if !slices.Equal(own, named) {
		t.Error("the same policy of a program leads to other weights")
	}
	both := trainedWeights(t, customConfig(t), Options{Positives: hard, Negatives: hard})
	if !slices.Equal(both, named) {
		t.Error("both policies of a program lead to other weights")
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := f.Config()
	if err != nil || kept.Mine["positives"] != "easy" || kept.Mine["negatives"] != customValue {
		t.Errorf("the run says that it mined by %v (%v)", kept.Mine, err)
	}
	cfg.Train.Epochs = 3
	_, err = Train(t.Context(), cfg, Options{Dir: dir, Resume: true, Dataset: newFeatures(6, 12, 8)})
	if err == nil || !strings.Contains(err.Error(), "run.Options.Negatives") {
		t.Errorf("the run goes on without its policy: %v", err)
	}
	for _, o := range []Options{{Positives: &objective.CustomPolicy{}}, {Negatives: hard, Loss: loss.Angular{}},
		{Negatives: hard,
			Miner: func(*matrix.Dense, objective.Batch) ([][3]int32, error) { return nil, nil }}} {
		o.Dataset = newFeatures(6, 12, 8)
		if _, err := Train(t.Context(), customConfig(t), o); err == nil {
			t.Errorf("%+v is trained with", o)
		}
	}
}

// TestOwnSampler: a sampler that a program brings along draws as the same one by name does.
func TestOwnSampler(t *testing.T) {
	seed := customConfig(t).Train.Seed
	draw := func(p *data.Part) (train.Sampler, error) {
		labels, _ := p.DenseLabels()
		return sample.NewBalanced(labels, sample.BalancedConfig{Classes: 4, PerClass: 4, Batches: 5, Seed: seed})
	}
	named := trainedWeights(t, customConfig(t), Options{})
	if got := trainedWeights(t, customConfig(t), Options{Sampler: draw}); !slices.Equal(got, named) {
		t.Error("the sampler of the options is not what drew")
	}
	s, err := Plan(t.Context(), customConfig(t), Options{Sampler: draw, Loss: loss.Triplet{},
		Miner:   func(*matrix.Dense, objective.Batch) ([][3]int32, error) { return nil, nil },
		Dataset: newFeatures(6, 12, 8)})
	if err != nil {
		t.Fatal(err)
	}
	if s.Batch != 16 || s.Batches != 5 || s.Config.Sample.Name != customValue {
		t.Errorf("batches of %d, %d of them, by %q", s.Batch, s.Batches, s.Config.Sample.Name)
	}
	for _, says := range []string{"5 an epoch, of up to 16, drawn by the program's own sampler",
		"the program's own loss", "the program chooses the triplets"} {
		if !strings.Contains(s.String(), says) {
			t.Errorf("no %q in\n%s", says, s)
		}
	}
	for name, wrong := range map[string]func(*data.Part) (train.Sampler, error){
		"an error": func(*data.Part) (train.Sampler, error) { return nil, errors.New("no idea") },
		"beyond":   func(p *data.Part) (train.Sampler, error) { return fixedSampler{{0, p.Len()}}, nil },
		"empty":    func(*data.Part) (train.Sampler, error) { return fixedSampler{{}}, nil },
		"none":     func(*data.Part) (train.Sampler, error) { return fixedSampler{}, nil },
	} {
		_, err := Train(t.Context(), customConfig(t), Options{Sampler: wrong, Dataset: newFeatures(6, 12, 8)})
		if err == nil || !strings.Contains(err.Error(), "run.Options.Sampler") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// fixedSampler is a sampler that draws the same batches in every epoch.
type fixedSampler [][]int

func (f fixedSampler) Batches() int { return len(f) }

func (f fixedSampler) Epoch() [][]int { return f }

func (f fixedSampler) State() sample.State { return sample.State{} }

func (f fixedSampler) Restore(sample.State) error { return nil }

// TestNothingBrought: a configuration that speaks of a program's own parts needs them.
func TestNothingBrought(t *testing.T) {
	for set, field := range map[string]string{"loss.name=own": "Loss", "mine.positives=own": "Positives",
		"mine.negatives=own": "Negatives", "sample.name=own": "Sampler"} {
		_, err := Train(t.Context(), customConfig(t, set), Options{Dataset: newFeatures(6, 12, 8)})
		if err == nil || !strings.Contains(err.Error(), "run.Options."+field) {
			t.Errorf("%s: %v", set, err)
		}
	}
}

// TestLoaderConfig: a loader made by hand gives the network what Embed does.
func TestLoaderConfig(t *testing.T) {
	ctx := context.Background()
	d := newBlobs(4, 8, 32)
	cfg := smallConfig(t)
	cfg.Train.Epochs, cfg.Data.Pixels, cfg.Data.Label, cfg.Data.Augment = 1, "symmetric", "", "light"
	res, err := Train(ctx, cfg, Options{Dataset: d})
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{Config: res.Config, Net: res.Net}
	want, err := m.EmbedPart(ctx, d.All())
	if err != nil {
		t.Fatal(err)
	}
	how, err := m.LoaderConfig()
	if err != nil {
		t.Fatal(err)
	}
	l, err := data.NewLoader(d.All(), how)
	if err != nil {
		t.Fatal(err)
	}
	row := 0
	for b, err := range train.Images(l).Epoch(ctx, 0, [][]int{{0, 1, 2, 3, 4}, {20, 21}}) {
		if err != nil {
			t.Fatal(err)
		}
		e := m.Net.Infer(b.X, len(b.Pos))
		for k, pos := range b.Pos {
			if !slices.Equal(e.Row(k), want.X.Row(pos)) {
				t.Errorf("sample %d: %v, and Embed has %v", pos, e.Row(k), want.X.Row(pos))
			}
			row++
		}
	}
	if row != 7 {
		t.Errorf("%d samples", row)
	}
}

func TestIdleCauses(t *testing.T) {
	triplet := objective.Options{Mine: objective.MiningConfig{Negatives: objective.SemiHardNegative}}
	for _, c := range []struct {
		s    train.Totals
		o    objective.Options
		want string // "" for an epoch that taught something
	}{
		{train.Totals{}, triplet, ""},
		{train.Totals{Steps: 3, Samples: 96, Tuples: 100, Active: 1}, triplet, ""},
		{train.Totals{Steps: 3, Samples: 96, NoNegative: 96, NoPositive: 96}, triplet, "sample.classes"},
		{train.Totals{Steps: 3, Samples: 96, NoPositive: 96}, triplet, "no sample had a positive"},
		{train.Totals{Steps: 3, Samples: 96, NoPositive: 6, NoCandidate: 90}, triplet,
			"mine.negatives=semihard accepted no negative"},
		{train.Totals{Steps: 3, Samples: 96, NoPositive: 6, NoCandidate: 90},
			objective.Options{Mine: objective.MiningConfig{Positives: objective.SemiHardPositive,
				Negatives: objective.HardNegative}},
			"mine.positives=semihard found no positive nearer than the negative for any of 90 samples"},
		{train.Totals{Steps: 3, Samples: 96, NoPositive: 6, NoCandidate: 90},
			objective.Options{Mine: objective.MiningConfig{NegativeRange: objective.DistanceRange{From: new(3.0)}}},
			"90 times no candidate was within the range of distances: widen mine.positives_from"},
		{train.Totals{Steps: 3, Samples: 96, NoPositive: 40, NoNegative: 56}, triplet, "but never both"},
		{train.Totals{Steps: 3, Samples: 96, NoPositive: 90, Tuples: 6}, triplet, "90 of 96 samples had no positive"},
		{train.Totals{Steps: 3, Samples: 900, Tuples: 900, Active: 8, Fallbacks: 800}, triplet,
			"8 of 900 tuples were active: for 800 of 900 positives"},
		{train.Totals{Steps: 3, Samples: 900, Tuples: 900}, triplet, "satisfy the loss"},
		{train.Totals{Steps: 3, Samples: 9, NoPositive: 80, Tuples: 300}, objective.Options{Loss: &loss.ProxyAnchor{}},
			"satisfy the loss"},
	} {
		got := idleReason(&c.s, &c.o)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.s, got, c.want)
		}
	}
}

// A run whose loss is satisfied says so, epoch by epoch, and one with lonely
// classes how many there are.
func TestRunSaysWhatIsIdle(t *testing.T) {
	d := newFeatures(6, 40, 20)
	keep := d.Columns[0].IDs
	for i := range keep { // classes 4 and 5 train with one picture each
		if keep[i] >= 4 && i%40 > 0 && i%40 < 20 {
			keep[i] = 3
		}
	}
	cfg := Default()
	cfg.Network.Name, cfg.Train.Epochs = "linear", 3
	cfg.Loss["margin"] = 0.0001
	var said []string
	begin := func(s Setup) { said = append(said, s.Notes...) }
	res, err := Train(t.Context(), cfg, Options{Dataset: d, OnSetup: begin, Observe: func(e train.Event) {
		if e.Stage == train.EpochEnd && e.Row.Warning != "" {
			said = append(said, e.Row.Warning)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := res.Summary("")
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "2 of 6 training classes") || len(s.Warnings) == 0 {
		t.Fatalf("summary %+v", s)
	}
	if len(said) != 1+len(s.Warnings) || said[0] != s.Notes[0] || !strings.HasSuffix(s.Warnings[0], said[1]) ||
		!strings.Contains(said[1], "loss.margin") {
		t.Errorf("said %q, summed up as %q", said, s.Warnings)
	}
}
