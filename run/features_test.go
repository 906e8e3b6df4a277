package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/home"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/train"
)

// setCacheDir makes dir the user's cache folder; "" none.
func setCacheDir(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData", "home"} {
		t.Setenv(name, dir)
	}
}

// frozenConfig trains a head on a small network that stays as it is.
func frozenConfig(t *testing.T, set ...string) Config {
	t.Helper()
	cfg, err := Parse("test", nil, append([]string{"network.freeze=body", "network.width=16", "train.epochs=3",
		"eval.recall=[1]", "eval.train=12", "data.augment=light"}, set...)...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func frozenRun(t *testing.T, opts Options, dir string, set ...string) *Result {
	t.Helper()
	opts.Dir = dir
	res, err := Train(t.Context(), frozenConfig(t, set...), opts)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// findNote returns the note that holds a text.
func findNote(notes []string, text string) string {
	for _, n := range notes {
		if strings.Contains(n, text) {
			return n
		}
	}
	return ""
}

// TestFrozenBody: a head on a frozen body begins as its features and ends no worse,
// the body stays as it is, and every byte of the run is the same whether features
// were computed, found, found damaged, or kept nowhere.
func TestFrozenBody(t *testing.T) {
	cache, dir := t.TempDir(), t.TempDir()
	setCacheDir(t, cache)
	opts := Options{Dataset: newPhotos(8, 10, 64), Weights: smallStart(t, 64)}
	first := frozenRun(t, opts, filepath.Join(dir, "first"))
	c := first.Config
	if c.Network.Dim != 256 || c.Network.Head != identityHead || c.Data.Views != 4 || c.Train.Depth != 1 ||
		c.Train.Best != marginDistractorsKey || len(first.Untrained) == 0 {
		t.Errorf("resolved to %+v %+v %+v", c.Network, c.Data, c.Train)
	}
	before, err1 := metricValue(first.Untrained, marginDistractorsKey)
	after, err2 := metricValue(first.Scores, marginDistractorsKey)
	if errors.Join(err1, err2) != nil || after < before {
		t.Errorf("ended at %v, began at %v: %v, %v", after, before, err1, err2)
	}
	fresh, err := newPlan(t.Context(), frozenConfig(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	moved := 0
	for i, p := range first.Net.Params() {
		same := slices.Equal(p.Value, fresh.network.net.Params()[i].Value)
		if !strings.HasPrefix(p.Name, "fc.") && !same {
			t.Errorf("%s was trained", p.Name)
		} else if !same {
			moved++
		}
	}
	if moved == 0 && first.Epoch > 0 {
		t.Error("nothing was trained")
	}
	again := frozenRun(t, opts, filepath.Join(dir, "again"))
	sameFolders(t, first.Dir, again.Dir)
	if n := findNote(again.Notes, "frozen body"); !strings.Contains(n, " 0 features computed") {
		t.Errorf("found: %q", n)
	}
	files, err := filepath.Glob(filepath.Join(cache, "kindred", "features", "photos-*.safetensors"))
	if err != nil || len(files) != 1+4 {
		t.Fatalf("kept: %v, %v", files, err)
	}
	for i, f := range files {
		if err := os.Truncate(f, int64(100*i)); err != nil {
			t.Fatal(err)
		}
	}
	damaged := frozenRun(t, opts, filepath.Join(dir, "damaged"))
	sameFolders(t, first.Dir, damaged.Dir)
	if n := findNote(damaged.Notes, files[1]); n == "" {
		t.Errorf("damage: %q", damaged.Notes)
	}
	if _, err := Train(t.Context(), frozenConfig(t, "train.chunk=3", "network.precision=bfloat16"), opts); err != nil {
		t.Errorf("in pieces: %v", err)
	}
	setCacheDir(t, "")
	nowhere := frozenRun(t, opts, filepath.Join(dir, "nowhere"))
	sameFolders(t, first.Dir, nowhere.Dir)
	if n := findNote(nowhere.Notes, "no place for a cache"); n == "" {
		t.Errorf("no cache: %q", nowhere.Notes)
	}
}

// TestFrozenEvaluation: what the whole network makes of images is what the head
// made of the features that were kept.
func TestFrozenEvaluation(t *testing.T) {
	setCacheDir(t, t.TempDir())
	opts := Options{Dataset: newPhotos(8, 10, 64), Weights: smallStart(t, 64)}
	res := frozenRun(t, opts, filepath.Join(t.TempDir(), "r"))
	m, err := Load(res.Dir)
	if err != nil {
		t.Fatal(err)
	}
	e, err := m.EmbedPart(t.Context(), res.Test.Part)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(e.X.Data[:e.X.Rows*e.X.Cols], res.Test.X.Data[:e.X.Rows*e.X.Cols]) || e.X.Rows != res.Test.X.Rows {
		t.Error("other embeddings from images than from features")
	}
}

// TestFrozenAndEmbed: what Embed keeps of a network is found by training on it, and
// is the same as without.
func TestFrozenAndEmbed(t *testing.T) {
	setCacheDir(t, t.TempDir())
	home, err := home.Features()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "internal", "network", "onnxnet", "testdata", "residual.onnx")
	d := newPhotos(8, 10, 64)
	m, _, err := Import(path, "", DataConfig{Pixels: "imagenet"})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := m.EmbedPart(t.Context(), d.All())
	if err != nil {
		t.Fatal(err)
	}
	m.Cache = home
	for range 2 {
		kept, err := m.EmbedPart(t.Context(), d.All())
		if err != nil || !slices.Equal(kept.X.Data, plain.X.Data) || !slices.Equal(kept.Pos, plain.Pos) {
			t.Fatalf("with a cache: %v", err)
		}
	}
	cfg := frozenConfig(t, "network.pretrained="+path, "network.width=0", "data.augment=none", "data.pixels=imagenet")
	res, err := Train(t.Context(), cfg, Options{Dataset: d})
	if err != nil {
		t.Fatal(err)
	}
	if n := findNote(res.Notes, "frozen body"); !strings.Contains(n, " 0 features computed") {
		t.Errorf("found: %q", n)
	}
}

// TestFrozenResume: a run that was interrupted in the middle of an epoch ends with
// the same bytes, and without its cache too.
func TestFrozenResume(t *testing.T) {
	dir := t.TempDir()
	opts := Options{Dataset: newPhotos(8, 10, 64), Weights: smallStart(t, 64)}
	setCacheDir(t, t.TempDir())
	set := []string{"sample.classes=2", "sample.per_class=4"}
	want := frozenRun(t, opts, filepath.Join(dir, "whole"), set...)
	for name, after := range map[string]int{"first step": 1, "second epoch": want.History[0].Steps + 2} {
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		o := opts
		o.Dir = filepath.Join(dir, name)
		o.Observe = func(e train.Event) {
			if e.Stage == train.Stepped {
				if steps++; steps == after {
					cancel()
				}
			}
		}
		_, err := Train(ctx, frozenConfig(t, set...), o)
		cancel()
		var stopped *StoppedError
		if !errors.As(err, &stopped) {
			t.Fatalf("%s: %v", name, err)
		}
		setCacheDir(t, t.TempDir())
		o.Resume, o.Observe = true, nil
		if _, err := Train(t.Context(), readConfig(t, o.Dir), o); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sameFolders(t, want.Dir, o.Dir)
	}
}

// TestFrozenTogether: two runs at once that share a cache, and one that is
// interrupted while it computes, leave files that are whole.
func TestFrozenTogether(t *testing.T) {
	cache, dir := t.TempDir(), t.TempDir()
	setCacheDir(t, cache)
	opts := Options{Dataset: newPhotos(8, 10, 64), Weights: smallStart(t, 64)}
	ctx, cancel := context.WithCancel(t.Context())
	o := opts
	o.FeatureProgress = func(done, _ int) {
		if done >= 16 {
			cancel()
		}
	}
	cfg := frozenConfig(t, "eval.batch=8")
	if _, err := Train(ctx, cfg, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(filepath.Join(cache, "kindred", "features")); err != nil || len(files) != 1 {
		t.Errorf("interrupted: %v, %v", files, err)
	}
	var all sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		all.Go(func() {
			o := opts
			o.Dir = filepath.Join(dir, name)
			if _, err := Train(t.Context(), cfg, o); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if !t.Failed() {
		sameFolders(t, filepath.Join(dir, "a"), filepath.Join(dir, "b"))
	}
}

// TestFrozenViews: an epoch shows one of a sample's augmented views, another epoch
// another one, and a sample that is in a batch twice comes in two.
func TestFrozenViews(t *testing.T) {
	setCacheDir(t, t.TempDir())
	opts := Options{Dataset: newPhotos(8, 10, 64), Weights: smallStart(t, 64)}
	tr, err := newPlan(t.Context(), frozenConfig(t, "data.views=3"), opts)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for epoch := range 20 {
		for b, err := range tr.feeds.training.Data.Epoch(t.Context(), epoch, [][]int{{5, 5, 7}}) {
			if err != nil || len(b.X) != 3*256 || slices.Equal(b.X[:256], b.X[256:512]) {
				t.Fatalf("%d values, or one view twice: %v", len(b.X), err)
			}
			seen[string(rune(1000*b.X[0]))+string(rune(1000*b.X[1]))] = true
		}
	}
	if len(seen) != 3 {
		t.Errorf("%d views of 3", len(seen))
	}
}

// unreadablePictures is a source of which one image cannot be read.
type unreadablePictures struct {
	pictures
	bad int
}

func (u unreadablePictures) Read(ctx context.Context, i int, dst *imaging.Image, dec *imaging.Decoder) error {
	if i == u.bad {
		return os.ErrInvalid
	}
	return u.pictures.Read(ctx, i, dst, dec)
}

// TestFrozenUnreadable: an image that cannot be read has no features and is left
// out, and ends a strict run.
func TestFrozenUnreadable(t *testing.T) {
	setCacheDir(t, t.TempDir())
	d := newPhotos(8, 10, 64)
	d.Source = unreadablePictures{d.Source.(pictures), 3}
	opts := Options{Dataset: d, Weights: smallStart(t, 64)}
	if _, err := Train(t.Context(), frozenConfig(t, "data.strict=true"), opts); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("error %v", err)
	}
	for range 2 {
		res, err := Train(t.Context(), frozenConfig(t), opts)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.LeftOut) != 1 {
			t.Errorf("left out: %+v", res.LeftOut)
		}
	}
}

// TestFrozenRefusals: what cannot be asked of a frozen body.
func TestFrozenRefusals(t *testing.T) {
	setCacheDir(t, t.TempDir())
	given := smallStart(t, 64)
	for text, c := range map[string]struct {
		d   *data.Dataset
		set []string
	}{
		"features has no body to freeze": {newFeatures(4, 12, 6), []string{"network.name=mlp"}},
		"equal the number of features":   {newPhotos(4, 10, 64), []string{"network.head=identity", "network.dim=9"}},
	} {
		_, err := newPlan(t.Context(), frozenConfig(t, c.set...), Options{Dataset: c.d, Weights: given})
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: error %v", c.set, err)
		}
	}
	lost := func(context.Context, string) (Start, error) {
		return Start{}, option.Errorf("no network here without %s", option.Option("weights.Home"))
	}
	flag := func(string) string { return "--weights-dir" }
	for _, opts := range []Options{{}, {Weights: lost}} {
		opts.Dataset = newPhotos(4, 10, 64)
		_, err := newPlan(t.Context(), frozenConfig(t), opts)
		if err == nil || !strings.Contains(err.Error(), "body would stay random") ||
			strings.HasSuffix(option.Text(err, flag), "here without --weights-dir") != (opts.Weights != nil) {
			t.Errorf("a frozen body without weights: error %v", err)
		}
		tr, err := newPlan(t.Context(), frozenConfig(t, "network.pretrained=none", "network.name=conv4"), opts)
		if err != nil {
			t.Fatalf("random features, asked for: %v", err)
		}
		tr.close()
	}
	if _, err := Parse("test", nil, "data.views=3"); err == nil ||
		!strings.Contains(err.Error(), "network.freeze=body") {
		t.Errorf("views without a frozen body: %v", err)
	}
}
