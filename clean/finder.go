package clean

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/kindred-ml/kindred/mat"
)

// finder compares pictures, no two of which are the same file.
//
// Where pictures are simple, most pairs have hashes that differ little: 7 % of those of
// MNIST. So whole pictures are compared by sums of integers, and only their products
// have to be made for a pair. Parts are looked for with a picture at a time as that whose
// parts they are: what its windows show is worked out once for all pictures that it may
// be part of, and on every other pixel all of them are compared by one product of
// matrices, in float32. That holds for drawings, whose pixels all count (see
// correlation); what is rounded so only rules windows out where it cannot matter, so that what
// is found is the same as by search, to the last bit.
type finder struct {
	prints []*Print
	hashes []uint64
	item   []int   // what picture of the caller's it is, the first of those that are the same
	known  [][]int // neighbours in the embedding, ascending
	begin  []window
}

// newFinder sorts out pictures that are the same as one before.
func newFinder(prints []*Print, known [][]int) (f *finder, same []Copy) {
	f = &finder{begin: windows()}
	first := make(map[[side * side]uint8]int, len(prints))
	place := make([]int, len(prints)) // in the finder
	for i, p := range prints {
		place[i] = -1
		if p == nil || p.blank {
			continue
		}
		at, seen := first[p.grey]
		if seen {
			same = append(same, Copy{f.item[at], i, 1})
		} else {
			at = len(f.prints)
			first[p.grey] = at
			f.prints, f.hashes, f.item = append(f.prints, p), append(f.hashes, p.hash), append(f.item, i)
			f.known = append(f.known, nil)
		}
		place[i] = at
	}
	for i, list := range known {
		for _, j := range list {
			if a, b := place[i], place[j]; a >= 0 && b >= 0 && a != b {
				f.known[a] = append(f.known[a], b)
			}
		}
	}
	for a, list := range f.known {
		slices.Sort(list)
		f.known[a] = slices.Compact(list)
	}
	return f, same
}

// batch is how many pictures are compared with the windows of one by one product.
const batch = 256

// worker is what one goroutine works with.
type worker struct {
	*finder
	rows    *mat.Dense // of a batch of pictures, about their means
	scores  *mat.Dense // of a batch with each of the windows
	waiting []int      // the batch
	views   views
	found   []Copy
}

func (f *finder) newWorker() *worker {
	return &worker{finder: f, rows: mat.New(batch, side*side/4), scores: mat.New(batch, len(f.begin)),
		views: newViews(f.begin)}
}

// copies finds the copies of picture i: those that are like the whole of it, and those
// that are like a part of it. What i is a part of is found where that has its turn.
func (w *worker) copies(i int) []Copy {
	w.found = nil
	p, known := w.prints[i], w.known[i]
	w.views.of, w.views.ready = p, false
	strokes := strokesOf(p)
	for j, hash := range w.hashes {
		least := similar
		if len(known) > 0 && known[0] == j {
			known, least = known[1:], apart
		} else if bits.OnesCount64(p.hash^hash) > bitsApart {
			continue
		}
		if j == i {
			continue
		}
		q := w.prints[j]
		switch c := strokes.correlation(p, q); {
		case c >= alike:
			w.add(i, j, c)
		case c < least:
		case q.drawn():
			if w.waiting = append(w.waiting, j); len(w.waiting) == batch {
				w.flush(i)
			}
		default:
			if c := search(q, p, w.begin); c >= alike {
				w.add(i, j, c)
			}
		}
	}
	w.flush(i)
	return w.likest(i)
}

func (w *worker) add(i, j int, likeness float64) {
	a, b := w.item[i], w.item[j]
	w.found = append(w.found, Copy{min(a, b), max(a, b), likeness})
	if len(w.found) == 100*listed {
		w.found = w.likest(i)
	}
}

// likest leaves out all but the likest copies before and after picture i.
func (w *worker) likest(i int) []Copy {
	slices.SortFunc(w.found, func(p, q Copy) int {
		return cmp.Or(cmp.Compare(q.Likeness, p.Likeness), cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B))
	})
	var count [2]int
	return slices.DeleteFunc(w.found, func(c Copy) bool {
		after := 0
		if c.A == w.item[i] {
			after = 1
		}
		count[after]++
		return count[after] > listed
	})
}

// flush looks for the drawings that wait in parts of picture i.
func (w *worker) flush(i int) {
	if len(w.waiting) == 0 {
		return
	}
	v := &w.views
	v.prepare()
	rows, scores := w.rows.RowRange(0, len(w.waiting)), w.scores.RowRange(0, len(w.waiting))
	length := make([]float64, len(w.waiting)) // of each row
	for k, j := range w.waiting {
		length[k] = w.prints[j].centred(rows.Row(k))
	}
	mat.Gemm(false, true, 1, rows, v.coarse, 0, scores)
	for k, j := range w.waiting {
		if c := v.search(w.prints[j], scores.Row(k), length[k]); c >= alike {
			w.add(i, j, c)
		}
	}
	w.waiting = w.waiting[:0]
}
