package decide

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

// ownCounts are the numbers of a class's photos for which the distance of the nearest is measured.
var ownCounts = []int{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 19, 24, 29, 35, 42, 50, 60, 72, 86, 100, 150}

const (
	// tailOrder is the order statistic from which the tail index is estimated.
	tailOrder = 10
	// voters is the largest number of neighbours that vote.
	voters = 32
	// leastVote is the least number of classes of a gallery in which a vote is measured.
	leastVote = 5
	// mostProbes is the largest number of photos that the vote is fitted to.
	mostProbes = 3000
)

// measure collects the content of a calibration in one pass over all pairs.
type measure struct {
	s     *set
	l     *levels
	odds  []float64 // log-odds at prior 1/2, by level
	fold  []int
	sizes []int       // sizes of galleries, up to all other classes
	met   [][]float64 // see met, for each size, by the number of classes within
	lone  [][]float64 // met times the probability that only one of these classes is in the gallery
	units *units
	many  []int  // for each of ownCounts, the number of identities with more photos
	probe []bool // whether the vote is fitted to each row
	seed  uint64

	mu       sync.Mutex
	flight   map[int]*tally // of identities
	idle     []*tally
	finished int // number of finished identities

	// The following are sums over identities in their order.
	different, same [foldCount][foldCount][]float64 // pairs by level
	within, between *unitSum                        // false matches in a unit, and with others
	strangers       []strangerSum                   // by size
	column          columns
	open            []*unitParts // by unit, until all of its classes were added
	spare           []*unitParts
	w               float64
	pairs, events   float64     // see pairWeights
	near            []float64   // rows by the level of the nearest of their own
	own             [][]float64 // weights by level, of ownCounts
	tail            float64     // sum of 1 / index
	tails           int
	probes          []probe // by row, variant
	probeFold       []int   // the parts of their classes
}

// strangerSum holds the sums of probes in galleries of one size.
type strangerSum struct {
	in   *unitSum  // probes that are let in
	lone []float64 // classes that let a probe in alone, by level
}

// columns has, by level, the effect of classes as members of a gallery. Each class lets in a share of
// other classes' photos. columns has the sum over classes of that share, of its square, and the largest
// share, and the number of pairs of a photo and a class that lets it in.
type columns struct{ sum, square, most, hits []float64 }

// unitParts holds sums over the classes of a unit that were added so far.
type unitParts struct {
	left            int // classes to come
	within, between []float64
	strangers       [][]float64
	inside, outside float64 // pairs of photos in the unit, and with others
	photos          float64
}

// tally holds the counts of one identity's rows.
type tally struct {
	different [foldCount][]int64 // by fold of the other, and level
	kin       []int64            // pairs with other identities of the unit
	same      []int64
	strangers [][]float64
	lone      [][]float64
	nearest   []float32 // of the identity's photos to every row
	column    []float64 // share of others' rows that it lets in
	hits      []float64
	near      []float64
	own       [][]float64
	tail      float64
	tails     int
	probes    []probe
}

// probe is a searched photo: the log-odds of the winning label, the logarithm of the number of classes,
// and whether the label is right.
type probe struct {
	odds, size float64
	right      bool
	kind       probeKind
	part       int // index of the size of the gallery
}

// probeKind says whether a gallery had a probe's class.
type probeKind int

const (
	knownProbe probeKind = iota
	strangerProbe
	// outsideProbe means that the gallery had no class of the probe's group of look-alikes either.
	outsideProbe
)

func newMeasure(s *set, l *levels, fine *fineCount, u *units, opt *Options) *measure {
	n, levels := s.identities(), len(l.keys)
	m := &measure{s: s, l: l, units: u, fold: make([]int, n), flight: map[int]*tally{}, seed: opt.Seed,
		within: newUnitSum(levels), between: newUnitSum(levels), open: make([]*unitParts, u.count),
		column: columns{make([]float64, levels), make([]float64, levels), make([]float64, levels),
			make([]float64, levels)},
		near: make([]float64, levels), probe: make([]bool, s.x.Rows)}
	parts := folds(u.count, opt.Seed) // classes of a unit are in one
	for i, unit := range u.of {
		m.fold[i] = parts[unit]
	}
	for _, i := range rand.New(rand.NewPCG(opt.Seed, 2)).Perm(s.x.Rows)[:min(mostProbes, s.x.Rows)] {
		m.probe[i] = true
	}
	all, within := gallerySizes(n - 1)
	m.sizes = all[:within]
	for _, g := range m.sizes {
		of, lone := make([]float64, n), make([]float64, n)
		for k := 1; k < n; k++ {
			of[k] = met(n-1, k, g)
			lone[k] = float64(k) * (1 - met(n-2, k-1, g-1))
		}
		m.met, m.lone = append(m.met, of), append(m.lone, lone)
		m.strangers = append(m.strangers, strangerSum{newUnitSum(levels), make([]float64, levels)})
	}
	for a := range foldCount {
		for b := range foldCount {
			m.different[a][b], m.same[a][b] = make([]float64, levels), make([]float64, levels)
		}
	}
	for range ownCounts {
		m.own = append(m.own, make([]float64, levels))
	}
	for _, c := range ownCounts {
		many := 0
		for i := range n {
			if s.photos(i) > c {
				many++
			}
		}
		m.many = append(m.many, many)
	}
	m.pairs, m.events = s.pairWeights(u)
	m.odds = fitSame(l.end, l.binned(fine.same), l.binned(fine.different), float64(n), m.pairs).atAll(l.end)
	return m
}

// pairWeights returns the effective number of pairs of different identities: (sum w)^2 / sum w^2, where w
// is the product of the numbers of their photos. For classes of equal sizes it is n (n - 1) / 2.
//
// events is the same number. If classes form groups, it is at most the number of all pairs divided by the
// mean number of pairs inside a group, because the likeness of a whole group is one event.
func (s *set) pairWeights(u *units) (pairs, events float64) {
	var n1, n2, n4 float64
	for i := range s.identities() {
		k := float64(s.photos(i))
		n1, n2, n4 = n1+k, n2+k*k, n4+k*k*k*k
	}
	inside := -n2 / 2
	for _, photos := range u.photos {
		inside += photos * photos / 2
	}
	w, ww := (n1*n1-n2)/2, (n2*n2-n4)/2
	pairs = w * w / ww
	events = pairs
	if u.groups > 0 {
		events = min(pairs, w*float64(u.groups)/inside)
	}
	return pairs, events
}

func (m *measure) take(i int) *tally {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.flight[i]; t != nil {
		return t
	}
	var t *tally
	if n := len(m.idle); n > 0 {
		t, m.idle = m.idle[n-1], m.idle[:n-1]
	} else {
		levels := len(m.l.keys)
		t = &tally{same: make([]int64, levels), kin: make([]int64, levels), near: make([]float64, levels),
			nearest: make([]float32, m.s.x.Rows), column: make([]float64, levels), hits: make([]float64, levels)}
		for k := range t.different {
			t.different[k] = make([]int64, levels)
		}
		for range m.sizes {
			t.strangers = append(t.strangers, make([]float64, levels))
			t.lone = append(t.lone, make([]float64, levels))
		}
		for range ownCounts {
			t.own = append(t.own, make([]float64, levels))
		}
	}
	for k := range t.nearest {
		t.nearest[k] = float32(math.Inf(1))
	}
	m.flight[i] = t
	return t
}

// visit adds rows of an identity.
func (m *measure) visit(i, lo int, of [][]float32) {
	t, s, l := m.take(i), m.s, m.l
	n := s.identities()
	least := make([]float32, 0, n)
	within := make([]int, len(l.keys))
	own := make([]float32, 0, s.photos(i))
	for r, v := range of {
		q := lo + r
		least = least[:0]
		clear(within)
		for j := range n {
			if j == i {
				continue
			}
			count := t.different[m.fold[j]]
			nearest := float32(math.Inf(1))
			kin := m.units.of[j] == m.units.of[i]
			for _, d := range v[s.first[j]:s.first[j+1]] {
				level := l.of(d)
				count[level]++
				if kin {
					t.kin[level]++
				}
				nearest = min(nearest, d)
			}
			least = append(least, nearest)
			within[l.of(nearest)]++
		}
		k := 0
		for level, more := range within {
			k += more
			if k == 0 {
				continue
			}
			t.hits[level] += float64(k)
			for g := range m.sizes {
				t.strangers[g][level] += m.met[g][k]
				t.lone[g][level] += m.lone[g][k]
			}
		}
		for p, d := range v {
			t.nearest[p] = min(t.nearest[p], d)
		}
		own = own[:0]
		for p := s.first[i]; p < s.first[i+1]; p++ {
			if p != q {
				own = append(own, v[p])
				t.same[l.of(v[p])]++
			}
		}
		m.visitOwn(t, i, own)
		m.visitTail(t, least)
		if m.probe[q] && len(own) > 0 {
			m.vote(t, i, q, v)
		}
	}
	if lo+len(of) == s.first[i+1] {
		m.visitColumn(t, i)
	}
}

// visitColumn measures the identity as a member of a gallery, after all of its rows were visited.
func (m *measure) visitColumn(t *tally, i int) {
	others := float64(m.s.x.Rows - m.s.photos(i))
	for p, d := range t.nearest {
		if p < m.s.first[i] || p >= m.s.first[i+1] {
			t.column[m.l.of(d)] += 1 / others
		}
	}
}

// visitOwn measures the distance of the nearest of some photos of the same class.
func (m *measure) visitOwn(t *tally, i int, own []float32) {
	if len(own) == 0 {
		return
	}
	slices.Sort(own)
	t.near[m.l.of(own[0])]++
	for c, count := range ownCounts {
		if len(own) < count {
			break
		}
		// The nearest of count photos drawn from all is the r-th nearest of all with probability
		// C(all-r, count-1) / C(all, count). Each identity has the weight 1 / (identities + 1).
		each := 1 / (float64(m.many[c]+1) * float64(m.s.photos(i)))
		p := float64(count) / float64(len(own))
		for r, d := range own {
			t.own[c][m.l.of(d)] += each * p
			left := len(own) - r - 1
			if left < count {
				break
			}
			p *= float64(left-count+1) / float64(left)
		}
	}
}

// visitTail estimates how fast the nearest other class comes nearer with more classes. It is Hill's
// estimator over the nearest photos of each class: the mean of ln(D_k / D_r), r < k.
func (m *measure) visitTail(t *tally, least []float32) {
	k := min(tailOrder, len(least)-1)
	slices.Sort(least)
	far := outward(m.s.by, float64(least[k]))
	if least[0] <= 0 {
		return
	}
	var sum float64
	for _, d := range least[:k] {
		sum += math.Log(far / outward(m.s.by, float64(d)))
	}
	t.tail += sum / float64(k)
	t.tails++
}

// voteParts are the shares of the classes in the galleries of vote.
var voteParts = [...]float64{1, 1. / 4, 1. / 16}

// vote searches a photo among the others, with and without its own class, in galleries of all classes, of
// a quarter and of a sixteenth. If classes form groups of look-alikes, half of the galleries have whole
// groups, and strangers are also searched without their group, because it is unknown beforehand whether
// strangers resemble the classes of a gallery as much as classes of a group do.
func (m *measure) vote(t *tally, i, q int, v []float32) {
	s, u := m.s, m.units
	rng := rand.New(rand.NewPCG(m.seed, uint64(q)<<2|3))
	kinds := []probeKind{knownProbe, strangerProbe}
	if u.groups > 0 {
		kinds = append(kinds, outsideProbe)
	}
	for nth, part := range voteParts {
		if part*float64(s.identities()) < leastVote {
			break
		}
		in := make([]bool, s.identities())
		drawn := make([]bool, u.count)
		for unit := range drawn {
			drawn[unit] = part == 1 || rng.Float64() < part
		}
		whole := part == 1 || u.groups > 0 && rng.IntN(2) == 0
		for j, unit := range u.of {
			in[j] = drawn[unit]
			if !whole {
				in[j] = rng.Float64() < part
			}
		}
		for _, kind := range kinds {
			in[i] = kind == knownProbe
			if kind == outsideProbe {
				for j, unit := range u.of {
					in[j] = in[j] && unit != u.of[i]
				}
			}
			classes, items := 0, 0
			for j := range in {
				if in[j] {
					classes, items = classes+1, items+s.photos(j)
				}
			}
			if kind == knownProbe {
				items-- // the photo itself
			}
			class, odds := m.nearest(q, v, in)
			if len(class) == 0 {
				continue
			}
			won := votes(class, odds, float64(items), 0.5)
			t.probes = append(t.probes, probe{logit(won[0].share), math.Log(float64(classes)),
				int(won[0].class) == i, kind, nth})
		}
	}
}

// nearest returns the classes and log-odds of the photos that vote.
func (m *measure) nearest(q int, v []float32, in []bool) (class []int32, odds []float64) {
	type item struct {
		d float32
		p int
	}
	var near []item
	for p, d := range v {
		if p == q || !in[m.s.of[p]] || len(near) == voters && d >= near[voters-1].d {
			continue
		}
		if len(near) < voters {
			near = append(near, item{})
		}
		k := len(near) - 1
		for ; k > 0 && near[k-1].d > d; k-- {
			near[k] = near[k-1]
		}
		near[k] = item{d, p}
	}
	for _, e := range near {
		class, odds = append(class, m.s.of[e.p]), append(odds, m.odds[m.l.of(e.d)])
	}
	return class, odds
}

// merge adds the tallies of finished identities.
func (m *measure) merge() {
	for i := m.finished; ; i++ {
		t := m.flight[i]
		if t == nil || !m.complete(i) {
			m.finished = i
			return
		}
		m.add(i, t)
		delete(m.flight, i)
		m.idle = append(m.idle, t.cleared())
	}
}

// complete reports whether all rows of an identity were visited.
func (m *measure) complete(i int) bool {
	seen := int64(0)
	for _, of := range m.flight[i].different {
		for _, n := range of {
			seen += n
		}
	}
	each := int64(m.s.x.Rows - m.s.photos(i))
	return seen == each*int64(m.s.photos(i))
}

func (t *tally) cleared() *tally {
	for _, of := range t.different {
		clear(of)
	}
	clear(t.same)
	clear(t.kin)
	clear(t.near)
	clear(t.column)
	clear(t.hits)
	for _, of := range slices.Concat(t.strangers, t.lone) {
		clear(of)
	}
	for _, of := range t.own {
		clear(of)
	}
	t.tail, t.tails, t.probes = 0, 0, t.probes[:0]
	return t
}

func (m *measure) add(i int, t *tally) {
	photos := float64(m.s.photos(i))
	pairs := photos * float64(m.s.x.Rows-m.s.photos(i))
	fold := m.fold[i]
	unit := m.units.of[i]
	part := m.opened(unit)
	var matched, kin, column float64
	for level := range m.l.keys {
		for f := range foldCount {
			d := float64(t.different[f][level])
			m.different[fold][f][level] += d
			matched += d
		}
		kin += float64(t.kin[level])
		part.within[level] += kin
		part.between[level] += matched - kin
		m.same[fold][fold][level] += float64(t.same[level])
		m.near[level] += t.near[level]
		column += t.column[level]
		m.column.hits[level] += t.hits[level]
		m.column.sum[level] += column
		m.column.square[level] += column * column
		m.column.most[level] = max(m.column.most[level], column)
		for g, of := range t.strangers {
			part.strangers[g][level] += of[level]
			m.strangers[g].lone[level] += t.lone[g][level]
		}
		for c, of := range t.own {
			m.own[c][level] += of[level]
		}
	}
	inside := photos * (m.units.photos[unit] - photos)
	part.inside += inside
	part.outside += pairs - inside
	part.photos += photos
	if part.left--; part.left == 0 {
		m.close(unit)
	}
	m.w += pairs
	m.tail += t.tail
	m.tails += t.tails
	for _, p := range t.probes {
		m.probes, m.probeFold = append(m.probes, p), append(m.probeFold, fold)
	}
}

// opened returns the sums of a unit with remaining classes.
func (m *measure) opened(unit int) *unitParts {
	if part := m.open[unit]; part != nil {
		return part
	}
	var part *unitParts
	if n := len(m.spare); n > 0 {
		part, m.spare = m.spare[n-1], m.spare[:n-1]
		for _, of := range append(part.strangers, part.within, part.between) {
			clear(of)
		}
		*part = unitParts{within: part.within, between: part.between, strangers: part.strangers}
	} else {
		levels := len(m.l.keys)
		part = &unitParts{within: make([]float64, levels), between: make([]float64, levels)}
		for range m.sizes {
			part.strangers = append(part.strangers, make([]float64, levels))
		}
	}
	part.left = m.units.size[unit]
	m.open[unit] = part
	return part
}

// close adds a complete unit to the sums.
func (m *measure) close(unit int) {
	part := m.open[unit]
	m.open[unit] = nil
	m.within.add(part.within, part.inside)
	m.between.add(part.between, part.outside)
	for g, of := range part.strangers {
		m.strangers[g].in.add(of, part.photos)
	}
	m.spare = append(m.spare, part)
}
