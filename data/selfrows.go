package data

import "image"

// Itself returns for each position of the part the position in a gallery of the same set that has the same picture, or
// -1; nil if there are none. A picture is the same if it is the same sample, or has the same name and box: a manifest
// may list a file as a query and again as an item of the gallery.
func (p *Part) Itself(gallery *Part) []int {
	type picture struct {
		name string
		box  image.Rectangle
	}
	of := func(i int) picture {
		out := picture{name: p.Data.Names[i]}
		if p.Data.Boxes != nil {
			out.box = p.Data.Boxes[i]
		}
		return out
	}
	samples, pictures := make(map[int]int, gallery.Len()), make(map[picture]int, gallery.Len())
	for pos, i := range gallery.Index {
		samples[i] = pos
		if _, twice := pictures[of(i)]; !twice && p.Data.Names[i] != "" {
			pictures[of(i)] = pos
		}
	}
	out, some := make([]int, p.Len()), false
	for pos, i := range p.Index {
		at, ok := samples[i]
		if !ok {
			at, ok = pictures[of(i)]
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
