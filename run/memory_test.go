package run

import (
	"context"
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run/internal/feed"
	"github.com/kindred-ml/kindred/train"
)

// setMemoryLimit sets the limit of package budget for one test.
func setMemoryLimit(t *testing.T, bytes int64) {
	t.Helper()
	old := debug.SetMemoryLimit(bytes)
	t.Cleanup(func() { debug.SetMemoryLimit(old) })
}

// parsed reads a configuration given as overrides.
func parsed(t *testing.T, overrides ...string) Config {
	t.Helper()
	cfg, err := Parse("test", nil, overrides...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// The plan is compared with what is alive in the middle of training.
func TestMemoryPlanAgainstMeasured(t *testing.T) {
	for _, c := range []struct {
		name     string
		side     int
		settings []string
	}{
		{"conv4", 32, []string{"sample.per_class=16"}},
		{"conv4 with a memory", 20, []string{"sample.per_class=16", "loss.memory=4000", "network.dim=512"}},
		{"resnet18", 16, []string{"network.name=resnet18", "sample.per_class=4", "train.optimizer=sgd"}},
		{"adapters", 32, []string{"network.name=vit_t16", "network.width=192", "network.patch=8",
			"network.lora={rank: 4}", "sample.per_class=4"}},
		{"conv4 in pieces", 32, []string{"sample.per_class=48", "train.chunk=16"}},
		{"mlp with proxies", 0, []string{"network.name=mlp", "network.width=2000", "network.dim=256",
			"loss.name=softtriple", "loss.centers=500", "sample.per_class=16"}},
	} {
		d := newFeatures(4, 64, 500)
		if c.side > 0 {
			d = newBlobs(4, 64, c.side)
		}
		cfg := parsed(t, append([]string{"train.epochs=1", "sample.batches=3", "sample.classes=4", "eval.batch=16"},
			c.settings...)...)
		alive := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		before := alive()
		var plan MemoryPlan
		var measured int64
		ctx, stop := context.WithCancel(t.Context())
		_, err := Train(ctx, cfg, Options{
			Dataset: d, OnSetup: func(s Setup) { plan = s.Memory },
			Observe: func(e train.Event) {
				if e.Stage == train.Stepped && e.Step == 3 {
					measured = alive() - before
					stop() // scoring takes longer
				}
			}})
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		t.Logf("%s: planned %s, measured %s", c.name, plan, budget.Format(measured))
		if r := float64(plan.Total()) / float64(measured); r < 0.6 || r > 2 {
			t.Errorf("%s: planned %s, measured %s", c.name, plan, budget.Format(measured))
		}
	}
}

// Every setting that can be absurd is refused with the figure, before its memory
// is taken.
func TestAbsurdSettingsAreRefusedWithTheFigure(t *testing.T) {
	images, features := newBlobs(4, 16, 16), newFeatures(4, 16, 10)
	setMemoryLimit(t, 256<<20)
	for _, c := range []struct {
		setting, part string
		settings      []string
	}{
		{"network.width=100000", "network", []string{"network.name=conv4"}},
		{"network.width=1000000", "network", []string{"network.name=mlp", "network.dim=1000000"}},
		{"network.dim=1000000", "network", []string{"network.name=conv4"}},
		{"network.multiple=60", "network", []string{"network.name=resnet18"}},
		{"sample.batches=2000000000", "batches", nil},
		{"loss.centers=1000000000", "loss", []string{"loss.name=softtriple"}},
		{"loss.memory=2000000000", "loss", []string{"loss.name=contrastive", "train.epochs=1000000000"}},
		{"data.size=4096", "activations", []string{"network.name=conv4"}},
		{"loss.plus=[{name: softtriple, centers: 1000000000}]", "loss", nil},
	} {
		d := images
		if len(c.settings) > 0 && c.settings[0] == "network.name=mlp" {
			d = features
		}
		cfg := parsed(t, append(c.settings, c.setting)...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Train(context.Background(), cfg, Options{Dataset: d})
		runtime.ReadMemStats(&after)
		var e *budget.Error
		if !errors.As(err, &e) || e.Need <= 256<<20 || !strings.Contains(err.Error(), c.part+" ") ||
			!strings.Contains(err.Error(), "the limit is 256 MiB") {
			t.Errorf("%s: error %v", c.setting, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
			t.Errorf("%s: took %s", c.setting, budget.Format(int64(n)))
		}
	}
	// A batch has no more samples than there are.
	if _, err := Train(context.Background(), parsed(t, "network.name=linear", "sample.per_class=2147483647",
		"sample.batches=1", "train.epochs=1", "eval.batch=2147483647"), Options{Dataset: features}); err != nil {
		t.Errorf("per_class of 2^31: %v", err)
	}
}

// planOf plans a small network with chosen numbers.
func planOf(t *testing.T, p planInput, overrides ...string) MemoryPlan {
	t.Helper()
	cfg := parsed(t, append([]string{"network.dim=3", "eval.batch=1", "train.epochs=10"}, overrides...)...)
	spec, err := zoo.Network("linear", zoo.Options{Input: nn.Shape{H: 1, W: 1, C: 5}, Dim: 3})
	if err != nil {
		t.Fatal(err)
	}
	p.spec = spec
	if p.objective == nil {
		p.objective = &objective.Options{}
	}
	plan, err := planMemory(&cfg, p)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// A linear network of 5 inputs and 3 outputs has 18 parameters and takes three
// times its largest activation of 5 values.
func TestMemoryPlanCounts(t *testing.T) {
	base := planInput{classes: 7, batch: 10, batches: 6, scored: 100, largest: 60}
	want := MemoryPlan{
		Network: 4 * (18 + 18), Optimizer: 4 * 2 * 18, Activations: 4 * 10 * 15,
		Batches: 4*3*10*5 + 8*6*(3+10), Pairs: 4 * 4 * 10 * 10, Embeddings: 4 * 100 * 3,
	}
	if got := planOf(t, base); got != want {
		t.Errorf("plan %+v, want %+v", got, want)
	}
	sgd := want
	sgd.Optimizer = 4 * 18
	if got := planOf(t, base, "train.optimizer=sgd"); got != sgd {
		t.Errorf("sgd: plan %+v, want %+v", got, sgd)
	}
	eval := want
	eval.Activations, eval.Batches = 4*60*15, 4*3*60*5+8*6*13
	if got := planOf(t, base, "eval.batch=1000"); got != eval {
		t.Errorf("large evaluations: plan %+v, want %+v", got, eval)
	}
	proxied := base
	proxied.objective = &objective.Options{Loss: &loss.SoftTriple{Centers: 2}}
	p := want
	p.Loss, p.Optimizer, p.Pairs = 4*2*7*2*3, 4*2*(18+7*2*3), 4*4*10*14
	if got := planOf(t, proxied); got != p {
		t.Errorf("proxies: plan %+v, want %+v", got, p)
	}
	queued := base
	queued.objective = &objective.Options{Loss: &loss.Contrastive{}, Memory: 50}
	q := want
	q.Loss, q.Pairs = 4*2*50*3, 4*4*10*60
	if got := planOf(t, queued); got != q {
		t.Errorf("memory: plan %+v, want %+v", got, q)
	}
	queued.objective.Memory = 1 << 30 // never filled: one epoch has 60 samples
	q.Loss, q.Pairs = 4*2*60*3, 4*4*10*70
	if got := planOf(t, queued, "train.epochs=1"); got != q {
		t.Errorf("unfilled memory: plan %+v, want %+v", got, q)
	}
	large := base
	large.batch, large.scored, large.largest = 10_000, 0, 1
	if got := planOf(t, large).Pairs; got != 4*4*4096*4096 {
		t.Errorf("a large batch goes in blocks: pairs take %d", got)
	}
	large.objective = &objective.Options{Loss: loss.Angular{}}
	if got := planOf(t, large).Pairs; got != 4*4*10_000*10_000 {
		t.Errorf("a loss over the whole batch: pairs take %d", got)
	}
	both := queued
	both.objective = &objective.Options{Loss: &loss.Contrastive{},
		Plus: []objective.Weighted{{Options: *proxied.objective}}}
	b := p
	if got := planOf(t, both); got != b {
		t.Errorf("a further loss: plan %+v, want %+v", got, b)
	}
}

// TestPlanCountsScoredSets: all samples of evaluations, and batches as large as
// the largest set has.
func TestPlanCountsScoredSets(t *testing.T) {
	plan := func(batch string) (p MemoryPlan) {
		cfg := parsed(t, "train.epochs=1", "sample.batches=1", "sample.classes=2", "sample.per_class=2",
			"sample.views=1", "eval.batch="+batch)
		_, err := Train(context.Background(), cfg, Options{Dataset: newBlobs(4, 30, 20),
			OnSetup: func(s Setup) { p = s.Memory }})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	small, forty, large := plan("4"), plan("40"), plan("5000")
	if forty.Activations != 10*small.Activations {
		t.Errorf("activations of batches of 4 and 40: %d and %d", small.Activations, forty.Activations)
	}
	if large.Activations != 15*small.Activations { // a set has 60 samples
		t.Errorf("activations of batches of 4 and of a whole set: %d and %d", small.Activations, large.Activations)
	}
	if small.Embeddings == 0 || small.Embeddings != large.Embeddings {
		t.Errorf("embeddings take %d and %d", small.Embeddings, large.Embeddings)
	}
}

func TestMemoryPlanShowsItsLargestParts(t *testing.T) {
	p := MemoryPlan{Network: 100 << 20, Activations: 1 << 30, Pairs: 1 << 20, Loss: 100 << 20}
	if got, want := p.String(), "1.2 GiB (activations 1 GiB, network 100 MiB, loss 100 MiB)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if p.Total() != 1<<30+201<<20 {
		t.Errorf("total %d", p.Total())
	}
	if got := (MemoryPlan{}).String(); got != "0 B (network 0 B, loss 0 B, optimizer 0 B, activations 0 B, batches 0 "+
		"B, pairs 0 B, embeddings 0 B, features 0 B)" {
		t.Errorf("an empty plan: %q", got)
	}
	if got := (MemoryPlan{Pairs: math.MaxInt64, Loss: 1}).Total(); got != math.MaxInt64 {
		t.Errorf("overflow: %d", got)
	}
}

func TestEmbeddingIsPlanned(t *testing.T) {
	spec, err := zoo.Network("linear", zoo.Options{Input: nn.Shape{H: 1, W: 1, C: 100}, Dim: 10})
	if err != nil {
		t.Fatal(err)
	}
	// 20 at a time take 3 x 100 x 20 for the network, as much for the samples;
	// 50 embeddings of 10 numbers.
	need := int64(4 * (20*(300+300) + 500))
	setMemoryLimit(t, need)
	if err := feed.CheckMemory(spec, 50, 20); err != nil {
		t.Errorf("all of the limit: %v", err)
	}
	if err := feed.CheckMemory(spec, 20, 1000); err != nil {
		t.Errorf("a batch larger than the set: %v", err)
	}
	setMemoryLimit(t, need-1)
	if err := feed.CheckMemory(spec, 50, 20); err == nil ||
		!strings.Contains(err.Error(), "embedding 50 samples, 20 at a time: needs 48.8 KiB") {
		t.Errorf("error %v", err)
	}
}

// TestFitsByPieces: from a pretrained start a batch that would take more than the limit
// goes through the network in pieces, and the run says so; where even small pieces are
// too large it is refused as ever, and pieces that were asked for stay.
func TestFitsByPieces(t *testing.T) {
	plan := func(limit int64, set ...string) (*Setup, error) {
		cfg, err := Parse("", nil, append(set, "network.width=16", "train.epochs=1", "eval.batch=4", "sample.classes=6",
			"sample.per_class=8")...)
		if err != nil {
			t.Fatal(err)
		}
		if limit > 0 {
			setMemoryLimit(t, limit)
		}
		return Plan(t.Context(), cfg, Options{Dataset: newPhotos(6, 24, 64), Weights: smallStart(t, 64)})
	}
	whole, err := plan(0)
	if err != nil {
		t.Fatal(err)
	}
	total := whole.Memory.Total()
	pieces, err := plan(total * 3 / 4)
	if err != nil {
		t.Fatal(err)
	}
	c := pieces.Config.Train.Chunk
	if c < minChunk || c >= whole.Batch || pieces.Memory.Total() > total*3/4 {
		t.Errorf("train.chunk is %d of a batch of %d, %d bytes of %d", c, whole.Batch, pieces.Memory.Total(), total)
	}
	if !slices.ContainsFunc(pieces.Notes, func(n string) bool { return strings.HasPrefix(n, "train.chunk is ") }) {
		t.Errorf("notes %q", pieces.Notes)
	}
	if _, err := plan(total*3/4, "train.chunk=47"); err == nil || !strings.Contains(err.Error(), "--memory") {
		t.Errorf("with pieces that were asked for: %v", err)
	}
	if _, err := plan(total*3/4, "network.pretrained=none"); err == nil || !strings.Contains(err.Error(), "--memory") {
		t.Errorf("from scratch: %v", err)
	}
}
