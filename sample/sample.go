// Package sample draws batches of dataset indices. In: the labels of a training
// set. Out: batches in which every class present has several samples, so that
// an anchor finds positives.
package sample

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Config describes batches of Classes x PerClass samples.
type Config struct {
	Classes  int // classes in a batch; default 8, at most those there are
	PerClass int // samples of each; default 4
	// Batches is the length of an epoch. By default it is the larger of
	// ceil(samples / batch size) and ceil(classes there are / Classes), so that
	// an epoch draws about as many samples as there are and visits every class.
	Batches int
	Seed    uint64
}

// State is where a sampler stands: at the start of which epoch.
type State struct {
	Epoch int `json:"epoch"`
}

// Balanced draws class-balanced batches.
//
// An epoch is Batches batches. Classes are visited in rounds: each round is a
// fresh random order of all classes, and batches take consecutive classes, a
// class that would come twice into one batch giving way to others. So the
// number of visits differs by one at most between classes when a round ends,
// and every class is visited if Batches x Classes suffices. Within a class
// samples are visited in rounds in the same way: PerClass distinct samples
// where the class has that many, otherwise each of its samples as often as
// another, give or take one.
//
// The batches of an epoch depend on the seed and the epoch's number only.
type Balanced struct {
	cfg     Config
	classes [][]int // indices by class, classes by ascending label
	labels  []int64
	batches int
	epoch   int
}

// New groups labels. It is an error if there are none or the configuration
// cannot be met.
func New(labels []int64, cfg Config) (*Balanced, error) {
	if len(labels) == 0 {
		return nil, fmt.Errorf("sampling: no samples")
	}
	if cfg.Classes < 0 || cfg.PerClass < 0 || cfg.Batches < 0 {
		return nil, fmt.Errorf("sampling: classes %d, per_class %d, batches %d: none may be negative", cfg.Classes, cfg.PerClass, cfg.Batches)
	}
	b := &Balanced{cfg: cfg}
	at := map[int64]int{}
	for _, y := range labels {
		if _, ok := at[y]; !ok {
			at[y] = 0
			b.labels = append(b.labels, y)
		}
	}
	slices.Sort(b.labels)
	for c, y := range b.labels {
		at[y] = c
	}
	b.classes = make([][]int, len(b.labels))
	for i, y := range labels {
		b.classes[at[y]] = append(b.classes[at[y]], i)
	}
	if b.cfg.Classes == 0 {
		b.cfg.Classes = min(8, len(b.classes))
	}
	if b.cfg.PerClass == 0 {
		b.cfg.PerClass = 4
	}
	if b.cfg.Classes > len(b.classes) {
		return nil, fmt.Errorf("sampling: %d classes a batch, but the training set has %d", b.cfg.Classes, len(b.classes))
	}
	b.batches = b.cfg.Batches
	if b.batches == 0 {
		size := b.cfg.Classes * b.cfg.PerClass
		b.batches = max(ceilDiv(len(labels), size), ceilDiv(len(b.classes), b.cfg.Classes))
	}
	return b, nil
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// Batches returns the number of batches in an epoch.
func (b *Balanced) Batches() int { return b.batches }

// BatchSize returns the number of samples in a batch.
func (b *Balanced) BatchSize() int { return b.cfg.Classes * b.cfg.PerClass }

// State returns the number of the next epoch.
func (b *Balanced) State() State { return State{b.epoch} }

// Restore continues at s.
func (b *Balanced) Restore(s State) error {
	if s.Epoch < 0 {
		return fmt.Errorf("sampling: state of epoch %d", s.Epoch)
	}
	b.epoch = s.Epoch
	return nil
}

// Epoch returns the batches of the next epoch: indices into the labels, those
// of one class together. They are the caller's to keep.
func (b *Balanced) Epoch() [][]int {
	rng := rand.New(rand.NewPCG(b.cfg.Seed, uint64(b.epoch)^0x5a3b1e))
	b.epoch++
	classes := newRounds(len(b.classes), rng)
	samples := make([]*rounds, len(b.classes))
	out := make([][]int, b.batches)
	var chosen []int
	for k := range out {
		batch := make([]int, 0, b.BatchSize())
		chosen = classes.take(b.cfg.Classes, chosen)
		for _, c := range chosen {
			if samples[c] == nil {
				samples[c] = newRounds(len(b.classes[c]), rng)
			}
			left := b.cfg.PerClass
			for left > 0 {
				var picks []int
				picks = samples[c].take(min(left, len(b.classes[c])), picks)
				for _, p := range picks {
					batch = append(batch, b.classes[c][p])
				}
				left -= len(picks)
			}
		}
		out[k] = batch
	}
	return out
}

// rounds deals 0..n-1 in rounds: every number once a round, in an order drawn
// anew for each.
type rounds struct {
	order []int
	next  int
	rng   *rand.Rand
}

func newRounds(n int, rng *rand.Rand) *rounds {
	r := &rounds{order: make([]int, n), rng: rng}
	for i := range r.order {
		r.order[i] = i
	}
	r.shuffle()
	return r
}

// shuffle starts a round.
func (r *rounds) shuffle() {
	r.rng.Shuffle(len(r.order), func(i, j int) { r.order[i], r.order[j] = r.order[j], r.order[i] })
	r.next = 0
}

// take appends k <= n distinct numbers to dst[:0]. Where a round ends within
// them the next begins with numbers not yet among them.
func (r *rounds) take(k int, dst []int) []int {
	dst = dst[:0]
	n := len(r.order)
	tail := min(k, n-r.next)
	dst = append(dst, r.order[r.next:r.next+tail]...)
	r.next += tail
	if tail == k {
		return dst
	}
	// The numbers just dealt stand at the end of the old order. In the new
	// round they are kept out of its first k - tail places.
	r.shuffle()
	want := k - tail
	for i, at := 0, 0; at < want; i++ {
		if !slices.Contains(dst[:tail], r.order[i]) {
			r.order[at], r.order[i] = r.order[i], r.order[at]
			at++
		}
	}
	dst = append(dst, r.order[:want]...)
	r.next = want
	return dst
}
