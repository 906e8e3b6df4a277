package eval

// histogram counts keys. It keeps only the pages in which a key has occurred: the distances of
// embeddings are within a few powers of two, and each of these has 32 pages. Counts have 32 bits, so
// that twice as many stay in the cache. carried holds overflows in units of 2^32.
type histogram struct {
	pages    [1 << (31 - pageBits)]*page
	overflow map[uint32]int64
}

const pageBits = 14

type page [1 << pageBits]uint32

// keyOffset is added to keys, which have 30 bits and a sign, to make them non-negative.
const keyOffset = 1 << 30

// addAll counts many keys at a time, so that cache misses overlap.
func (h *histogram) addAll(keys []key) {
	for _, k := range keys {
		at := uint32(k + keyOffset)
		p := h.pages[at>>pageBits]
		if p == nil {
			p = new(page)
			h.pages[at>>pageBits] = p
		}
		n := &p[at%(1<<pageBits)]
		if *n++; *n == 0 {
			h.carry(at, 1)
		}
	}
}

func (h *histogram) carry(at uint32, units int64) {
	if h.overflow == nil {
		h.overflow = make(map[uint32]int64)
	}
	h.overflow[at] += units
}

// merge adds the counts of o, which must not be used afterwards.
func (h *histogram) merge(o *histogram) {
	for i, p := range o.pages {
		switch {
		case p == nil:
		case h.pages[i] == nil:
			h.pages[i] = p
		default:
			for j, n := range p {
				was := h.pages[i][j]
				h.pages[i][j] = was + n
				if was+n < was {
					h.carry(uint32(i<<pageBits+j), 1)
				}
			}
		}
	}
	for at, units := range o.overflow {
		h.carry(at, units)
	}
}

// count returns how often the key at a place occurred.
func (h *histogram) count(at uint32) int64 {
	p := h.pages[at>>pageBits]
	if p == nil {
		return 0
	}
	n := int64(p[at%(1<<pageBits)])
	if h.overflow != nil {
		n += h.overflow[at] << 32
	}
	return n
}

// pairHistograms counts genuine and impostor pairs. It buffers the keys of a tile's pairs of each kind before
// they are counted.
type pairHistograms struct {
	genuine, impostor histogram
	buffers           [2][]key
	// distances has those of both kinds, if there are few enough for AUC to sort them.
	distances [2][]float64
}

func (k *pairHistograms) merge(o *pairHistograms) {
	k.genuine.merge(&o.genuine)
	k.impostor.merge(&o.impostor)
	for kind, of := range o.distances {
		k.distances[kind] = append(k.distances[kind], of...)
	}
}

// toCounts returns the counts of all keys that occurred.
func (k *pairHistograms) toCounts() *Counts {
	c := &Counts{area: exactAUC(k.distances[1], k.distances[0])}
	for i, g := range k.genuine.pages {
		if g == nil && k.impostor.pages[i] == nil {
			continue
		}
		for j := range 1 << pageBits {
			at := uint32(i<<pageBits + j)
			if genuine, impostor := k.genuine.count(at), k.impostor.count(at); genuine+impostor > 0 {
				c.add(key(at)-keyOffset, genuine, impostor)
			}
		}
	}
	return c
}
