package sample

import "math/rand/v2"

// allocation chooses the groups of a batch and the number of samples of each group. Every dealt group gives
// "each" samples, or all if it is smaller. Further groups fill the batch. Only when all groups are in
// the batch, larger groups give more than each, one sample at a time in turn.
type allocation struct {
	sizes       []int // number of samples in each group
	perGroup    int
	rng         *rand.Rand
	extraGroups *rounds // deals the further groups; nil until one is needed
	groups      []int   // the chosen groups
	counts      []int   // number of samples of each chosen group
}

// fill divides total samples, at most all, among dealt groups and others.
func (s *allocation) fill(dealt []int, total int) {
	s.groups, s.counts = append(s.groups[:0], dealt...), s.counts[:0]
	take := func(g int) {
		n := min(s.perGroup, s.sizes[g], total)
		s.counts = append(s.counts, n)
		total -= n
	}
	for _, g := range dealt {
		take(g)
	}
	for total > 0 && len(s.groups) < len(s.sizes) {
		if s.extraGroups == nil {
			s.extraGroups = newRounds(len(s.sizes), s.rng)
		}
		g := s.extraGroups.takeOther(s.groups)
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

// takeOther deals the next number that is not in than, which lacks at least one number. Numbers of the
// round that are in than keep their turn, unless the round has no other numbers left.
func (r *rounds) takeOther(than []int) int {
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
