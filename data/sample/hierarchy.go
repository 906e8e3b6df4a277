package sample

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/lists"
)

// HierarchyConfig describes batches of Coarse x Fine x PerClass samples, each in
// Views rows.
type HierarchyConfig struct {
	Coarse   int // coarse classes in a batch; default 4, or all if there are fewer
	Fine     int // fine classes of each coarse class; default 2
	PerClass int // samples of each fine class; default 4
	// Batches is the number of batches in an epoch. By default an epoch draws about as many
	// samples as the set has and visits every fine class.
	Batches int
	Views   int // number of rows for each sample, as in BalancedConfig; default 1
	Seed    uint64
}

// Hierarchical draws batches by two labels: coarse classes, fine classes of each coarse class, and
// samples of each fine class. So a batch holds both near relatives of an anchor (its fine class)
// and far ones (its coarse class).
//
// Coarse classes, their fine classes and the samples of these are visited in rounds as in Balanced,
// and no sample is drawn twice in a batch. A coarse class gives Fine x PerClass samples. If its fine
// classes are too few or too small for that, larger fine classes give more. If the whole coarse
// class is too small, further coarse classes fill the batch. The batches of an epoch depend only
// on the seed and the epoch's number.
type Hierarchical struct {
	epochCounter
	cfg    HierarchyConfig
	coarse [][][]int // samples by coarse class and fine class
	sizes  [][]int   // of the fine classes
	totals []int     // samples of the coarse classes
}

// NewHierarchical groups samples. A fine label that occurs under several coarse labels counts as
// several classes. It is an error if there are no samples, if the labels differ in number, or if
// the classes are too few for the configuration.
func NewHierarchical(coarse, fine []int64, cfg HierarchyConfig) (*Hierarchical, error) {
	if len(coarse) == 0 || len(coarse) != len(fine) {
		return nil, fmt.Errorf("sampling: %d coarse and %d fine labels", len(coarse), len(fine))
	}
	if cfg.Coarse < 0 || cfg.Fine < 0 || cfg.PerClass < 0 || cfg.Batches < 0 || cfg.Views < 0 {
		return nil, fmt.Errorf("sampling: coarse %d, fine %d, per_class %d, batches %d, views %d: none may be negative",
			cfg.Coarse, cfg.Fine, cfg.PerClass, cfg.Batches, cfg.Views)
	}
	if cfg.Views > maxViews {
		return nil, fmt.Errorf("sampling: views is %d: must be at most %d", cfg.Views, maxViews)
	}
	h := &Hierarchical{cfg: cfg}
	order := lists.Indices(len(coarse))
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(coarse[a], coarse[b]), cmp.Compare(fine[a], fine[b]))
	})
	most := 0 // largest number of fine classes of a coarse class
	for k, i := range order {
		newCoarse := k == 0 || coarse[order[k-1]] != coarse[i]
		if newCoarse {
			h.coarse = append(h.coarse, nil)
		}
		c := &h.coarse[len(h.coarse)-1]
		if newCoarse || fine[order[k-1]] != fine[i] {
			*c = append(*c, nil)
		}
		last := &(*c)[len(*c)-1]
		*last = append(*last, i)
		most = max(most, len(*c))
	}
	if h.cfg.Coarse == 0 {
		h.cfg.Coarse = min(4, len(h.coarse))
	}
	h.cfg.Fine = cmp.Or(h.cfg.Fine, 2)
	h.cfg.PerClass = cmp.Or(h.cfg.PerClass, 4)
	h.cfg.Views = max(h.cfg.Views, 1)
	if h.cfg.Coarse > len(h.coarse) {
		return nil, fmt.Errorf("sampling: %d coarse classes a batch, but the training set has %d", h.cfg.Coarse,
			len(h.coarse))
	}
	for _, classes := range h.coarse {
		var sizes []int
		total := 0
		for _, s := range classes {
			sizes, total = append(sizes, len(s)), total+len(s)
		}
		h.sizes, h.totals = append(h.sizes, sizes), append(h.totals, total)
	}
	h.size = len(coarse)
	if h.cfg.PerClass <= len(coarse)/h.cfg.Coarse/h.cfg.Fine {
		h.size = h.cfg.Coarse * h.cfg.Fine * h.cfg.PerClass
	}
	h.batches = h.cfg.Batches
	if h.batches == 0 {
		// In this many batches each coarse class comes up often enough to visit all its fine
		// classes.
		all := ceilDiv(ceilDiv(most, h.cfg.Fine)*len(h.coarse), h.cfg.Coarse)
		h.batches = max(all, ceilDiv(len(coarse), h.size))
	}
	return h, nil
}

// BatchSize returns the number of rows in a batch: Coarse x Fine x PerClass
// samples, or all if there are fewer, times Views.
func (h *Hierarchical) BatchSize() int { return h.size * h.cfg.Views }

// Config returns the configuration with its defaults filled in, except Batches.
func (h *Hierarchical) Config() HierarchyConfig { return h.cfg }

// Epoch returns the batches of the next epoch as indices into the labels. Samples of one class
// are together. The caller may keep the batches.
func (h *Hierarchical) Epoch() [][]int {
	rng := rand.New(rand.NewPCG(h.cfg.Seed, uint64(h.epoch)^0x41e4a7))
	h.epoch++
	coarse := newRounds(len(h.coarse), rng)
	fine := make([]*rounds, len(h.coarse))
	samples := make([][]*rounds, len(h.coarse))
	for c, classes := range h.coarse {
		fine[c] = newRounds(len(classes), rng)
		for _, s := range classes {
			samples[c] = append(samples[c], newRounds(len(s), rng))
		}
	}
	out := make([][]int, h.batches)
	among := allocation{sizes: h.totals, perGroup: h.cfg.Fine * h.cfg.PerClass, rng: rng}
	within := make([]allocation, len(h.coarse))
	for c := range within {
		within[c] = allocation{sizes: h.sizes[c], perGroup: h.cfg.PerClass, rng: rng}
	}
	var dealt, picks []int
	for k := range out {
		batch := make([]int, 0, h.size)
		dealt = coarse.take(h.cfg.Coarse, dealt)
		among.fill(dealt, h.size)
		for g, c := range among.groups {
			dealt = fine[c].take(min(h.cfg.Fine, len(h.coarse[c])), dealt)
			w := &within[c]
			w.fill(dealt, among.counts[g])
			for g, f := range w.groups {
				picks = samples[c][f].take(w.counts[g], picks)
				for _, p := range picks {
					batch = append(batch, h.coarse[c][f][p])
				}
			}
		}
		out[k] = repeatViews(batch, h.cfg.Views)
	}
	return out
}
