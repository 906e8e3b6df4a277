package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// strangers is the least number of classes that the strangers of a trial belong to.
const strangers = 100

// tryStrangers tries the share of strangers that get a label. The classes of the gallery and of the strangers are
// drawn like those of the calibration.
func tryStrangers(ctx context.Context, a options, out func(promiseLine)) error {
	for _, w := range newWorlds() {
		if !a.world.MatchString(w.name) {
			continue
		}
		for _, n := range []int{20, 50, 100, 600} {
			for _, g := range []int{10, 20, 100} {
				l, err := w.tryGalleries(ctx, a, n, g)
				if err != nil {
					return err
				}
				out(l)
			}
		}
	}
	return nil
}

// tryGalleries tries galleries of g classes with calibrations on n classes.
func (w *world) tryGalleries(ctx context.Context, a options, n, g int) (promiseLine, error) {
	t := newTries(fmt.Sprintf("%s, %d classes, gallery of %d", w.name, n, g))
	for trial := range a.numTrials(max(20, 12_000/n)) {
		rng := rand.New(rand.NewPCG(a.seed, uint64(trial)<<16|uint64(n)))
		x, labels := w.draw(rng, w.drawSizes(rng, n))
		c, err := decide.Calibrate(ctx, x, labels, decide.Options{})
		if err != nil {
			return t.promiseLine, err
		}
		// At least as many classes as the calibration had, dealt to the gallery and to strangers: so the share of
		// strangers from a group of the gallery's classes is at most that of the calibration.
		others := max(n, g+strangers)
		x, labels = w.draw(rng, equalSizes(others, 2*photos))
		role := rng.Perm(others)
		s := split{by: eval.Euclidean}
		for i, class := range labels {
			first := i%(2*photos) < photos
			switch r := role[class]; {
			case r < g && first:
				s.gallery, s.names = append(s.gallery, i), append(s.names, strconv.Itoa(int(class)))
			case r < g:
				s.known, s.right = append(s.known, i), append(s.right, strconv.Itoa(int(class)))
			case first && r < g+max(n, strangers):
				s.strangers = append(s.strangers, i)
			}
		}
		if err := t.try(ctx, c, x, &s); err != nil {
			return t.promiseLine, err
		}
	}
	return t.finish(), nil
}

// split has the rows of a gallery, of photos of its classes and of strangers.
type split struct {
	by                        eval.Distance
	gallery, known, strangers []int
	names, right              []string // labels of the gallery and of the known photos
}

// galleryCounts counts galleries. Best is the share of known photos that are nearer to an item than 95 of
// 100 strangers are: what one distance could name at most if it were known.
type galleryCounts struct {
	promiseLine
	named, best, right float64
	n                  float64
}

// fpir is the rate that is tried.
const fpir = 0.05

func newTries(world string) *galleryCounts {
	return &galleryCounts{promiseLine: promiseLine{promise: fmt.Sprintf("FPIR %g", fpir), allowed: 0.05, world: world}}
}

// try decides about all photos of a split.
func (t *galleryCounts) try(ctx context.Context, c *decide.Calibration, x *matrix.Dense, s *split) error {
	d, err := s.decider(ctx, c, x)
	var refused *decide.RateError
	if errors.As(err, &refused) {
		t.refused++
	} else if err != nil {
		return err
	}
	t.n++
	in, far, err := s.decide(ctx, d, x, s.strangers, nil)
	if err != nil {
		return err
	}
	slices.Sort(far)
	within := far[len(far)/20]
	named, near, err := s.decide(ctx, d, x, s.known, &t.right)
	if err != nil {
		return err
	}
	for _, v := range near {
		if v < within {
			t.best += 1 / float64(len(near))
		}
	}
	t.named += named
	if d != nil {
		t.addTrial(in, fpir)
	}
	return nil
}

// decider measures the gallery.
func (s *split) decider(ctx context.Context, c *decide.Calibration, x *matrix.Dense) (*decide.Decider, error) {
	g, err := decide.MeasureGallery(ctx, c, selectRows(x, s.gallery), s.names, s.by)
	if err != nil {
		return nil, err
	}
	return c.Decider(g, decide.IdentifyOptions{FPIR: fpir})
}

// decide returns the share of rows that get a label, and the distance of each to the nearest item. right, if not nil,
// grows by the share with the right label. Without a Decider no row gets a label.
func (s *split) decide(ctx context.Context, d *decide.Decider, x *matrix.Dense, rows []int,
	right *float64) (named float64,
	nearest []float64, err error) {
	said, err := s.decideRows(ctx, d, x, rows)
	if err != nil {
		return 0, nil, err
	}
	each := 1 / float64(len(rows))
	for p := range rows {
		nearest = append(nearest, said[p].Nearest)
		if d != nil && !said[p].Unknown {
			named += each
			if right != nil && said[p].Label == s.right[p] {
				*right += each
			}
		}
	}
	return named, nearest, nil
}

// decideRows decides about rows. Without a Decider only Nearest is set.
func (s *split) decideRows(ctx context.Context, d *decide.Decider, x *matrix.Dense, rows []int) (
	[]decide.Decision, error) {
	const voters = 32
	k := min(voters, len(s.gallery))
	near, err := eval.Nearest(ctx, selectRows(x, rows), selectRows(x, s.gallery), k, eval.RankOptions{Distance: s.by})
	if err != nil {
		return nil, err
	}
	out := make([]decide.Decision, len(rows))
	for p, i := range rows {
		photo := decide.Photo{Vector: x.Row(i)}
		for q := range k {
			photo.Neighbours = append(photo.Neighbours, decide.Neighbour{Label: s.names[near.Row[p*k+q]],
				Distance: s.by.FromValue(near.Value[p*k+q])})
		}
		if out[p].Nearest = photo.Neighbours[0].Distance; d == nil {
			continue
		}
		if out[p], err = d.Decide([]decide.Photo{photo}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// finish returns the line, with what was named.
func (t *galleryCounts) finish() promiseLine {
	if t.n > 0 {
		t.note = fmt.Sprintf("named %.1f %% (right %.1f), by the best distance %.1f %%: %.2f", 100*t.named/t.n,
			100*t.right/t.n, 100*t.best/t.n, t.named/max(t.best, 1e-9))
	}
	return t.promiseLine
}
