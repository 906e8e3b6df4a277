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
	// Power makes a class of s samples come up in proportion to s^Power: 0, the
	// default, for all classes alike, 1 for as often as its samples are frequent,
	// 0.5 between. Every class still comes up at least once an epoch, and none
	// twice in a batch.
	Power float64
	Seed  uint64
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
	quotas  []int // visits of each class in an epoch, if Power is not 0
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
	if err := b.setQuotas(); err != nil {
		return nil, err
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
	classes := b.dealer(rng)
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
			batch = fill(batch, b.classes[c], b.cfg.PerClass, samples[c])
		}
		out[k] = batch
	}
	return out
}

// fill appends n samples of a class, distinct ones as long as there are.
func fill(batch, class []int, n int, from *rounds) []int {
	var picks []int
	for n > 0 {
		picks = from.take(min(n, len(class)), picks)
		for _, p := range picks {
			batch = append(batch, class[p])
		}
		n -= len(picks)
	}
	return batch
}

// dealer deals the classes of one batch after the other.
type dealer interface{ take(k int, dst []int) []int }

func (b *Balanced) dealer(rng *rand.Rand) dealer {
	if b.quotas == nil {
		return newRounds(len(b.classes), rng)
	}
	return &quotas{left: slices.Clone(b.quotas), batches: b.batches, rng: rng}
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
