package data

import "math/rand/v2"

// share chooses the groups of a batch and how many samples each of them gives:
// "each" samples of every group that was dealt, all that a smaller group has,
// and from further groups what is then missing. Only when all groups are in the
// batch, those that have more give more than each, one sample at a time in turn.
type share struct {
	sizes  []int // samples by group
	each   int
	rng    *rand.Rand
	more   *rounds // deals the further groups; nil until one is needed
	groups []int   // chosen
	counts []int   // samples that each of them gives
}

// fill shares total samples, at most as many as there are, among dealt groups
// and others.
func (s *share) fill(dealt []int, total int) {
	s.groups, s.counts = append(s.groups[:0], dealt...), s.counts[:0]
	take := func(g int) {
		n := min(s.each, s.sizes[g], total)
		s.counts = append(s.counts, n)
		total -= n
	}
	for _, g := range dealt {
		take(g)
	}
	for total > 0 && len(s.groups) < len(s.sizes) {
		if s.more == nil {
			s.more = newRounds(len(s.sizes), s.rng)
		}
		g := s.more.other(s.groups)
		s.groups = append(s.groups, g)
		take(g)
	}
	for k := 0; total > 0; k = (k + 1) % len(s.groups) {
		if s.counts[k] < s.sizes[s.groups[k]] {
			s.counts[k]++
			total--
		}
	}
}

// other deals the next number that is not among those given, which are fewer
// than all. Numbers of the round that are among them lose their turn only if
// nothing else is left of it.
func (r *rounds) other(than []int) int {
	in := make([]bool, len(r.order))
	for _, g := range than {
		in[g] = true
	}
	for {
		for at := r.next; at < len(r.order); at++ {
			if g := r.order[at]; !in[g] {
				r.order[at], r.order[r.next] = r.order[r.next], g
				r.next++
				return g
			}
		}
		r.shuffle()
	}
}
