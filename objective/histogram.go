package objective

import "cmp"

// maxBands bounds what the bands of a histogram take of memory.
const maxBands = 1 << 16

// drawByHistogram draws n references so that all distances between the nearest and the
// farthest come up alike: the range of d, which has the distance of every candidate, is
// cut into Bands equal bands, a band that holds a candidate is drawn, then one of the
// candidates in it. It calls pick with places in d.
func (m *miner) drawByHistogram(d []float32, n int, s *minerScratch, rng *stream, pick func(k int)) {
	bands := cmp.Or(m.cfg.Bands, defaultBands)
	nearest := d[argmin(d)]
	width := float64(d[argmax(d)]) - float64(nearest)
	s.band = grow(s.band, len(d))
	s.filled = grow(s.filled, bands)
	clear(s.filled)
	occupied := 0
	for k, x := range d {
		b := 0
		if width > 0 { // else all are at one distance
			b = min(bands-1, int((float64(x)-float64(nearest))/width*float64(bands)))
		}
		s.band[k] = int32(b)
		if s.filled[b] == 0 {
			occupied++
		}
		s.filled[b]++
	}
	for range n {
		// The band is the nth of those that hold something, the candidate the kth in it.
		nth, b := rng.intN(occupied), 0
		for ; ; b++ {
			if s.filled[b] == 0 {
				continue
			}
			if nth == 0 {
				break
			}
			nth--
		}
		kth := rng.intN(int(s.filled[b]))
		for k, at := range s.band {
			if int(at) != b {
				continue
			}
			if kth == 0 {
				pick(k)
				break
			}
			kth--
		}
	}
}
