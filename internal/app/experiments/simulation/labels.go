package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// tryLabels tries the probability of a label. Photos are identified, and half of them belong to the
// gallery's classes, and the stated probabilities are compared with the outcomes. The error of one
// gallery is its ECE; a calibration breaks its promise if the ECE of its gallery exceeds the
// printed one by more than 0.05.
func tryLabels(ctx context.Context, a options, out func(promiseLine)) error {
	for _, w := range newWorlds() {
		if !a.world.MatchString(w.name) {
			continue
		}
		for _, n := range []int{20, 50, 150} {
			for _, g := range []int{10, 50} {
				for _, mixed := range []bool{false, true} {
					// The error is printed for galleries of at most as many classes. Ten classes in two
					// whole groups are not a sample of classes.
					if g > n || g == 10 && !mixed {
						continue
					}
					l, err := w.tryLabelSize(ctx, a, n, g, mixed)
					if err != nil {
						return err
					}
					out(l)
				}
			}
		}
	}
	return nil
}

const eceBins = 15

// bins has, by probability, the weight, the stated and the right share.
type bins [eceBins][3]float64

func (b *bins) add(p, right, weight float64) {
	k := min(int(p*eceBins), eceBins-1)
	b[k][0] += weight
	b[k][1] += weight * p
	b[k][2] += weight * right
}

func (b *bins) ece() float64 {
	var sum, all float64
	for _, v := range b {
		all += v[0]
		sum += math.Abs(v[1] - v[2])
	}
	return sum / all
}

// tryLabelSize tries one size of calibration and gallery. If mixed is set, strangers may belong to the
// groups of the gallery's classes.
func (w *world) tryLabelSize(ctx context.Context, a options, n, g int, mixed bool) (promiseLine, error) {
	others := "other groups"
	if mixed {
		others = "any group"
	}
	l := promiseLine{promise: "label probability", allowed: 0.05,
		world: fmt.Sprintf("%s, %d classes, gallery of %d, strangers of %s", w.name, n, g, others)}
	var said float64
	var pooled bins
	for trial := range a.numTrials(max(20, 2_000/n)) {
		rng := rand.New(rand.NewPCG(a.seed, uint64(trial)<<16|uint64(n)))
		x, labels := w.draw(rng, equalSizes(n, photos))
		c, err := decide.Calibrate(ctx, x, labels, decide.Options{})
		if err != nil {
			return l, err
		}
		said += c.Score.Reliability.ECE
		in := make([]bool, g+strangers)
		for k, class := range rng.Perm(len(in))[:g] {
			if !mixed {
				class = k
			}
			in[class] = true
		}
		one, err := w.identify(ctx, c, rng, in, &pooled)
		if err != nil {
			return l, err
		}
		l.addTrial(one.ece(), c.Score.Reliability.ECE+0.05)
	}
	l.note = fmt.Sprintf("printed %.3f, all trials together %.3f", said/float64(l.trials), pooled.ece())
	return l, nil
}

// identify draws len(in) classes. Half of the photos of the classes that are in form the gallery;
// the others, and as many photos of strangers, are identified.
func (w *world) identify(ctx context.Context, c *decide.Calibration, rng *rand.Rand, in []bool,
	pooled *bins) (one bins, err error) {
	x, labels := w.draw(rng, equalSizes(len(in), 2*photos))
	var gallery, probes []int
	var names []string
	for i, class := range labels {
		first := i%(2*photos) < photos
		switch {
		case in[class] && first:
			gallery, names = append(gallery, i), append(names, strconv.Itoa(int(class)))
		case in[class], first:
			probes = append(probes, i)
		}
	}
	s := split{by: eval.Euclidean, gallery: gallery, names: names}
	d, err := s.decider(ctx, c, x)
	if err != nil {
		return one, err
	}
	said, err := s.decideRows(ctx, d, x, probes)
	if err != nil {
		return one, err
	}
	known := float64(len(gallery))
	for p, i := range probes {
		said := &said[p]
		weight, right := 1/(float64(len(probes))-known), 0.0
		if in[labels[i]] {
			weight = 1 / known
		}
		if said.Label == strconv.Itoa(int(labels[i])) {
			right = 1
		}
		one.add(said.Probability, right, weight)
		pooled.add(said.Probability, right, weight)
	}
	return one, nil
}

func selectRows(x *matrix.Dense, rows []int) *matrix.Dense {
	out := matrix.New(len(rows), x.Cols)
	for k, i := range rows {
		copy(out.Row(k), x.Row(i))
	}
	return out
}
