package verify

// histogram counts keys. Only the pages are kept in which a key has occurred: the
// distances of embeddings lie within a few powers of two, each of which is 32 pages.
type histogram struct {
	pages [1 << (31 - pageBits)]*page
}

const pageBits = 14

type page [1 << pageBits]int64

// lowest is added to keys, which have 30 bits and a sign, to count from 0.
const lowest = 1 << 30

func (h *histogram) add(k key) {
	at := uint32(k + lowest)
	p := h.pages[at>>pageBits]
	if p == nil {
		p = new(page)
		h.pages[at>>pageBits] = p
	}
	p[at%(1<<pageBits)]++
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
				h.pages[i][j] += n
			}
		}
	}
}

// kinds counts genuine and impostor pairs.
type kinds struct{ genuine, impostor histogram }

func (k *kinds) merge(o *kinds) {
	k.genuine.merge(&o.genuine)
	k.impostor.merge(&o.impostor)
}

// counts lists what has occurred.
func (k *kinds) counts() *Counts {
	c := &Counts{}
	for i, g := range k.genuine.pages {
		f := k.impostor.pages[i]
		if g == nil && f == nil {
			continue
		}
		for j := range 1 << pageBits {
			var genuine, impostor int64
			if g != nil {
				genuine = g[j]
			}
			if f != nil {
				impostor = f[j]
			}
			if genuine+impostor > 0 {
				c.add(key(i<<pageBits+j-lowest), genuine, impostor)
			}
		}
	}
	return c
}
