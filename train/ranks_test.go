package train

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ranktest"
)

// outcome is what a rank ends with.
type outcome struct {
	cfg Config
	res *Result
	err error
}

// runRanks trains a run on so many ranks. change, if set, prepares a rank's configuration.
func runRanks(ctx context.Context, size int, configured func() Config, change func(rank int, c *Config)) []outcome {
	out := make([]outcome, size)
	var all sync.WaitGroup
	for r, m := range ranktest.New(size) {
		c := configured()
		c.Ranks = m
		if change != nil {
			change(r, &c)
		}
		all.Go(func() {
			res, err := Loop(ctx, c)
			out[r] = outcome{c, res, err}
		})
	}
	all.Wait()
	return out
}

// TestRanks checks that any number of ranks trains the network of one process, to the bit: with
// batch norm by the piece, dropout, a loss that learns, and a memory of earlier batches.
func TestRanks(t *testing.T) {
	for name, configured := range map[string]func() Config{
		"images, statistics of each piece": func() Config {
			c := pictureConfig(t, 40, false)
			c.MicroBatch, c.Epochs = 5, 2
			return c
		},
		"images, kept statistics, pieces of unequal size": func() Config {
			c := pictureConfig(t, 40, true)
			c.MicroBatch, c.Epochs = 6, 2
			return c
		},
		"rows, a learned margin, a memory": func() Config {
			c := small(t, 3)
			c.MicroBatch = 1
			return c
		},
	} {
		alone := configured()
		want, err := Loop(t.Context(), alone)
		if err != nil {
			t.Fatal(name, err)
		}
		for size := 1; size <= 5; size++ {
			for r, got := range runRanks(t.Context(), size, configured, nil) {
				what := fmt.Sprintf("%s, rank %d of %d", name, r, size)
				if got.err != nil {
					t.Errorf("%s: %v", what, got.err)
					continue
				}
				sameRun(t, what, alone.Network, got.cfg.Network, want.History, got.res.History)
				for i, p := range got.cfg.Objective.Params() {
					if !slices.Equal(p.Value, alone.Objective.Params()[i].Value) {
						t.Errorf("%s: the loss's %s differs", what, p.Name)
					}
				}
			}
		}
	}
}

// TestRanksGoOn checks that every checkpoint of a run on three ranks goes on to the same bits on
// any other number, and on one process without ranks.
func TestRanksGoOn(t *testing.T) {
	configured := func() Config {
		c := small(t, 2)
		c.MicroBatch = 1
		return c
	}
	var w written
	whole := runRanks(t.Context(), 3, configured, func(rank int, c *Config) {
		if rank == 0 {
			c.Store = &w
		}
	})
	if whole[0].err != nil {
		t.Fatal(whole[0].err)
	}
	for k, file := range w.files {
		again := func() Config {
			c := configured()
			c.Resume = reread(t, file)
			return c
		}
		alone := again()
		res, err := Loop(t.Context(), alone)
		if err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprint("from checkpoint ", k)
		sameRun(t, what, whole[0].cfg.Network, alone.Network, whole[0].res.History, res.History)
		for _, got := range runRanks(t.Context(), 1+k%4, again, nil) {
			if got.err != nil {
				t.Fatal(what, got.err)
			}
			sameRun(t, what, whole[0].cfg.Network, got.cfg.Network, whole[0].res.History, got.res.History)
		}
	}
}

// TestRanksStop checks that all ranks stop at the same step when one of them is told to.
func TestRanksStop(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	configured := func() Config {
		c := small(t, 50)
		c.MicroBatch = 1
		return c
	}
	stores := make([]written, 3)
	out := make([]outcome, 3)
	var all sync.WaitGroup
	for r, m := range ranktest.New(3) {
		c := configured()
		c.Ranks, c.Store = m, &stores[r]
		own := t.Context()
		if r == 1 {
			own = ctx
			steps := 0
			c.Observe = func(e Event) {
				if e.Stage == Stepped {
					if steps++; steps == 7 {
						stop()
					}
				}
			}
		}
		all.Go(func() {
			res, err := Loop(own, c)
			out[r] = outcome{c, res, err}
		})
	}
	all.Wait()
	for r, o := range out {
		var stopped *StoppedError
		if !errors.As(o.err, &stopped) || stopped.Epoch != 3 || stopped.Step != 1 {
			t.Errorf("rank %d: %v, want a stop after 7 steps of 3 an epoch", r, o.err)
		}
		last := stores[r].files[len(stores[r].files)-1]
		if first := stores[0].files[len(stores[0].files)-1]; !slices.Equal(last, first) {
			t.Errorf("rank %d keeps another checkpoint than rank 0", r)
		}
	}
}

// missing is data of which a sample cannot be read.
type missing struct{ Data }

func (d missing) Epoch(ctx context.Context, epoch int, batches [][]int) iter.Seq2[Batch, error] {
	less := make([][]int, len(batches))
	for i, b := range batches {
		less[i] = b[1:]
	}
	return d.Data.Epoch(ctx, epoch, less)
}

func TestRanksMistakes(t *testing.T) {
	cfg := small(t, 1)
	cfg.Ranks = ranktest.New(1)[0]
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "MicroBatch") {
		t.Errorf("without pieces: %v", err)
	}
	cfg.MicroBatch, cfg.Network = 2, struct{ MicroBatchNetwork }{cfg.Network.(MicroBatchNetwork)}
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "moments") {
		t.Errorf("a network that cannot hold moments back: %v", err)
	}
	configured := func() Config {
		c := small(t, 1)
		c.MicroBatch = 3
		return c
	}
	for r, o := range runRanks(t.Context(), 3, configured, nil) {
		if o.err == nil || !strings.Contains(o.err.Error(), "6 samples in pieces of at most 3 is 2 pieces") {
			t.Errorf("rank %d has no piece: %v", r, o.err)
		}
	}
	lacks := runRanks(t.Context(), 1, configured, func(_ int, c *Config) { c.Data = missing{c.Data} })
	if err := lacks[0].err; err == nil || !strings.Contains(err.Error(), "a sample cannot be read") {
		t.Errorf("a sample that cannot be read: %v", err)
	}
	broken := runRanks(t.Context(), 1, configured, func(_ int, c *Config) {
		c.Ranks.(*ranktest.Rank).Fail = errors.New("the wire is cut")
	})
	if r := (*RankError)(nil); !errors.As(broken[0].err, &r) || !strings.Contains(broken[0].err.Error(), "wire") {
		t.Errorf("a wire that is cut: %v", broken[0].err)
	}
}

// TestTree checks for all numbers of pieces and ranks that every piece has one rank, and that the
// owner of a node is the rank of its first piece.
func TestTree(t *testing.T) {
	var walk func(n node, f func(node))
	walk = func(n node, f func(node)) {
		f(n)
		if !n.isLeaf() {
			left, right := n.halves()
			if left.lo != n.lo || left.hi != right.lo || right.hi != n.hi || left.hi-left.lo < right.hi-right.lo {
				t.Fatalf("%v has halves %v and %v", n, left, right)
			}
			walk(left, f)
			walk(right, f)
		}
	}
	for count := 1; count <= 17; count++ {
		for size := 1; size <= count; size++ {
			at := 0
			for r := range size {
				s := rankNode(count, r, size)
				if s.lo != at || s.hi <= s.lo {
					t.Fatalf("%d pieces, %d ranks: rank %d has %v", count, size, r, s)
				}
				at = s.hi
			}
			if at != count {
				t.Fatalf("%d pieces, %d ranks: %d are shared out", count, size, at)
			}
			walk(node{0, count}, func(n node) {
				if s := rankNode(count, ownerRank(n, count, size), size); n.lo < s.lo || n.lo >= s.hi {
					t.Fatalf("%d pieces, %d ranks: %v is owned by who has %v", count, size, n, s)
				}
			})
		}
	}
}
