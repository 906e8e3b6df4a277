package clean

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/kindred-ml/kindred/matrix"
)

// copyFinder compares pictures that are all different files.
//
// If pictures are simple, many pairs have hashes that differ little: 7 % of the pairs of MNIST. So whole
// pictures are compared by sums of integers, and only products must be computed for a pair. To find
// parts, one picture at a time provides the windows. Its views are computed once for all pictures that may
// be a part of it. On every other pixel, all of these are compared by one float32 product of matrices. This
// is done for drawings, whose pixels all count (see correlation). Rounded values only exclude windows when
// that is safe, so the result has the same bits as that of search.
type copyFinder struct {
	prints     []*Fingerprint
	hashes     []uint64
	item       []int   // index of the caller's picture, the first of equal ones
	neighbours [][]int // neighbours in the embedding, ascending
	windows    []window
	wholeOnly  bool // parts of pictures are not searched
}

// newCopyFinder makes a finder of the different pictures. same lists pictures that equal an earlier one.
func newCopyFinder(prints []*Fingerprint, known [][]int) (f *copyFinder, same []Copy) {
	f = &copyFinder{windows: initialWindows()}
	first := make(map[[side * side]uint8]int, len(prints))
	place := make([]int, len(prints)) // index in the finder
	for i, p := range prints {
		place[i] = -1
		if p == nil || p.isBlank {
			continue
		}
		at, seen := first[p.grey]
		if seen {
			same = append(same, Copy{f.item[at], i, 1})
		} else {
			at = len(f.prints)
			first[p.grey] = at
			f.prints, f.hashes, f.item = append(f.prints, p), append(f.hashes, p.hash), append(f.item, i)
			f.neighbours = append(f.neighbours, nil)
		}
		place[i] = at
	}
	for i, list := range known {
		for _, j := range list {
			if a, b := place[i], place[j]; a >= 0 && b >= 0 && a != b {
				f.neighbours[a] = append(f.neighbours[a], b)
			}
		}
	}
	for a, list := range f.neighbours {
		slices.Sort(list)
		f.neighbours[a] = slices.Compact(list)
	}
	return f, same
}

// batch is the number of pictures that are compared with the windows of a picture by one product.
const batch = 256

// worker holds the buffers of one goroutine.
type worker struct {
	*copyFinder
	rows    *matrix.Dense // centred pixels of a batch of pictures
	scores  *matrix.Dense // products of a batch with each window
	waiting []int         // pictures of the batch
	views   windowViews
	found   []Copy
}

func (f *copyFinder) newWorker() *worker {
	return &worker{copyFinder: f, rows: matrix.New(batch, side*side/4), scores: matrix.New(batch, len(f.windows)),
		views: newWindowViews(f.windows)}
}

// findCopies finds the pictures that are like the whole of picture i or like a part of it. Pictures of which i
// is a part are found when they are picture i.
func (w *worker) findCopies(i int) []Copy {
	w.found = nil
	p, known := w.prints[i], w.neighbours[i]
	w.views.picture, w.views.ready = p, false
	strokes := newStrokes(p)
	for j, hash := range w.hashes {
		least := minPartCorrelation
		if len(known) > 0 && known[0] == j {
			known, least = known[1:], minNeighbourCorrelation
		} else if bits.OnesCount64(p.hash^hash) > maxHashBits {
			continue
		}
		if j == i {
			continue
		}
		q := w.prints[j]
		whole := window{0, 0, side}
		switch c := strokes.correlation(p, q); {
		case isCopy(c, p, q, whole):
			w.add(i, j, c)
		case c < least, w.wholeOnly:
		case q.IsDrawing():
			if w.waiting = append(w.waiting, j); len(w.waiting) == batch {
				w.searchWaiting(i)
			}
		default:
			if c, at := searchWindows(q, p, w.windows); isCopy(c, q, p, at) {
				w.add(i, j, c)
			}
		}
	}
	w.searchWaiting(i)
	return w.keepClosest(i)
}

func (w *worker) add(i, j int, likeness float64) {
	a, b := w.item[i], w.item[j]
	w.found = append(w.found, Copy{min(a, b), max(a, b), likeness})
	if len(w.found) == 100*maxListedCopies {
		w.found = w.keepClosest(i)
	}
}

// keepClosest keeps only the likest copies before and after picture i.
func (w *worker) keepClosest(i int) []Copy {
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
		return count[after] > maxListedCopies
	})
}

// searchWaiting searches the waiting drawings in parts of picture i.
func (w *worker) searchWaiting(i int) {
	if len(w.waiting) == 0 {
		return
	}
	v := &w.views
	v.prepare()
	rows, scores := w.rows.RowRange(0, len(w.waiting)), w.scores.RowRange(0, len(w.waiting))
	length := make([]float64, len(w.waiting)) // length of each row
	for k, j := range w.waiting {
		length[k] = w.prints[j].centre(rows.Row(k))
	}
	matrix.Gemm(false, true, 1, rows, v.coarse, 0, scores)
	for k, j := range w.waiting {
		if c, at := v.search(w.prints[j], scores.Row(k), length[k]); isCopy(c, w.prints[j], v.picture, at) {
			w.add(i, j, c)
		}
	}
	w.waiting = w.waiting[:0]
}
