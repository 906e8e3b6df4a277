package decide

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

// ownCounts are the numbers of a class's photos for which it is looked at how near the
// nearest of them is.
var ownCounts = []int{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 19, 24, 29, 35, 42, 50, 60, 72, 86, 100, 150}

const (
	// tailOrder is the order statistic that the tail index is estimated from.
	tailOrder = 10
	// voters is the most neighbours that vote.
	voters = 32
	// mostProbes is the most photos that the vote is fitted on.
	mostProbes = 3000
)

// measure collects, from one pass over all pairs, what a calibration holds.
type measure struct {
	s     *set
	l     *levels
	odds  []float64 // log-odds at prior 1/2, by level
	fold  []int
	sizes []int       // of galleries, up to all other classes
	met   [][]float64 // of sizes: by the number of classes within
	many  []int       // ownCounts: identities with more photos than that
	probe []bool      // rows that the vote is fitted on
	seed  uint64

	mu       sync.Mutex
	flight   map[int]*tally // of identities
	idle     []*tally
	finished int // identities

	// Sums over identities, in their order.
	different, same [foldCount][foldCount][]float64 // pairs by level
	dd, dm          []float64                       // squares of false matches, products with pairs
	most            []float64                       // false matches of the identity that has the most
	mm, w           float64
	strangers       []strangerSum // by size
	near            []float64     // rows by the level of the nearest of their own
	own             [][]float64   // weights by level, of ownCounts
	nn              float64
	tail            float64 // sum of 1 / index
	tails           int
	probes          []probe // by row, variant
}

// strangerSum has by level the sums of A, A^2 and A n, and the largest A.
type strangerSum struct{ a, aa, an, most []float64 }

// tally is what one identity's rows add.
type tally struct {
	different [foldCount][]int64 // by fold of the other, and level
	same      []int64
	strangers [][]float64
	near      []float64
	own       [][]float64
	tail      float64
	tails     int
	probes    []probe
}

// probe is a photo that was looked up: the log-odds of the label that won, and whether
// that is right.
type probe struct {
	odds  float64
	right bool
}

func newMeasure(s *set, l *levels, fine *fineCount, opt *Options) *measure {
	n, levels := s.identities(), len(l.keys)
	m := &measure{s: s, l: l, fold: folds(n, opt.Seed), flight: map[int]*tally{}, seed: opt.Seed,
		dd: make([]float64, levels), dm: make([]float64, levels), most: make([]float64, levels),
		near: make([]float64, levels), probe: make([]bool, s.x.Rows)}
	for _, i := range rand.New(rand.NewPCG(opt.Seed, 2)).Perm(s.x.Rows)[:min(mostProbes, s.x.Rows)] {
		m.probe[i] = true
	}
	all, within := gallerySizes(n - 1)
	m.sizes = all[:within]
	for _, g := range m.sizes {
		of := make([]float64, n)
		for k := range of {
			of[k] = met(n-1, k, g)
		}
		m.met = append(m.met, of)
		m.strangers = append(m.strangers, strangerSum{make([]float64, levels), make([]float64, levels),
			make([]float64, levels), make([]float64, levels)})
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
	weights := pairWeights(s)
	m.odds = fitSame(l.end, l.binned(fine.same), l.binned(fine.different), float64(n), weights).atAll(l.end)
	return m
}

// pairWeights is the effective number of pairs of identities in all pairs of photos of
// different ones: (sum w)^2 / sum w^2 with w the product of their photos. Of classes of
// equal sizes it is n (n - 1) / 2.
func pairWeights(s *set) float64 {
	var n1, n2, n4 float64
	for i := range s.identities() {
		k := float64(s.photos(i))
		n1, n2, n4 = n1+k, n2+k*k, n4+k*k*k*k
	}
	w, ww := (n1*n1-n2)/2, (n2*n2-n4)/2
	return w * w / ww
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
		t = &tally{same: make([]int64, levels), near: make([]float64, levels)}
		for k := range t.different {
			t.different[k] = make([]int64, levels)
		}
		for range m.sizes {
			t.strangers = append(t.strangers, make([]float64, levels))
		}
		for range ownCounts {
			t.own = append(t.own, make([]float64, levels))
		}
	}
	m.flight[i] = t
	return t
}

// visit takes the rows of an identity.
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
			for _, d := range v[s.first[j]:s.first[j+1]] {
				count[l.of(d)]++
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
			for g := range m.sizes {
				t.strangers[g][level] += m.met[g][k]
			}
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
}

// visitOwn looks at how near the nearest of some photos of the own class is.
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
		// The nearest of count drawn from all is the r-th of all with probability
		// C(all-r, count-1) / C(all, count). Each identity weighs 1 / (identities + 1).
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

// visitTail estimates how fast other classes come nearer as there are more of them, by
// Hill's estimator over the nearest photos of each: the mean of ln(D_k / D_r), r < k.
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

// vote looks a photo up among the others, with its own class among them and without,
// in galleries of all classes and of a quarter.
func (m *measure) vote(t *tally, i, q int, v []float32) {
	s := m.s
	rng := rand.New(rand.NewPCG(m.seed, uint64(q)<<2|3))
	for _, part := range []float64{1, 0.25} {
		in := make([]bool, s.identities())
		photos := 0
		for j := range in {
			in[j] = j != i && (part == 1 || rng.Float64() < part)
			if in[j] {
				photos += s.photos(j)
			}
		}
		for _, known := range []bool{true, false} {
			in[i] = known
			items := photos
			if known {
				items += s.photos(i) - 1
			}
			class, odds := m.nearest(q, v, in)
			if len(class) == 0 {
				continue
			}
			won := votes(class, odds, float64(items), 0.5)
			t.probes = append(t.probes, probe{logit(won[0].share), int(won[0].class) == i})
		}
	}
}

// nearest finds the classes and log-odds of the photos that vote.
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

// merge adds what the identities came to whose rows are done.
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

// complete tells whether all rows of an identity were visited.
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
	clear(t.near)
	for _, of := range t.strangers {
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
	var matched float64
	for level := range m.l.keys {
		for f := range foldCount {
			d := float64(t.different[f][level])
			m.different[fold][f][level] += d
			matched += d
		}
		m.same[fold][fold][level] += float64(t.same[level])
		m.dd[level] += matched * matched
		m.most[level] = max(m.most[level], matched)
		m.dm[level] += matched * pairs
		m.near[level] += t.near[level]
		for g, of := range t.strangers {
			a := of[level]
			m.strangers[g].a[level] += a
			m.strangers[g].aa[level] += a * a
			m.strangers[g].most[level] = max(m.strangers[g].most[level], a)
			m.strangers[g].an[level] += a * photos
		}
		for c, of := range t.own {
			m.own[c][level] += of[level]
		}
	}
	m.mm += pairs * pairs
	m.w += pairs
	m.nn += photos * photos
	m.tail += t.tail
	m.tails += t.tails
	m.probes = append(m.probes, t.probes...)
}
