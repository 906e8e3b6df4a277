package decide

import (
	"context"
	"math"
	"slices"
)

// ByClass is the coverage of sets if every class with enough photos uses its own spread (Spread), and
// the others use the calibration's classes.
type ByClass struct {
	Own      float64 `json:"own"` // share of the classes that use their own spread
	Measured float64 `json:"measured"`
	Low      float64 `json:"low"` // the coverage that nine classes in ten have at least
	Size     float64 `json:"size"`
}

// byClass measures coverages as nearestOf.cover does, by searching every photo among all others.
func (n *nearestOf) byClass(ctx context.Context, c *Calibration, covers []Cover) error {
	s := n.s
	reach := make([][]float64, len(covers)) // reach of each class, by all of its photos
	for k, of := range covers {
		for i := range s.identities() {
			v, _, err := n.reach(c, i, -1, of.Coverage)
			if err != nil {
				return nil // cover reports the error
			}
			reach[k] = append(reach[k], v)
		}
	}
	others := make([][]int, len(covers)) // number of other classes in the set of each row
	for k := range others {
		others[k] = make([]int, s.x.Rows)
	}
	err := s.scan(ctx, func(i, lo int, of [][]float32) {
		for r, v := range of {
			for j := range s.identities() {
				if j == i {
					continue
				}
				least := outward(s.by, float64(slices.Min(v[s.first[j]:s.first[j+1]])))
				for k := range covers {
					if least <= reach[k][j] {
						others[k][lo+r]++
					}
				}
			}
		}
	}, func() {})
	if err != nil {
		return err
	}
	for k := range covers {
		covers[k].ByClass = n.covered(c, covers[k].Coverage, others[k])
	}
	return nil
}

// covered summarises the coverage over the photos of every class.
func (n *nearestOf) covered(c *Calibration, coverage float64, others []int) *ByClass {
	s, out := n.s, &ByClass{}
	var each []float64
	for i := range s.identities() {
		if s.photos(i) < 2 {
			continue
		}
		var hit, size float64
		for q := s.first[i]; q < s.first[i+1]; q++ {
			reach, own, err := n.reach(c, i, q, coverage)
			if err == nil && n.own[q] <= reach {
				hit++
				size++
			}
			if own {
				out.Own += 1 / float64(s.photos(i))
			}
			size += float64(others[q])
		}
		each = append(each, hit/float64(s.photos(i)))
		out.Size += size / float64(s.photos(i))
	}
	if len(each) == 0 {
		return out
	}
	out.Own, out.Size = out.Own/float64(len(each)), out.Size/float64(len(each))
	out.Measured, out.Low = sum(each)/float64(len(each)), low(each)
	return out
}

// low returns the value that nine of ten values reach.
func low(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/10]
}

// reach returns the distance within which photos of a class are, by its photos without row q (or all of
// them if q is -1). own reports whether these were enough.
func (n *nearestOf) reach(c *Calibration, i, q int, coverage float64) (reach float64, own bool, err error) {
	s := n.s
	var spread []float64
	for p := s.first[i]; p < s.first[i+1]; p++ {
		switch {
		case p == q:
		case q >= 0 && n.next[p] == q:
			spread = append(spread, n.second[p])
		default:
			spread = append(spread, n.own[p])
		}
	}
	slices.Sort(spread)
	if k, enough := ownRank(len(spread), coverage); enough && k >= 0 && !math.IsInf(spread[k], 1) {
		return spread[k], true, nil
	}
	reach, err = c.Cover(coverage, max(1, len(spread)))
	return reach, false, err
}
