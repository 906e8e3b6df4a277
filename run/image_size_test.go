package run

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/train"
)

func TestSizes(t *testing.T) {
	for own, want := range map[int]string{
		224: "[224 192 160 128 96 64]", 64: "[64]", 96: "[96 64]", 100: "[100 96 64]", 32: "[32]", 0: "[0]",
		384: "[384 352 288 224 160 96]",
	} {
		if got := fmt.Sprint(sizeCandidates(own)); got != want {
			t.Errorf("%d: %s, want %s", own, got, want)
		}
	}
}

// newStripedData are photographs of 2 x side pixels whose classes differ in stripes: the finer
// ones need the larger images.
func newStripedData(classes, each, side int) *data.Dataset {
	var images pictures
	var names, labels []string
	for c := range classes {
		for i := range each {
			img := imaging.NewImage(side, side, 3)
			for y := range side {
				for x := range side {
					v := uint8(40 * ((x/(1+c) + y/(1+c*c)) % 2))
					for k := range 3 {
						img.Pix[(y*side+x)*3+k] = 100 + v*uint8(k+1)/2 + uint8((i*7+x*y)%5)
					}
				}
			}
			images, labels = append(images, img), append(labels, string(rune('a'+c)))
			names = append(names, fmt.Sprint(len(names)))
		}
	}
	d, err := data.New("stripes", names, labels, images)
	if err != nil {
		panic(err)
	}
	return d
}

// TestChooseSize: of many images the smallest size near the best is taken, of few the largest.
func TestChooseSize(t *testing.T) {
	for _, c := range []struct {
		recalls []float64
		images  int
		want    int
	}{
		{[]float64{0.956, 0.956, 0.956, 0.959, 0.942}, 294, 0}, {[]float64{0.916, 0.92, 0.93, 0.93, 0.92}, 299, 2},
		{[]float64{0.682, 0.714, 0.719, 0.681}, 1353, 2}, {[]float64{0.9, 0.903, 0.901}, 2000, 2},
		{[]float64{0.9, 0.903, 0.901}, 999, 0}, {[]float64{0.5}, 100, 0},
	} {
		if got, _ := chooseSize(c.recalls, c.images); got != c.want {
			t.Errorf("%v of %d images: size %d, want %d", c.recalls, c.images, got, c.want)
		}
	}
}

// TestMeasureSize: the size of few images is the largest whose Recall@1 is within half a point
// of the best, by a measurement that can be repeated with each size set; the banner says it.
func TestMeasureSize(t *testing.T) {
	d := newStripedData(6, 24, 96)
	opts := Options{Dataset: d, Weights: smallStart(t, 128)}
	cfg := Default()
	cfg.Network.Width = 16
	tr, err := newPlan(t.Context(), cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	part := sizeSample(tr.split, 1)
	recalls := map[int]float64{}
	best := 0.0
	for _, s := range sizeCandidates(128) {
		b, err := tr.start.newBareNet(&tr.cfg, s)
		if err != nil {
			t.Fatal(err)
		}
		if recalls[s], err = measureRecall(t.Context(), b, part, nil, 0, 0); err != nil {
			t.Fatal(err)
		}
		best = max(best, recalls[s])
	}
	want := 0
	for _, s := range sizeCandidates(128) {
		if recalls[s] >= best-0.005 {
			want = max(want, s)
		}
	}
	if tr.cfg.Data.Size != want || tr.start.side != 128 {
		t.Errorf("%d px of %v, want %d", tr.cfg.Data.Size, recalls, want)
	}
	note := fmt.Sprintf("data.size is %d, the largest size within half a point of the best: Recall@1 of the untrained "+
		"network on %d training images, in per cent: 128 px",
		want, part.Len())
	if !slices.ContainsFunc(tr.notes, func(n string) bool { return strings.HasPrefix(n, note) }) {
		t.Errorf("notes %q lack %q", tr.notes, note)
	}
	few, err := newPlan(t.Context(), cfg, Options{Dataset: newStripedData(6, 8, 96), Weights: opts.Weights})
	if err != nil {
		t.Fatal(err)
	}
	defer few.close()
	if few.cfg.Data.Size != 128 {
		t.Errorf("of few images: %d px, want the network's own", few.cfg.Data.Size)
	}
	cfg.Data.Size = 96
	set, err := newPlan(t.Context(), cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer set.close()
	if set.cfg.Data.Size != 96 || set.start.side != 128 || set.untrained == nil {
		t.Errorf("a size that is set: %d of %d, %v", set.cfg.Data.Size, set.start.side, set.untrained)
	}
}

// The sample to compare sizes on: of every class its share, two at least, and never a
// class of one; nothing of the test.
func TestSizeSample(t *testing.T) {
	p := &data.Part{}
	add := func(class int64, n int) {
		for range n {
			p.Index = append(p.Index, len(p.Index))
			p.Label, p.Fine = append(p.Label, class), append(p.Fine, class)
		}
	}
	add(0, 9000)
	for c := range int64(50) {
		add(1+c, 3)
	}
	add(99, 1)
	v := p.Subset([]int{0, 1})
	got := sizeSample(&split.Parts{Train: p, Validation: v}, 1)
	count := map[int64]int{}
	for _, y := range got.Fine {
		count[y]++
	}
	if got.Len() < 1500 || got.Len() > 2200 || count[99] != 0 || count[0] < 1500 || len(count) < 20 {
		t.Errorf("%d samples, %v", got.Len(), count)
	}
	for y, n := range count {
		if n < 2 {
			t.Errorf("class %d has %d samples", y, n)
		}
	}
	if again := sizeSample(&split.Parts{Train: p, Validation: v}, 1); !slices.Equal(again.Index, got.Index) {
		t.Error("the same seed draws another sample")
	}
	lone := &data.Part{Index: []int{0, 1}, Label: []int64{0, 1}, Fine: []int64{0, 1}}
	if s := sizeSample(&split.Parts{Train: lone}, 1); s != nil {
		t.Errorf("of classes of one: %+v", s)
	}
}

// TestUntrained: what stands before training is the untrained network at its own size,
// whatever size the run trains at; a run that does not beat it ends with it, says so, and
// can be loaded and resumed.
func TestUntrained(t *testing.T) {
	weights := smallStart(t, 128)
	opts := Options{Dataset: newPhotos(6, 12, 64), Weights: weights, Dir: filepath.Join(t.TempDir(), "a")}
	cfg, err := Parse("", nil, "network.width=16", "data.size=64", "train.epochs=2", "train.lr=30", "train.depth=1",
		"eval.recall=[1]", "data.augment=none", "loss.name=multisimilarity")
	if err != nil {
		t.Fatal(err)
	}
	res, err := Train(t.Context(), cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	if res.Epoch != 0 || res.Config.Data.Size != 128 ||
		!strings.Contains(res.Verdict, "the network before training is kept, at 128 px, with a layer computed from 48 "+
			"of the training samples (wccn): ") || res.WCCNSamples != 48 ||
		!strings.Contains(res.Verdict, "data.size=128: training used images of 64 px") {
		t.Fatalf("epoch %d at %d px: %q", res.Epoch, res.Config.Data.Size, res.Verdict)
	}
	start, err := weights(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	pre, err := nn.Load(filepath.Dir(start.Path), nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Load(opts.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if m.Net.Spec().Input.H != 128 || m.Config.Data.Size != 128 {
		t.Errorf("loaded for %v, %d px", m.Net.Spec().Input, m.Config.Data.Size)
	}
	for i, p := range pre.Params() {
		if !slices.Equal(p.Value, m.Net.Params()[i].Value) {
			t.Fatalf("%s is not that of the start", p.Name)
		}
	}
	e, err := m.EmbedPart(t.Context(), res.Test.Part)
	if err != nil || !slices.Equal(e.X.Data, res.Test.X.Data) {
		t.Errorf("the run folder's network gives other embeddings of the test (%v)", err)
	}
	weighed, err := os.ReadFile(filepath.Join(opts.Dir, nn.WeightsFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(opts.Dir, nn.WeightsFile)); err != nil {
		t.Fatal(err)
	}
	again := opts
	again.Resume = true
	same, err := Train(t.Context(), readConfig(t, opts.Dir), again)
	if err != nil {
		t.Fatal(err)
	}
	if same.Epoch != 0 || same.Config.Data.Size != 128 || fmt.Sprint(same.Scores) != fmt.Sprint(res.Scores) {
		t.Errorf("resumed: epoch %d at %d px, %v", same.Epoch, same.Config.Data.Size, same.Scores)
	}
	if w, err := os.ReadFile(filepath.Join(opts.Dir, nn.WeightsFile)); err != nil || !bytes.Equal(w, weighed) {
		t.Errorf("resumed: other weights (%v)", err)
	}
	if !slices.Equal(same.Test.X.Data, res.Test.X.Data) {
		t.Error("resumed: other embeddings of the test")
	}
	longer := readConfig(t, opts.Dir)
	longer.Train.Epochs = 3
	if res, err = Train(t.Context(), longer, again); err != nil || len(res.History) != 3 {
		t.Errorf("made longer: %v", err)
	}
}

// With an embedding layer the run cannot end with the bare features, but is compared
// with them.
func TestUntrainedBehindAHead(t *testing.T) {
	opts := Options{Dataset: newPhotos(6, 12, 64), Weights: smallStart(t, 128)}
	cfg, err := Parse("", nil, "network.width=16", "data.size=64", "network.dim=4", "network.head=random",
		"train.epochs=1", "eval.recall=[1]")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := newPlan(t.Context(), cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	if tr.untrained == nil || tr.untrained.mayKeep(&tr.cfg) || tr.untrained.net.Dim() == 4 {
		t.Fatalf("%+v", tr.untrained)
	}
	scored := func(v float64) []train.Metric {
		return []train.Metric{validationScore("map@r", v)}
	}
	got := (&trainer{plan: tr}).verdict(&train.Result{Epoch: 1, Untrained: scored(0.9), Metrics: scored(0.8)})
	if !strings.Contains(got, "worse than the features that it started from") || !strings.Contains(got, "0.8000") {
		t.Errorf("verdict %q", got)
	}
}

// A run that is interrupted while sizes are compared leaves nothing.
func TestMeasureSizeStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := filepath.Join(t.TempDir(), "a")
	cfg := Default()
	cfg.Network.Width = 16
	_, err := Train(ctx, cfg, Options{Dataset: newStripedData(6, 24, 96), Weights: smallStart(t, 128), Dir: dir,
		FeatureProgress: func(int, int) { cancel() }})
	if err == nil || ctx.Err() == nil {
		t.Errorf("error %v", err)
	}
	if _, err := Open(dir); err == nil {
		t.Error("there is a run folder")
	}
}
