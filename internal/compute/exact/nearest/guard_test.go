package nearest

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// badBlock is a guard that refuses one block.
type badBlock struct {
	rows, codes int // -1 for none
}

var errBad = errors.New("damaged")

func (g badBlock) Rows(lo, hi int) error { return refuse(lo/Block <= g.rows && g.rows <= (hi-1)/Block) }
func (g badBlock) Codes(b int) error     { return refuse(b == g.codes) }

func refuse(bad bool) error {
	if bad {
		return errBad
	}
	return nil
}

// Queries that need a block which is refused fail, and the others, of the same pass, do
// not.
func TestGuard(t *testing.T) {
	const n = 5 * Block
	for _, l := range []simd.Level{simd.Generic, simd.AVX512} {
		for _, d := range []int{4, 64} {
			defer simd.Force(l)()
			x := random(rand.New(rand.NewPCG(3, 4)), n, d, 0)
			codes := Encode(exact.Euclidean, x, d)
			search := func(g Guard, row int, within []Range) *Query {
				q := &Query{X: x[row*d : (row+1)*d], K: 1, Allowed: [][]uint64{allRows(n)}}
				if within != nil {
					q.Within = [][]Range{within}
				}
				other := &Query{X: x[:d], K: 3, Allowed: [][]uint64{allRows(n)}}
				parts := []Part{{X: x, Codes: codes, Guard: g}}
				if err := Search(t.Context(), exact.Euclidean, d, parts, []*Query{other, q}, byRow); err != nil {
					t.Fatal(err)
				}
				return q
			}
			in := 3*Block + 5
			// The row itself lies in a block whose vectors are refused.
			if q := search(badBlock{3, -1}, in, nil); !errors.Is(q.Err, errBad) || q.Found != nil {
				t.Errorf("%v, %d: %v, %v", l, d, q.Err, q.Found)
			}
			if quantized.StoredKind(d).IsFast() {
				if q := search(badBlock{-1, 3}, 7, nil); !errors.Is(q.Err, errBad) || q.Found != nil {
					t.Errorf("%v, %d, codes: %v, %v", l, d, q.Err, q.Found)
				}
			}
			q := search(badBlock{3, 3}, 7, []Range{{0, Block}})
			if q.Err != nil || !slices.Equal(q.Found, []Found{{0, 7, 0}}) {
				t.Errorf("%v, %d, elsewhere: %v, %v", l, d, q.Err, q.Found)
			}
			few := &Query{X: x[:d], K: 1, Allowed: [][]uint64{make([]uint64, n/64)}}
			few.Allowed[0][in>>6] = 1 << (in & 63)
			parts := []Part{{X: x, Codes: codes, Guard: badBlock{3, -1}}}
			err := Search(t.Context(), exact.Euclidean, d, parts, []*Query{few}, byRow)
			if err != nil || !errors.Is(few.Err, errBad) {
				t.Errorf("%v, %d, one by one: %v, %v", l, d, err, few.Err)
			}
		}
	}
}
