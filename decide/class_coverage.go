package decide

import (
	"context"
	"math"
	"slices"
)

// ClassCoverage is the coverage of sets if every class with enough photos uses its own spread (Spread), and
// the others use the calibration's classes.
type ClassCoverage struct {
	OwnSpread    float64 `json:"own"` // share of the classes that use their own spread
	Measured     float64 `json:"measured"`
	LowestDecile float64 `json:"low"` // the coverage that nine classes in ten have at least
	MeanSize     float64 `json:"size"`
}

// measureClassCoverage measures coverages as nearestDistances.measureCoverage does, by searching every photo
// among all others.
func (n *nearestDistances) measureClassCoverage(ctx context.Context, c *Calibration, covers []Coverage) error {
	s := n.s
	reach := make([][]float64, len(covers)) // reach of each class, by all of its photos
	for k, of := range covers {
		for i := range s.numIdentities() {
			v, _, err := n.coverageRadius(c, i, -1, of.Requested)
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
			for j := range s.numIdentities() {
				if j == i {
					continue
				}
				least := toDistance(s.distance, float64(slices.Min(v[s.first[j]:s.first[j+1]])))
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
		covers[k].ByClass = n.summarizeClasses(c, covers[k].Requested, others[k])
	}
	return nil
}

// summarizeClasses summarises the coverage over the photos of every class.
func (n *nearestDistances) summarizeClasses(c *Calibration, coverage float64, others []int) *ClassCoverage {
	s, out := n.s, &ClassCoverage{}
	var each []float64
	for i := range s.numIdentities() {
		if s.numPhotos(i) < 2 {
			continue
		}
		var hit, size float64
		for q := s.first[i]; q < s.first[i+1]; q++ {
			reach, own, err := n.coverageRadius(c, i, q, coverage)
			if err == nil && n.same[q] <= reach {
				hit++
				size++
			}
			if own {
				out.OwnSpread += 1 / float64(s.numPhotos(i))
			}
			size += float64(others[q])
		}
		each = append(each, hit/float64(s.numPhotos(i)))
		out.MeanSize += size / float64(s.numPhotos(i))
	}
	if len(each) == 0 {
		return out
	}
	out.OwnSpread, out.MeanSize = out.OwnSpread/float64(len(each)), out.MeanSize/float64(len(each))
	out.Measured, out.LowestDecile = sum(each)/float64(len(each)), lowestDecile(each)
	return out
}

// lowestDecile returns the value that at least nine of ten values reach.
func lowestDecile(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/10]
}

// coverageRadius returns the distance within which photos of a class are expected, by its photos without row q (or
// all of them if q is -1). own reports whether these are enough photos.
func (n *nearestDistances) coverageRadius(c *Calibration, i, q int, coverage float64) (coverageRadius float64,
	own bool, err error) {
	s := n.s
	var spread []float64
	for p := s.first[i]; p < s.first[i+1]; p++ {
		switch {
		case p == q:
		case q >= 0 && n.next[p] == q:
			spread = append(spread, n.second[p])
		default:
			spread = append(spread, n.same[p])
		}
	}
	slices.Sort(spread)
	if k, enough := coverageIndex(len(spread), coverage); enough && k >= 0 && !math.IsInf(spread[k], 1) {
		return spread[k], true, nil
	}
	coverageRadius, err = c.CoverageDistance(coverage, max(1, len(spread)))
	return coverageRadius, false, err
}
