package decide

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/matrix"
)

// set holds embeddings sorted by identity.
type set struct {
	x          *matrix.Dense
	first      []int   // identity i has rows first[i] to first[i+1]
	identityOf []int32 // the identity of each row
	label      []int64 // the label of each identity
	distance   eval.Distance

	// maxPerIdentity is the number of photos that an identity counts for at most: that of the median
	// identity, at least two.
	maxPerIdentity int
	weight         []float64 // weight of each photo of an identity: 1, or most / photos
	isItem         []bool    // for each row, whether it is an item in galleries, see weigh
}

func (s *set) numIdentities() int  { return len(s.first) - 1 }
func (s *set) numPhotos(i int) int { return s.first[i+1] - s.first[i] }

// effectivePhotos returns the number of photos that an identity counts for.
func (s *set) effectivePhotos(i int) float64 { return float64(min(s.numPhotos(i), s.maxPerIdentity)) }

// setWeights sets the weights of photos. An identity is a member of a gallery with as many photos as it
// counts for, spread evenly over its rows.
func (s *set) setWeights() {
	n := s.numIdentities()
	sizes := make([]int, n)
	for i := range n {
		sizes[i] = s.numPhotos(i)
	}
	slices.Sort(sizes)
	s.maxPerIdentity = max(2, sizes[n/2])
	for i := range n {
		photos, m := s.numPhotos(i), min(s.numPhotos(i), s.maxPerIdentity)
		s.weight = append(s.weight, float64(m)/float64(photos))
		for k := range photos {
			s.isItem = append(s.isItem, (k+1)*m/photos > k*m/photos)
		}
	}
}

// totalPhotos returns the number of photos that all identities count for.
func (s *set) totalPhotos() (sum float64) {
	for i := range s.numIdentities() {
		sum += s.effectivePhotos(i)
	}
	return sum
}

// newSet checks and sorts the rows. It leaves out copies of a row within its class, because any network
// would match them, and returns their number.
func newSet(x *matrix.Dense, labels []int64, opt *Options) (s *set, copies int, err error) {
	if x == nil || x.Rows == 0 {
		return nil, 0, fmt.Errorf("no embeddings to calibrate on: give photos of classes that training did not see")
	}
	if len(labels) != x.Rows {
		return nil, 0, fmt.Errorf("there are %d embeddings, but %d labels", x.Rows, len(labels))
	}
	if err := opt.Distance.Check(); err != nil {
		return nil, 0, err
	}
	if err := exact.CheckFinite(x, "embeddings to calibrate on"); err != nil {
		return nil, 0, err
	}
	order := make([]int, x.Rows)
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return labels[order[a]] < labels[order[b]] })
	order, copies = removeCopies(x, labels, order)
	order = limitRows(labels, order, opt)
	s = &set{x: matrix.New(len(order), x.Cols), distance: opt.Distance}
	for k, i := range order {
		if k == 0 || labels[i] != labels[order[k-1]] {
			s.first, s.label = append(s.first, k), append(s.label, labels[i])
		}
		s.identityOf = append(s.identityOf, int32(len(s.first)-1))
		copy(s.x.Row(k), x.Row(i))
	}
	s.first = append(s.first, len(order))
	s.setWeights()
	if opt.Distance == eval.Cosine {
		for k, i := range order {
			if !slices.ContainsFunc(s.x.Row(k), func(v float32) bool { return v != 0 }) {
				return nil, 0, fmt.Errorf("row %d of the embeddings is all zeros: it has no direction, and no "+
					"cosine", i+1)
			}
		}
		s.x = eval.NormalizeRows(s.x)
	}
	return s, copies, nil
}

// copyRows copies rows.
func copyRows(x *matrix.Dense, rows []int) *matrix.Dense {
	out := matrix.New(len(rows), x.Cols)
	for k, i := range rows {
		copy(out.Row(k), x.Row(i))
	}
	return out
}

// removeCopies leaves out rows that are equal in every bit to another row of their class.
func removeCopies(x *matrix.Dense, labels []int64, order []int) (kept []int, copies int) {
	seen := make(map[string]bool)
	text := make([]byte, 4*x.Cols)
	for k, i := range order {
		if k == 0 || labels[i] != labels[order[k-1]] {
			clear(seen)
		}
		for j, v := range x.Row(i) {
			binary.LittleEndian.PutUint32(text[4*j:], math.Float32bits(v))
		}
		if seen[string(text)] {
			copies++
			continue
		}
		seen[string(text)] = true
		kept = append(kept, i)
	}
	return kept, copies
}

// limitRows keeps at most opt.Rows rows: of every class at most the largest number that fits, drawn by the
// seed. It keeps classes rather than photos.
func limitRows(labels []int64, order []int, opt *Options) []int {
	most := cmp.Or(opt.Rows, defaultRows)
	if len(order) <= most {
		return order
	}
	var sizes []int
	for k, i := range order {
		if k == 0 || labels[i] != labels[order[k-1]] {
			sizes = append(sizes, 0)
		}
		sizes[len(sizes)-1]++
	}
	each := 2 // a class needs at least two photos
	for total := 0; ; each++ {
		total = 0
		for _, n := range sizes {
			total += min(n, each+1)
		}
		if total > most {
			break
		}
	}
	rng := rand.New(rand.NewPCG(opt.Seed, 0))
	var kept []int
	lo := 0
	for _, n := range sizes {
		group := slices.Clone(order[lo : lo+n])
		lo += n
		rng.Shuffle(n, func(a, b int) { group[a], group[b] = group[b], group[a] })
		kept = append(kept, group[:min(n, each)]...)
	}
	return kept
}

// tileRows is the number of rows that are compared with all rows at a time.
const tileRows = 128

// scan compares every row with all rows, a tile of rows at a time. It calls visit for each identity's
// rows of a tile, for several identities at once but in order for each identity. Row lo+k has the values
// of[k], which have the order of distances (see outward).
func (s *set) scan(ctx context.Context, visit func(identity, lo int, of []([]float32)), tile func()) error {
	n := s.x.Rows
	values := matrix.New(min(tileRows, n), n)
	for lo := 0; lo < n; lo += tileRows {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("comparing rows: %w", err)
		}
		hi := min(lo+tileRows, n)
		out := values.RowRange(0, hi-lo)
		rows := s.x.RowRange(lo, hi)
		if s.distance == eval.Dot {
			matrix.Gemm(false, true, -1, rows, s.x, 0, out)
		} else {
			matrix.SquaredDistances(rows, s.x, out)
		}
		from, to := int(s.identityOf[lo]), int(s.identityOf[hi-1])
		par.For(to-from+1, 1, func(a, b int) {
			for i := from + a; i < from+b; i++ {
				first, last := max(lo, s.first[i]), min(hi, s.first[i+1])
				each := make([][]float32, 0, last-first)
				for q := first; q < last; q++ {
					each = append(each, out.Row(q-lo))
				}
				visit(i, first, each)
			}
		})
		tile()
	}
	return nil
}

// toDistance turns a value of scan into a distance as in searches: the Euclidean distance from its square,
// or 1 - cosine from the squared distance between rows of length 1.
func toDistance(by eval.Distance, v float64) float64 {
	switch by {
	case eval.Euclidean:
		return math.Sqrt(v)
	case eval.Cosine:
		return v / 2
	}
	return v
}

// keyBits is the number of bits of a value in its key: sign, exponent and 11 bits of the fraction, which
// is a precision of one part in 2,000.
const keyBits = 20

// orderKey numbers values in their order. Subnormal numbers count as 0.
func orderKey(v float32) uint32 {
	b := math.Float32bits(v)
	if b&0x7f800000 == 0 {
		b = 0
	}
	if b>>31 == 1 {
		b = ^b
	} else {
		b |= 1 << 31
	}
	return b >> (32 - keyBits)
}

// maxValueOf returns the largest value with a key.
func maxValueOf(k uint32) float64 {
	if k == orderKey(0) {
		return 0
	}
	b := k<<(32-keyBits) | (1<<(32-keyBits) - 1)
	if b>>31 == 1 {
		b &^= 1 << 31
	} else {
		b = ^b
	}
	return float64(math.Float32frombits(b))
}
