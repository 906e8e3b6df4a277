package run

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/train"

	"github.com/google/go-cmp/cmp"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/nn/optim"
)

func TestUsualSize(t *testing.T) {
	for _, c := range []struct{ w, h, channels, want int }{
		{28, 28, 1, 28}, {64, 64, 3, 64}, {1, 1, 1, 1},
		{65, 65, 1, 40}, {65, 65, 3, 64}, {0, 0, 1, 40}, {0, 0, 3, 64},
		{28, 30, 1, 40}, {30, 28, 3, 64}, {105, 105, 1, 40},
	} {
		if got := usualSize(c.w, c.h, c.channels); got != c.want {
			t.Errorf("%d x %d x %d: %d, want %d", c.w, c.h, c.channels, got, c.want)
		}
	}
}

func TestSettleImages(t *testing.T) {
	type settled struct {
		network, fit   string
		size, channels int
		normalize      Switch
	}
	images := func(side int) *data.Dataset { return newBlobs(2, 2, side) }
	for name, c := range map[string]struct {
		d    *data.Dataset
		set  []string
		want settled
	}{
		"digits":    {images(28), nil, settled{"mnist", "stretch", 28, 1, On}},
		"small":     {images(16), nil, settled{"conv4", "stretch", 16, 1, On}},
		"drawings":  {images(105), nil, settled{"conv4", "stretch", 40, 1, On}},
		"in colour": {images(28), []string{"data.channels=3"}, settled{"conv4", "cover", 28, 3, On}},
		"as they are set": {images(28), []string{"data.fit=cover", "data.size=20", "network.name=mlp",
			"network.normalize=true", "network.dim=2"}, settled{"mlp", "cover", 20, 1, On}},
		"2 dimensions": {images(28), []string{"network.dim=2"}, settled{"mnist", "stretch", 28, 1, Off}},
		"3 dimensions": {images(28), []string{"network.dim=3"}, settled{"mnist", "stretch", 28, 1, Off}},
		"4 dimensions": {images(28), []string{"network.dim=4"}, settled{"mnist", "stretch", 28, 1, On}},
		"features":     {newFeatures(2, 2, 3), nil, settled{"mlp", "", 0, 0, On}},
		"linear":       {newFeatures(2, 2, 3), []string{"network.name=linear"}, settled{"linear", "", 0, 0, On}},
	} {
		cfg, err := Parse("test", nil, c.set...)
		if err != nil {
			t.Fatal(err)
		}
		r := recipe{divided: &divided{started: &started{opened: &opened{cfg: cfg, data: c.d}}}}
		if err := r.settleImages(); err != nil {
			t.Fatal(err)
		}
		r.settleNetwork()
		n, d := &r.cfg.Network, &r.cfg.Data
		got := settled{n.Name, d.Fit, d.Size, d.Channels, n.Normalize}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
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
		s := &started{opened: &opened{cfg: cfg, data: newBlobs(4, 10, 8)}}
		sel, err := s.selectData(t.Context())
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
		if sel.Seen != nil && overlap(sel.Seen, sel.Train) {
			t.Error("a sample is seen and trained on")
		}
	}
	a, b := &data.Part{Index: []int{1, 5}}, &data.Part{Index: []int{2, 3}}
	if overlap(a, b) || !overlap(a, &data.Part{Index: []int{3, 5}}) {
		t.Error("overlap")
	}
}

func TestLimitAndSpread(t *testing.T) {
	p := &data.Part{Index: []int{9, 8, 7, 6, 5}, Label: []int64{0, 0, 1, 1, 1}, Fine: []int64{3, 4, 3, 3, 4}}
	for n, want := range map[int][]int{0: {9, 8, 7, 6, 5}, 1: {9, 8}, 2: {9, 8, 7, 5}, 3: {9, 8, 7, 6, 5}} {
		if got := limit(p, n); !slices.Equal(got.Index, want) {
			t.Errorf("limit %d: %v, want %v", n, got.Index, want)
		}
	}
	if got := limit(p, 1); !slices.Equal(got.Label, []int64{0, 0}) || !slices.Equal(got.Fine, []int64{3, 4}) {
		t.Errorf("labels %v, %v", got.Label, got.Fine)
	}
	for n, want := range map[int][]int{-1: {9, 8, 7, 6, 5}, 1: {9}, 2: {9, 7}, 3: {9, 8, 6}, 4: {9, 8, 7, 6},
		5: {9, 8, 7, 6, 5}, 6: {9, 8, 7, 6, 5}} {
		if got := spread(p, n); !slices.Equal(got.Index, want) {
			t.Errorf("spread %d: %v, want %v", n, got.Index, want)
		}
	}
}

func TestSamePartition(t *testing.T) {
	for _, c := range []struct {
		a, b []int64
		want bool
	}{
		{nil, nil, true},
		{[]int64{0, 1, 0}, []int64{5, 6, 5}, true},
		{[]int64{0, 1, 0}, []int64{5, 5, 5}, false},
		{[]int64{0, 0, 0}, []int64{5, 6, 5}, false},
		{[]int64{0, 1, 2}, []int64{2, 0, 1}, true},
		{[]int64{0, 1, 1}, []int64{0, 1, 0}, false},
	} {
		if got := samePartition(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %v", c.a, c.b, got)
		}
	}
}

func TestClassName(t *testing.T) {
	names := []string{"a", "b"}
	for id, want := range map[int64]string{-1: "-1", 0: "a", 1: "b", 2: "2"} {
		if got := className(names, id); got != want {
			t.Errorf("%d: %q, want %q", id, got, want)
		}
	}
}

func TestMetricsOf(t *testing.T) {
	cfg := Default()
	cfg.Eval.Recall, cfg.Eval.Metrics = []int{1, 2}, []string{"recall@2", "map@r", "fine:nmi", "label:ami"}
	recall := func(k int) eval.Metric { return eval.Metric{Kind: eval.Recall, K: k} }
	for _, last := range []bool{false, true} {
		got, err := cfg.metricsOf(last)
		if err != nil {
			t.Fatal(err)
		}
		for column, want := range map[string][]string{"fine": {"recall@1", "recall@2", "map@r", "nmi"},
			"label": {"recall@1", "recall@2", "map@r", "ami"}} {
			if !last {
				want = want[:2]
			}
			var names []string
			for _, m := range got[column] {
				names = append(names, m.String())
			}
			if !slices.Equal(names, want) || got[column][1] != recall(2) {
				t.Errorf("last %v, %s: %v, want %v", last, column, names, want)
			}
		}
	}
}

func TestHistoryToTheLetter(t *testing.T) {
	history := []train.Epoch{
		{Epoch: 1, LR: 0.5, Sums: train.Sums{Steps: 4, Loss: 2, Gradient: 6, Tuples: 8, Active: 2, Anchors: 7,
			NoPositive: 1, NoNegative: 2, NoCandidate: 3, Fallbacks: 5}},
		{Epoch: 2, LR: 0.25, Metrics: []train.Metric{
			{Set: "test", Column: "fine", Name: "recall@1", Value: 0.125},
			{Set: "test", Column: "label", Name: "recall@1", Value: 1},
		}},
	}
	var b strings.Builder
	if err := writeHistory(&b, history); err != nil {
		t.Fatal(err)
	}
	want := `epoch,steps,lr,loss,gradient,tuples,active,anchors,no_positive,no_negative,no_candidate,fallbacks,test_recall@1,test_label_recall@1
1,4,0.5,0.5,1.5,8,2,7,1,2,3,5,,
2,0,0.25,0,0,0,0,0,0,0,0,0,0.125,1
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	res := &Result{History: history, Scores: history[1].Metrics, Epoch: 2, Params: 9, Wait: 0.5,
		Took: 1234567 * time.Microsecond}
	res.History[1].Warning = "idle"
	s := res.Summary("d")
	want2 := Summary{
		Dir: "d", Epoch: 2, Epochs: 2, Steps: 4, Parameters: 9, Seconds: 1.235, WaitedForData: 0.5,
		Metrics:  map[string]float64{"test_recall@1": 0.125, "test_label_recall@1": 1},
		Warnings: []string{"epoch 2: idle"},
	}
	if d := cmp.Diff(want2, s); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// TestTimingReadsWhatItWrote, and leaves out what later epochs or damaged lines
// say.
func TestTimingReadsWhatItWrote(t *testing.T) {
	dir := t.TempDir()
	list := []timing{{1, 2 * time.Second, 500 * time.Millisecond, 100}, {2, 0, time.Second, 0}, {4, time.Second, 0, 7}}
	var b strings.Builder
	if err := writeTiming(&b, list); err != nil {
		t.Fatal(err)
	}
	want := timingHeader + "1,2.000,0.500,100,50.0\n2,0.000,1.000,0,0.0\n4,1.000,0.000,7,7.0\n"
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	text := strings.Replace(b.String(), "4,1", "2,1,1,1,1\nx,1,1,1,1\n3,1\n4,1", 1)
	if err := put(dir, "timing.csv"); err != nil { // one line that is none
		t.Fatal(err)
	}
	path := dir + "/timing.csv"
	if got := readTiming(path, 9); got != nil {
		t.Errorf("read %v", got)
	}
	write(t, path, text)
	for epochs, n := range map[int]int{0: 0, 1: 1, 2: 2, 3: 2, 4: 3, 5: 3} {
		if got := readTiming(path, epochs); !slices.Equal(got, list[:n]) {
			t.Errorf("of %d epochs: %v, want %v", epochs, got, list[:n])
		}
	}
	if got := readTiming(dir+"/none", 9); got != nil {
		t.Errorf("read %v", got)
	}
}

// TestRates follows the rate of the first steps, and the step of a parameter of
// the network and one of the loss, which Adam moves by its rate at first.
//
// Long: a way to take steps, and a table of them.
func TestRates(t *testing.T) {
	const batches = 4
	steps := func(cfg TrainConfig, rate float64, n int) (rates []float64, net, own float32) {
		c := Default()
		c.Network.Name, c.Network.Dim = "linear", 2
		spec, err := networkSpec(&c, nil, 1, 1, 3)
		if err != nil {
			t.Fatal(err)
		}
		nn, _, err := newNetwork(&c, nil, "", spec)
		if err != nil {
			t.Fatal(err)
		}
		p := &loss.Param{Name: "beta", Shape: []int{1}, Value: []float32{1}, Grad: []float32{1}, Rate: rate}
		o, err := newOptimizer(&cfg, batches, nn, learns{param: p}, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := nn.Params()[0]
		for i := range n {
			for k := range w.Grad {
				w.Grad[k] = 1
			}
			p.Grad[0] = 1
			before, ours := w.Value[0], p.Value[0]
			var s optim.Stats = o.Step()
			rates = append(rates, s.Rate)
			if i == 0 {
				net, own = before-w.Value[0], ours-p.Value[0]
			}
		}
		return rates, net, own
	}
	near := func(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }
	base := Default().Train
	base.LR = 0.01
	for name, c := range map[string]struct {
		rate   float64
		change func(*TrainConfig)
		own    float64
	}{
		"as the network": {0, func(*TrainConfig) {}, 0.01},
		"of the loss":    {0.5, func(*TrainConfig) {}, 0.5},
		"as set":         {0.5, func(c *TrainConfig) { c.LossLR = 0.25 }, 0.25},
	} {
		cfg := base
		c.change(&cfg)
		if _, net, own := steps(cfg, c.rate, 1); !near(float64(net), 0.01) || !near(float64(own), c.own) {
			t.Errorf("%s: steps of %v and %v, want 0.01 and %v", name, net, own, c.own)
		}
	}
	warm := base
	warm.Warmup, warm.Schedule, warm.Steps, warm.Gamma = 0.4, "step", []int{1, 2}, 0.5 // 1.6 steps are 2
	rates, _, _ := steps(warm, 0, 9)
	for i, want := range []float64{0.005, 0.01, 0.01, 0.01, 0.005, 0.005, 0.005, 0.005, 0.0025} {
		if !near(rates[i], want) {
			t.Errorf("step %d: rate %v, want %v (all: %v)", i, rates[i], want, rates)
		}
	}
	cosine := base
	cosine.Schedule, cosine.Epochs = "cosine", 2
	rates, _, _ = steps(cosine, 0, 9)
	if !near(rates[4], 0.005) || rates[7] <= 0 || !near(rates[8], 0) {
		t.Errorf("cosine over 8 steps: %v", rates)
	}
	// Momentum is of sgd alone: of a steady gradient the second step repeats 0.9
	// of the first and adds its own.
	for optimizer, want := range map[string]float64{"sgd": 1.9, "adam": 1} {
		cfg := base
		cfg.Optimizer, cfg.Momentum = optimizer, 0.9
		if got := secondStep(t, cfg); !near(got, want) {
			t.Errorf("%s: the second step is %v of the first, want %v", optimizer, got, want)
		}
	}
	decay := base
	decay.Optimizer = "adamw"
	if _, net, _ := steps(decay, 0, 1); !near(float64(net), 0.01) {
		t.Errorf("adamw without decay: a step of %v", net)
	}
	decay.WeightDecay = 0.5 // of the network, by rate x decay, and not of the loss
	if _, net, own := steps(decay, 0, 1); near(float64(net), 0.01) || !near(float64(own), 0.01) {
		t.Errorf("adamw with decay: steps of %v and %v", net, own)
	}
}

// secondStep returns how long the second step of a parameter is, as a multiple of
// the first, under a gradient of 1.
func secondStep(t *testing.T, cfg TrainConfig) float64 {
	t.Helper()
	c := Default()
	c.Network.Name, c.Network.Dim = "linear", 2
	spec, err := networkSpec(&c, nil, 1, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	net, _, err := newNetwork(&c, nil, "", spec)
	if err != nil {
		t.Fatal(err)
	}
	p := &loss.Param{Name: "beta", Shape: []int{1}, Value: []float32{0}, Grad: []float32{1}}
	o, err := newOptimizer(&cfg, 4, net, learns{param: p}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var at [3]float64
	for i := 1; i < 3; i++ {
		p.Grad[0] = 1
		o.Step()
		at[i] = float64(p.Value[0])
	}
	return (at[2] - at[1]) / at[1]
}

// What an epoch adds up is of its steps: nothing is taken away, nothing missed.
func TestSumsOfAnEpoch(t *testing.T) {
	cfg, err := Parse("test", nil, "network.name=mlp", "network.width=8", "network.dim=2", "sample.classes=2",
		"sample.per_class=16",
		"sample.batches=5", "train.epochs=1", "train.optimizer=sgd", "train.lr=1e-12", "loss.margin=100")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Train(t.Context(), cfg, Options{Dataset: hidden(1)})
	if err != nil {
		t.Fatal(err)
	}
	// A margin that no triplet keeps and a rate that moves nothing: every triplet
	// is active, and the loss is about the margin in each step.
	s := r.Last().Sums
	if s.Steps != 5 || s.Samples != 5*32 || s.Anchors != 5*32 || s.Tuples != 5*32 || s.Active != s.Tuples {
		t.Errorf("%+v: want 5 steps of 32 samples, an active triplet each", s)
	}
	if s.Gradient <= 0 || s.MeanLoss() < 50 || s.MeanLoss() > 110 {
		t.Errorf("gradient %v, mean loss %v: want a positive one, and about the margin of 100", s.Gradient,
			s.MeanLoss())
	}
}
