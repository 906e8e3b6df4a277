package decide

import (
	"math"
	"slices"
	"sync"
)

// classPhotoCounts are the numbers of a class's photos for which the distance of the nearest is measured.
var classPhotoCounts = []int{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 19, 24, 29, 35, 42, 50, 60, 72, 86, 100, 150}

const (
	// tailOrder is the order statistic from which the tail index is estimated.
	tailOrder = 10
	// maxVoters is the largest number of neighbours that vote.
	maxVoters = 32
	// minVoteClasses is the least number of classes of a gallery in which a vote is measured.
	minVoteClasses = 5
)

// measurement collects the content of a calibration in one pass over all pairs. All but own uses the weights
// of the set.
type measurement struct {
	s                *set
	l                *levels
	fold             []int
	sizes            []int       // sizes of galleries, up to all other classes
	drawProbability  [][]float64 // see met, for each size, by the number of classes within
	aloneProbability [][]float64 // met times the probability that only one of these classes is in the gallery
	units            *units
	photos           float64 // number that all identities count for
	numLarger        []int   // for each of classPhotoCounts, the number of identities with more photos

	mu       sync.Mutex
	inFlight map[int]*tally // of identities
	idle     []*tally
	finished int // number of finished identities

	// The following are sums over identities in their order.
	different, same [foldCount][foldCount][]float64 // pairs by level
	within, between *unitSum                        // false matches in a unit, and with others
	strangers       []strangerSum                   // by size
	column          columns
	openUnits       []*unitParts // by unit, until all of its classes were added
	spareUnits      []*unitParts
	w               float64
	pairs, events   float64     // see pairWeights
	near            []float64   // rows by the level of the nearest of their own
	sameClass       [][]float64 // weights by level, of classPhotoCounts
	tail            float64     // sum of 1 / index
	tails           float64
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
	rows      int                  // number of visited rows
	different [foldCount][]float64 // by fold of the other, and level; weighted by the other
	sameUnit  []float64            // pairs with other identities of the unit
	same      []int64
	strangers [][]float64
	lone      [][]float64
	nearest   []float32 // of the identity's photos to every row
	column    []float64 // share of others' rows that it lets in
	hits      []float64
	near      []float64
	sameClass [][]float64
	tail      float64
	tails     int
}

func newMeasure(s *set, l *levels, u *units, opt *Options) *measurement {
	n, levels := s.numIdentities(), len(l.keys)
	m := &measurement{s: s, l: l, units: u, photos: s.totalPhotos(), fold: make([]int, n), inFlight: map[int]*tally{},
		within: newUnitSum(levels), between: newUnitSum(levels), openUnits: make([]*unitParts, u.numUnits),
		column: columns{make([]float64, levels), make([]float64, levels), make([]float64, levels),
			make([]float64, levels)},
		near: make([]float64, levels)}
	parts := assignFolds(u.numUnits, opt.Seed) // classes of a unit are in one
	for i, unit := range u.unitOf {
		m.fold[i] = parts[unit]
	}
	all, within := gallerySizes(n - 1)
	m.sizes = all[:within]
	for _, g := range m.sizes {
		of, lone := make([]float64, n), make([]float64, n)
		for k := 1; k < n; k++ {
			of[k] = drawProbability(n-1, k, g)
			lone[k] = float64(k) * (1 - drawProbability(n-2, k-1, g-1))
		}
		m.drawProbability, m.aloneProbability = append(m.drawProbability, of), append(m.aloneProbability, lone)
		m.strangers = append(m.strangers, strangerSum{newUnitSum(levels), make([]float64, levels)})
	}
	for a := range foldCount {
		for b := range foldCount {
			m.different[a][b], m.same[a][b] = make([]float64, levels), make([]float64, levels)
		}
	}
	for range classPhotoCounts {
		m.sameClass = append(m.sameClass, make([]float64, levels))
	}
	for _, c := range classPhotoCounts {
		many := 0
		for i := range n {
			if s.numPhotos(i) > c {
				many++
			}
		}
		m.numLarger = append(m.numLarger, many)
	}
	m.pairs, m.events = s.pairWeights(u)
	return m
}

// pairWeights returns the effective number of pairs of different identities: (sum w)^2 / sum w^2, where w
// is the product of the numbers of photos that they count for. For classes of equal sizes it is n (n - 1) / 2.
//
// events is the same number. If classes form groups, it is at most the number of all pairs divided by the
// mean number of pairs inside a group, because the likeness of a whole group is one event.
func (s *set) pairWeights(u *units) (pairs, events float64) {
	var n1, n2, n4 float64
	for i := range s.numIdentities() {
		k := s.effectivePhotos(i)
		n1, n2, n4 = n1+k, n2+k*k, n4+k*k*k*k
	}
	inside := -n2 / 2
	for _, photos := range u.photos {
		inside += photos * photos / 2
	}
	w, ww := (n1*n1-n2)/2, (n2*n2-n4)/2
	pairs = w * w / ww
	events = pairs
	if u.numGroups > 0 {
		events = min(pairs, w*float64(u.numGroups)/inside)
	}
	return pairs, events
}

func (m *measurement) tallyOf(i int) *tally {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.inFlight[i]; t != nil {
		return t
	}
	var t *tally
	if n := len(m.idle); n > 0 {
		t, m.idle = m.idle[n-1], m.idle[:n-1]
	} else {
		levels := len(m.l.keys)
		t = &tally{same: make([]int64, levels), sameUnit: make([]float64, levels), near: make([]float64, levels),
			nearest: make([]float32, m.s.x.Rows), column: make([]float64, levels), hits: make([]float64, levels)}
		for k := range t.different {
			t.different[k] = make([]float64, levels)
		}
		for range m.sizes {
			t.strangers = append(t.strangers, make([]float64, levels))
			t.lone = append(t.lone, make([]float64, levels))
		}
		for range classPhotoCounts {
			t.sameClass = append(t.sameClass, make([]float64, levels))
		}
	}
	for k := range t.nearest {
		t.nearest[k] = float32(math.Inf(1))
	}
	m.inFlight[i] = t
	return t
}

// visit adds rows of an identity.
func (m *measurement) visit(i, lo int, of [][]float32) {
	t, s, l := m.tallyOf(i), m.s, m.l
	n := s.numIdentities()
	least := make([]float32, 0, n)
	within := make([]int, len(l.keys))
	own := make([]float32, 0, s.numPhotos(i))
	t.rows += len(of)
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
			kin := m.units.unitOf[j] == m.units.unitOf[i]
			for p := s.first[j]; p < s.first[j+1]; p++ {
				level := l.levelOf(v[p])
				count[level] += s.weight[j]
				if kin {
					t.sameUnit[level] += s.weight[j]
				}
				if s.isItem[p] {
					nearest = min(nearest, v[p])
				}
			}
			least = append(least, nearest)
			within[l.levelOf(nearest)]++
		}
		k := 0
		for level, more := range within {
			k += more
			if k == 0 {
				continue
			}
			t.hits[level] += float64(k)
			for g := range m.sizes {
				t.strangers[g][level] += m.drawProbability[g][k]
				t.lone[g][level] += m.aloneProbability[g][k]
			}
		}
		for p, d := range v {
			if s.isItem[q] {
				t.nearest[p] = min(t.nearest[p], d)
			}
		}
		own = own[:0]
		for p := s.first[i]; p < s.first[i+1]; p++ {
			if p != q {
				own = append(own, v[p])
				t.same[l.levelOf(v[p])]++
			}
		}
		m.visitSameClass(t, i, own)
		m.visitTail(t, least)
	}
	if lo+len(of) == s.first[i+1] {
		m.visitColumn(t, i)
	}
}

// visitColumn measures the identity as a member of a gallery, after all of its rows were visited.
func (m *measurement) visitColumn(t *tally, i int) {
	others := m.photos - m.s.effectivePhotos(i)
	for p, d := range t.nearest {
		if p < m.s.first[i] || p >= m.s.first[i+1] {
			t.column[m.l.levelOf(d)] += m.s.weight[m.s.identityOf[p]] / others
		}
	}
}

// visitSameClass measures the distance of the nearest of some photos of the same class.
func (m *measurement) visitSameClass(t *tally, i int, own []float32) {
	if len(own) == 0 {
		return
	}
	slices.Sort(own)
	t.near[m.l.levelOf(own[0])]++
	for c, count := range classPhotoCounts {
		if len(own) < count {
			break
		}
		// The nearest of count photos drawn from all is the r-th nearest of all with probability
		// C(all-r, count-1) / C(all, count). Each identity has the weight 1 / (identities + 1).
		each := 1 / (float64(m.numLarger[c]+1) * float64(m.s.numPhotos(i)))
		p := float64(count) / float64(len(own))
		for r, d := range own {
			t.sameClass[c][m.l.levelOf(d)] += each * p
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
func (m *measurement) visitTail(t *tally, least []float32) {
	k := min(tailOrder, len(least)-1)
	slices.Sort(least)
	far := toDistance(m.s.distance, float64(least[k]))
	if least[0] <= 0 {
		return
	}
	var sum float64
	for _, d := range least[:k] {
		sum += math.Log(far / toDistance(m.s.distance, float64(d)))
	}
	t.tail += sum / float64(k)
	t.tails++
}

// merge adds the tallies of finished identities.
func (m *measurement) merge() {
	for i := m.finished; ; i++ {
		t := m.inFlight[i]
		if t == nil || !m.isComplete(i) {
			m.finished = i
			return
		}
		m.add(i, t)
		delete(m.inFlight, i)
		m.idle = append(m.idle, t.reset())
	}
}

// isComplete reports whether all rows of an identity were visited.
func (m *measurement) isComplete(i int) bool {
	return m.inFlight[i].rows == m.s.numPhotos(i)
}

func (t *tally) reset() *tally {
	for _, of := range t.different {
		clear(of)
	}
	clear(t.same)
	clear(t.sameUnit)
	clear(t.near)
	clear(t.column)
	clear(t.hits)
	for _, of := range slices.Concat(t.strangers, t.lone) {
		clear(of)
	}
	for _, of := range t.sameClass {
		clear(of)
	}
	t.rows, t.tail, t.tails = 0, 0, 0
	return t
}

func (m *measurement) add(i int, t *tally) {
	w, photos := m.s.weight[i], m.s.effectivePhotos(i)
	pairs := photos * (m.photos - photos)
	fold := m.fold[i]
	unit := m.units.unitOf[i]
	part := m.openUnit(unit)
	var matched, kin, column float64
	for level := range m.l.keys {
		for f := range foldCount {
			d := w * t.different[f][level]
			m.different[fold][f][level] += d
			matched += d
		}
		kin += w * t.sameUnit[level]
		part.within[level] += kin
		part.between[level] += max(0, matched-kin) // rounding
		m.same[fold][fold][level] += w * w * float64(t.same[level])
		m.near[level] += w * t.near[level]
		column += t.column[level]
		m.column.hits[level] += w * t.hits[level]
		m.column.sum[level] += column
		m.column.square[level] += column * column
		m.column.most[level] = max(m.column.most[level], column)
		for g, of := range t.strangers {
			part.strangers[g][level] += w * of[level]
			m.strangers[g].lone[level] += w * t.lone[g][level]
		}
		for c, of := range t.sameClass {
			m.sameClass[c][level] += of[level]
		}
	}
	inside := photos * (m.units.photos[unit] - photos)
	part.inside += inside
	part.outside += pairs - inside
	part.photos += photos
	if part.left--; part.left == 0 {
		m.closeUnit(unit)
	}
	m.w += pairs
	m.tail += w * t.tail
	m.tails += w * float64(t.tails)
}

// openUnit returns the sums of a unit with remaining classes.
func (m *measurement) openUnit(unit int) *unitParts {
	if part := m.openUnits[unit]; part != nil {
		return part
	}
	var part *unitParts
	if n := len(m.spareUnits); n > 0 {
		part, m.spareUnits = m.spareUnits[n-1], m.spareUnits[:n-1]
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
	m.openUnits[unit] = part
	return part
}

// closeUnit adds a complete unit to the sums.
func (m *measurement) closeUnit(unit int) {
	part := m.openUnits[unit]
	m.openUnits[unit] = nil
	m.within.add(part.within, part.inside)
	m.between.add(part.between, part.outside)
	for g, of := range part.strangers {
		m.strangers[g].in.add(of, part.photos)
	}
	m.spareUnits = append(m.spareUnits, part)
}
