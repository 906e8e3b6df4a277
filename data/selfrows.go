package data

import "github.com/kindred-ml/kindred/embedding"

// SelfRows returns for each position of the part the position in a gallery of the same set that is the same
// item, or -1; nil if there are none. It is the same sample, or one with the same name and box: a manifest
// may list a file as a query
// and again as an item of the gallery.
func (p *Part) SelfRows(gallery *Part) []int {
	samples, items := make(map[int]int, gallery.Len()), make(map[embedding.Item]int, gallery.Len())
	for pos, i := range gallery.Index {
		samples[i] = pos
		it := p.Data.Item(i)
		if _, twice := items[it]; !twice && it.Path != "" {
			items[it] = pos
		}
	}
	out, some := make([]int, p.Len()), false
	for pos, i := range p.Index {
		at, ok := samples[i]
		if !ok {
			at, ok = items[p.Data.Item(i)]
		}
		if out[pos] = -1; ok {
			out[pos], some = at, true
		}
	}
	if !some {
		return nil
	}
	return out
}
