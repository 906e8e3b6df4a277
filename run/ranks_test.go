package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/test/ranktest"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/train"
)

// trainRanks trains a configuration on so many ranks, of which rank 0 writes dir. change, if
// set, says what another rank has differently.
func trainRanks(ctx context.Context, size int, cfg func() Config, dir string, d func() *data.Dataset,
	change func(rank int, c *Config, o *Options)) []error {
	errs := make([]error, size)
	var all sync.WaitGroup
	for r, m := range ranktest.New(size) {
		c, o := cfg(), Options{Dataset: d(), Ranks: m}
		if r == 0 {
			o.Dir = dir
		}
		if change != nil {
			change(r, &c, &o)
		}
		all.Go(func() { _, errs[r] = Train(ctx, c, o) })
	}
	all.Wait()
	return errs
}

// TestRanks checks for a loss of each family, with memory, proxies, several views and batches by
// two levels, that ranks write the run folder of one process, to the byte: model, checkpoint,
// embeddings and scores.
func TestRanks(t *testing.T) {
	families := map[string]func(c *Config){
		"margin, easy positives, a memory": func(*Config) {},
		"proxies":                          func(c *Config) { c.Loss, c.Mine = Section{"name": "proxynca"}, Section{} },
		"classifier":                       func(c *Config) { c.Loss, c.Mine = Section{"name": "arcface"}, Section{} },
		"pairs": func(c *Config) {
			c.Loss, c.Mine = Section{"name": "ms"}, Section{"positives": "easy"}
		},
		"two views": func(c *Config) {
			c.Loss, c.Mine, c.Sample.Views = Section{"name": "supcon"}, Section{}, 2
			c.Data.Augment = "light"
		},
		"an average of the weights, the best epoch": func(c *Config) {
			c.Train.Average, c.Train.Best, c.Data.Validation = "1", "validation_map@r", "images:0.3"
		},
	}
	for name, family := range families {
		t.Run(name, func(t *testing.T) {
			cfg := func() Config {
				c := smallConfig(t)
				c.Train.Chunk = 3
				family(&c)
				return c
			}
			want := filepath.Join(t.TempDir(), "alone")
			if _, err := Train(t.Context(), cfg(), Options{Dir: want, Dataset: newBlobs(4, 20, 16)}); err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{2, 3, 4} {
				got := filepath.Join(t.TempDir(), "run")
				for r, err := range trainRanks(t.Context(), size, cfg, got, newSharedData, nil) {
					if err != nil {
						t.Fatalf("rank %d of %d: %v", r, size, err)
					}
				}
				sameFolders(t, want, got)
			}
		})
	}
}

func newSharedData() *data.Dataset { return newBlobs(4, 20, 16) }

// chunkedConfig is smallConfig with batches in pieces.
func chunkedConfig(t testing.TB) Config {
	t.Helper()
	c := smallConfig(t)
	c.Train.Chunk = 3
	return c
}

// TestRanksResume checks that a run that was stopped goes on with any other number of ranks, and
// without any, to the same bytes.
func TestRanksResume(t *testing.T) {
	cfg := func() Config { return chunkedConfig(t) }
	want := filepath.Join(t.TempDir(), "alone")
	if _, err := Train(t.Context(), cfg(), Options{Dir: want, Dataset: newSharedData()}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	for at, size := range []int{3, 2, 1, 4} {
		ctx, stop := context.WithCancel(t.Context())
		copied := t.TempDir()
		if at > 0 {
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
		}
		steps := 0
		errs := trainRanks(ctx, size, cfg, dir, newSharedData, func(r int, _ *Config, o *Options) {
			o.Resume = at > 0
			if r > 0 && at > 0 {
				o.Dir = filepath.Join(copied, "of"+string(rune('0'+r)))
				if err := os.CopyFS(o.Dir, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
			}
			if r == size-1 && at < 3 {
				o.Observe = func(e train.Event) {
					if e.Stage == train.Stepped {
						if steps++; steps == 4 {
							stop()
						}
					}
				}
			}
		})
		stop()
		for r, err := range errs {
			stopped := (*train.StoppedError)(nil)
			own := (*StoppedError)(nil)
			if at < 3 && !errors.As(err, &stopped) && !errors.As(err, &own) || at == 3 && err != nil {
				t.Fatalf("part %d, rank %d of %d: %v", at, r, size, err)
			}
		}
	}
	sameFolders(t, want, dir)
}

// TestRanksDiffer checks that ranks which would not train the same run are told before the first
// step, by name, and that nothing is written.
func TestRanksDiffer(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r int, c *Config, o *Options)
		want   string
	}{
		"other settings": {func(r int, c *Config, _ *Options) {
			if r == 2 {
				c.Train.LR = 0.5
			}
		}, `the configuration differs between rank 0 and rank 2: "lr: 0.01" and "lr: 0.5"`},
		"other data": {func(r int, _ *Config, o *Options) {
			if r == 1 {
				o.Dataset = newBlobs(4, 24, 16)
			}
		}, "the data (names and labels of the training samples) differs between rank 0 and rank 1"},
		"no pieces": {func(_ int, c *Config, _ *Options) { c.Train.Chunk = 0 },
			"train.chunk is not set: ranks share a batch by its pieces"},
		"too few pieces": {func(_ int, c *Config, _ *Options) { c.Train.Chunk = 8 },
			"train.chunk is 8: a batch of 16 has 2 pieces, too few for 3 ranks: set it to 5 or less"},
		"a loss of a program's own": {func(r int, _ *Config, o *Options) {
			if r == 1 {
				o.Loss = &loss.Margin{}
			}
		}, "the configuration differs between rank 0 and rank 1"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		errs := trainRanks(t.Context(), 3, func() Config { return chunkedConfig(t) }, dir, newSharedData, c.change)
		for r, err := range errs {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, rank %d: %v, want %q", name, r, err, c.want)
			}
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: a folder was written", name)
		}
	}
}
