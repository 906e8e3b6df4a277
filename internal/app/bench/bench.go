// Package bench holds the timed cases of `kindred bench`, compares them with the
// same work in other toolkits, and writes docs/bench.md and README's table from
// the figures kept in docs/bench.
package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/nn"
)

// NumTurns is the number of turns of a case. Its figures are the median, the least and
// the largest of the turns.
const NumTurns = 5

const (
	// turnTime is the time for which a turn repeats its work, at least once.
	turnTime = 100 * time.Millisecond
	// cold is the time of a repetition above which cold caches do not matter, so
	// that a turn begins without an uncounted repetition.
	cold = 250 * time.Millisecond
)

// Case is one piece of work to be timed.
type Case struct {
	Name  string
	About string
	// Items is the number of images, queries or steps of one run.
	Items int
	// Long leaves the case out unless it is named: a run takes more than 10 s on two cores.
	Long bool
	// Setup prepares the inputs. It returns the work, and the floating-point
	// operations of a run (0 if they have no meaning).
	Setup func() (work func() error, flops float64, err error)
	// Layers repeats a network's work runs times after Setup and returns the total
	// time of each layer. It is nil for other work.
	Layers func(runs int) ([]nn.LayerTime, error)
	// Network returns, after Setup, the network of an evaluation and its images, n of them. Peers
	// that read networks compute the same. It is nil for other work, and where they cannot.
	Network func() (net *nn.Net, images []float32, n int)
}

// Times are the median, the least and the largest of the turns, in milliseconds
// of one run.
type Times struct {
	MedianMS float64 `json:"median_ms"`
	MinMS    float64 `json:"min_ms"`
	MaxMS    float64 `json:"max_ms"`
}

func summarizeTurns(turns []float64) Times {
	return Times{MedianMS: median(turns), MinMS: slices.Min(turns), MaxMS: slices.Max(turns)}
}

// Result has the times of a case.
type Result struct {
	Case string `json:"case"`
	Times
	PerS   float64    `json:"per_s,omitempty"` // items per second at the median
	GFLOPS float64    `json:"gflops,omitempty"`
	Peer   *PeerTimes `json:"peer,omitempty"`  // the fastest variant of all peers
	Ratio  float64    `json:"ratio,omitempty"` // its median over ours: above 1 kindred is faster
	Layers []Layer    `json:"layers,omitempty"`

	// Variants are the times of all variants of all peers.
	Variants []PeerTimes `json:"variants,omitempty"`
}

// PeerTimes has the times of one variant of a peer.
type PeerTimes struct {
	// Tool is what did the work, with its version, such as "ONNX Runtime 1.30". It is empty
	// in records with one peer: Record.peerNames names it.
	Tool    string `json:"tool,omitempty"`
	Variant string `json:"variant"`
	Times
}

// Name returns the toolkit, and the variant if it is not the plain one of the case.
func (p PeerTimes) Name(of string) string {
	return strings.TrimSpace(p.Tool + " " + strings.TrimPrefix(p.Variant, of))
}

// Run times a case in turns: a turn of ours and one of each variant of each peer,
// Turns times. Peers may be nil. A case that no peer has is timed alone. It is an
// error if a peer fails: without it, the ratio might not be to the fastest.
func Run(ctx context.Context, c Case, peers ...*Peer) (Result, error) {
	work, flops, err := c.Setup()
	if err != nil {
		return Result{}, fmt.Errorf("bench %s: %w", c.Name, err)
	}
	theirs := make([]*session, 0, len(peers))
	for _, p := range peers {
		if p == nil {
			continue
		}
		session, err := p.start(ctx, c)
		if err != nil {
			return Result{}, cmp.Or(ctx.Err(), err) // an interrupted peer reports that it was killed
		}
		defer session.close()
		theirs = append(theirs, session)
	}
	w := worker{name: c.Name, work: work}
	ours := make([]float64, NumTurns)
	for i := range ours {
		if ours[i], err = w.runTurn(ctx); err != nil {
			return Result{}, err
		}
		for _, session := range theirs {
			if err := session.runTurn(); err != nil {
				return Result{}, cmp.Or(ctx.Err(), err)
			}
		}
	}
	r := Result{Case: c.Name, Times: summarizeTurns(ours)}
	r.PerS = float64(c.Items) / r.MedianMS * 1e3
	r.GFLOPS = flops / r.MedianMS / 1e6
	for _, session := range theirs {
		r.Variants = append(r.Variants, session.times()...)
	}
	if len(r.Variants) > 0 {
		best := slices.MinFunc(r.Variants, func(a, b PeerTimes) int { return cmp.Compare(a.MedianMS, b.MedianMS) })
		r.Peer, r.Ratio = &best, best.MedianMS/r.MedianMS
	}
	return r, nil
}

// worker repeats a case's work.
type worker struct {
	name string
	work func() error
	last time.Duration // time of a repetition in the previous turn; 0 before the first turn
}

func (w *worker) runOnce(ctx context.Context) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := w.work(); err != nil {
		return 0, fmt.Errorf("bench %s: %w", w.name, err)
	}
	return time.Since(start), nil
}

// runTurn repeats the work for turnTime and returns the median of the repetitions
// in milliseconds. The first repetition is not counted unless repetitions take long.
func (w *worker) runTurn(ctx context.Context) (float64, error) {
	if w.last < cold {
		if _, err := w.runOnce(ctx); err != nil {
			return 0, err
		}
	}
	var ms []float64
	for spent := time.Duration(0); spent < turnTime; {
		d, err := w.runOnce(ctx)
		if err != nil {
			return 0, err
		}
		spent += d
		w.last = d
		ms = append(ms, d.Seconds()*1e3)
	}
	return median(ms), nil
}

// median returns the middle of x (the mean of the two middle values for an even
// count), leaving x sorted.
func median(x []float64) float64 {
	slices.Sort(x)
	n := len(x)
	if n%2 == 1 {
		return x[n/2]
	}
	return (x[n/2-1] + x[n/2]) / 2
}

// Select returns the cases with the given names, in that order, or without names all cases
// that are not Long. An unknown name is an error that lists the known names.
func Select(all []Case, names []string) ([]Case, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(all), func(c Case) bool { return c.Long }), nil
	}
	var picked []Case
	for _, n := range names {
		i := slices.IndexFunc(all, func(c Case) bool { return c.Name == n })
		if i < 0 {
			known := make([]string, len(all))
			for j, c := range all {
				known[j] = c.Name
			}
			return nil, fmt.Errorf("unknown case %q: must be one of %s", n, strings.Join(known, ", "))
		}
		picked = append(picked, all[i])
	}
	return picked, nil
}
