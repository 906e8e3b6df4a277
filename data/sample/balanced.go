package sample

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/lists"
)

// BalancedConfig describes batches of Classes x PerClass samples, each in Views rows.
type BalancedConfig struct {
	// Classes is the number of classes in a batch. By default there are enough for a batch of
	// about 128 rows: at least 2, and at most all.
	Classes int
	// PerClass is the number of samples of each class. By default it is the median
	// size of the classes with more than one sample, at least 2 and at most 16. With
	// fewer than 8 classes in a batch it is the number that fills a batch of 128.
	PerClass int
	// Batches is the length of an epoch. By default it is the larger of
	// ceil(samples / batch size) and ceil(number of classes / Classes): then an epoch
	// draws about as many samples as the set has, and visits every class.
	Batches int
	// Power draws a class of s samples in proportion to s^Power: 0, the default,
	// draws all classes equally often, 1 in proportion to their size, 0.5 is in
	// between. Every class is still drawn at least once per epoch, and none twice in
	// a batch.
	Power float64
	// Views is the number of times that a batch lists each of its samples, at consecutive places,
	// for a loader that augments each place differently; default 1. objective.Batch.IDs must tell
	// the loss that these rows are one sample.
	Views int
	Seed  uint64
}

// SamplerState is the state of a sampler at the start of an epoch: the epoch's number.
type State struct {
	Epoch int `json:"epoch"`
}

// epochCounter is the common part of samplers.
type epochCounter struct {
	size    int // number of samples in a batch, without views
	batches int // number of batches in an epoch
	epoch   int // number of the next epoch
}

// Batches returns the number of batches in an epoch.
func (e *epochCounter) Batches() int { return e.batches }

// State returns the number of the next epoch.
func (e *epochCounter) State() State { return State{e.epoch} }

// Restore continues from s.
func (e *epochCounter) Restore(s State) error {
	if s.Epoch < 0 {
		return fmt.Errorf("sampling: state of epoch %d", s.Epoch)
	}
	e.epoch = s.Epoch
	return nil
}

// Balanced draws class-balanced batches.
//
// An epoch has Batches batches. Classes are visited in rounds: each round is a
// new random order of all classes, and batches take consecutive classes. If a class
// would be drawn twice in one batch, other classes go first. At the end of a round
// the numbers of visits therefore differ by at most one between classes, and every
// class is visited if Batches x Classes is large enough. Within a class, samples are
// visited in rounds in the same way.
//
// Except for Views, no sample is drawn twice in a batch. A class with fewer than
// PerClass samples gives all it has, and further classes, dealt in separate rounds,
// fill the batch. If the batch then contains all classes, the larger classes give
// more than PerClass. Thus a class of one sample never forms a positive pair, and all
// batches have the same size.
//
// The batches of an epoch depend only on the seed and the epoch's number.
type Balanced struct {
	epochCounter
	cfg     BalancedConfig
	classes [][]int // indices by class, classes by ascending label
	sizes   []int   // of the classes
	quotas  []int   // visits of each class in an epoch, if Power is not 0
}

// NewBalanced groups labels. It is an error if there are no labels or too few for the
// configuration.
func NewBalanced(labels []int64, cfg BalancedConfig) (*Balanced, error) {
	if len(labels) == 0 {
		return nil, fmt.Errorf("sampling: no samples")
	}
	if cfg.Classes < 0 || cfg.PerClass < 0 || cfg.Batches < 0 || cfg.Views < 0 {
		return nil, fmt.Errorf("sampling: classes %d, per_class %d, batches %d, views %d: none may be negative",
			cfg.Classes, cfg.PerClass, cfg.Batches, cfg.Views)
	}
	if cfg.Views > maxViews {
		return nil, fmt.Errorf("sampling: views is %d: must be at most %d", cfg.Views, maxViews)
	}
	b := &Balanced{cfg: cfg}
	of, different := lists.Rank[int](labels)
	b.classes = lists.Places(of, len(different))
	for _, c := range b.classes {
		b.sizes = append(b.sizes, len(c))
	}
	b.cfg.resolve(b.sizes)
	if b.cfg.Classes > len(b.classes) {
		return nil, fmt.Errorf("sampling: %d classes a batch, but the training set has %d", b.cfg.Classes,
			len(b.classes))
	}
	b.size = len(labels)
	if b.cfg.PerClass <= len(labels)/b.cfg.Classes {
		b.size = b.cfg.Classes * b.cfg.PerClass
	}
	b.batches = b.cfg.Batches
	if b.batches == 0 {
		b.batches = max(ceilDiv(len(labels), b.size), ceilDiv(len(b.classes), b.cfg.Classes))
	}
	if err := b.setQuotas(); err != nil {
		return nil, err
	}
	return b, nil
}

// batchSize is the approximate number of rows in a batch by default.
const batchSize = 128

// maxViews keeps a typing mistake from filling the memory.
const maxViews = 1024

// resolve fills in the defaults for classes of the given sizes.
func (c *BalancedConfig) resolve(sizes []int) {
	c.Views = max(c.Views, 1)
	samples := max(2, batchSize/c.Views)
	if c.PerClass == 0 {
		most := max(2, samples/min(8, len(sizes)))
		if c.Classes > 0 {
			most = max(2, samples/c.Classes)
		}
		c.PerClass = min(max(2, medianSize(sizes)), most)
	}
	if c.Classes == 0 {
		c.Classes = min(max(2, samples/c.PerClass), len(sizes))
	}
}

// medianSize returns the median of the sizes above 1, the lower one of two; 0 if no size is
// above 1.
func medianSize(sizes []int) int {
	var several []int
	for _, n := range sizes {
		if n > 1 {
			several = append(several, n)
		}
	}
	if len(several) == 0 {
		return 0
	}
	slices.Sort(several)
	return several[(len(several)-1)/2]
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// BatchSize returns the number of rows in a batch: Classes x PerClass samples, or
// all if there are fewer, times Views.
func (b *Balanced) BatchSize() int { return b.size * b.cfg.Views }

// Config returns the configuration with its defaults filled in, except Batches.
func (b *Balanced) Config() BalancedConfig { return b.cfg }

// Epoch returns the batches of the next epoch as indices into the labels. Samples of one class
// are together. The caller may keep the batches.
func (b *Balanced) Epoch() [][]int {
	rng := rand.New(rand.NewPCG(b.cfg.Seed, uint64(b.epoch)^0x5a3b1e))
	b.epoch++
	classes := b.dealer(rng)
	samples := make([]*rounds, len(b.classes))
	out := make([][]int, b.batches)
	parts := allocation{sizes: b.sizes, perGroup: b.cfg.PerClass, rng: rng}
	var dealt, picks []int
	for k := range out {
		batch := make([]int, 0, b.size)
		dealt = classes.take(b.cfg.Classes, dealt)
		parts.fill(dealt, b.size)
		for g, c := range parts.groups {
			if samples[c] == nil {
				samples[c] = newRounds(len(b.classes[c]), rng)
			}
			picks = samples[c].take(parts.counts[g], picks)
			for _, p := range picks {
				batch = append(batch, b.classes[c][p])
			}
		}
		out[k] = repeatViews(batch, b.cfg.Views)
	}
	return out
}

// repeatViews lists every sample of a batch once for each view.
func repeatViews(batch []int, views int) []int {
	if views == 1 {
		return batch
	}
	out := make([]int, 0, len(batch)*views)
	for _, i := range batch {
		for range views {
			out = append(out, i)
		}
	}
	return out
}

// dealer deals the classes of the batches, one batch after the other.
type dealer interface{ take(k int, dst []int) []int }

func (b *Balanced) dealer(rng *rand.Rand) dealer {
	if b.quotas == nil {
		return newRounds(len(b.classes), rng)
	}
	return &quotas{left: slices.Clone(b.quotas), batches: b.batches, rng: rng}
}

// rounds deals 0..n-1 in rounds: every number once in each round, in a new random order.
type rounds struct {
	order []int
	next  int
	rng   *rand.Rand
}

func newRounds(n int, rng *rand.Rand) *rounds {
	r := &rounds{order: lists.Indices(n), rng: rng}
	r.shuffle()
	return r
}

// shuffle starts a round.
func (r *rounds) shuffle() {
	r.rng.Shuffle(len(r.order), func(i, j int) { r.order[i], r.order[j] = r.order[j], r.order[i] })
	r.next = 0
}

// take appends k <= n distinct numbers to dst[:0]. If a round ends within them, the next round
// begins with numbers that are not yet among them.
func (r *rounds) take(k int, dst []int) []int {
	dst = dst[:0]
	n := len(r.order)
	tail := min(k, n-r.next)
	dst = append(dst, r.order[r.next:r.next+tail]...)
	r.next += tail
	if tail == k {
		return dst
	}
	// The numbers dealt last are at the end of the old order. In the new
	// round they are kept out of the first k - tail places.
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
