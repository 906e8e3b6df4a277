package data

import "image"

// Identities says which samples of the part are the same picture: it returns a
// number for each position, equal if name and box are equal. A sample is a row
// of the data set; a manifest may list one picture several times, under several
// labels or by mistake. Samples without a name are all different.
func (p *Part) Identities() []int64 {
	type picture struct {
		name string
		box  image.Rectangle
	}
	first := make(map[picture]int, p.Len())
	out := make([]int64, p.Len())
	for pos, i := range p.Index {
		of := picture{name: p.Data.Names[i]}
		if p.Data.Boxes != nil {
			of.box = p.Data.Boxes[i]
		}
		at, seen := first[of]
		if !seen || of.name == "" {
			at = i
			first[of] = i
		}
		out[pos] = int64(at)
	}
	return out
}
