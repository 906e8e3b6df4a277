package attention

import (
	"math"
	"unsafe"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// multiply runs a tile over rows of A by the panels of B: cols columns, panel
// values from one panel to the next, each panel's first column of C tc behind
// the last's. What lies where is in tile.
func (t *task) multiply(tile *simd.Tile, cols int, b []float32, panel int, c []float32, at int, add bool) {
	tile.BStep, tile.Outer, tile.Blocks = 4*t.tc, 1, 1
	for j := 0; j < cols; j += t.tc {
		tile.Cols = min(t.tc, cols-j)
		tile.B, tile.C = unsafe.Pointer(&b[j/t.tc*panel]), unsafe.Pointer(&c[at+j])
		if tile.Add = nil; add {
			tile.Add = tile.C
		}
		tile.Run()
	}
}

// scores sets a block of them to packed rows from first on times panels of tokens.
func (t *task) scores(to, a []float32, first, rows int, tokens []float32) {
	tile := simd.Tile{
		A: unsafe.Pointer(&a[first*t.Dim]), AOff: &t.packed[0], AStep: 4, ATile: 4 * t.tr * t.Dim, Inner: t.Dim,
		COff: &t.byScore[0], CTile: 4 * t.tr * t.row, Rows: rows,
	}
	t.multiply(&tile, t.T, tokens, t.Dim*t.tc, to, 0, false)
}

// weightedSum sets a block of rows of c to a block of scores times panels of columns.
func (t *task) weightedSum(scores, panels, c []float32, at, step, rows int, off *[simd.MaxTileRows]int64,
	scale *float32) {
	tile := simd.Tile{
		A: unsafe.Pointer(&scores[0]), AOff: &t.byScore[0], AStep: 4, ATile: 4 * t.tr * t.row, Inner: t.T,
		COff: &off[0], CTile: 4 * t.tr * step, Rows: rows, Scale: scale,
	}
	t.multiply(&tile, t.Dim, panels, t.T*t.tc, c, at, false)
}

// addTransposed sets, or with add adds to, all tokens' rows of dqkv the transposed block
// of scores times the panels' rows from the block's first query on.
func (t *task) addTransposed(scores, panels []float32, at, first, rows int, add bool) {
	tile := simd.Tile{
		A: unsafe.Pointer(&scores[0]), AOff: &t.column[0], AStep: 4 * t.row, ATile: 4 * t.tr, Inner: rows,
		COff: &t.byIn[0], CTile: 4 * t.tr * t.in, Rows: t.T,
	}
	t.multiply(&tile, t.Dim, panels[first*t.tc:], t.T*t.tc, t.dqkv, at, add)
}

// scoresOf returns the scores of query i of the block that begins with query first, as
// far as it attends, and sets the others to 0.
func (t *task) scoresOf(scores []float32, i, first int) []float32 {
	row, seen := scores[i*t.row:][:t.T], t.numSeen(first+i)
	clear(row[seen:])
	return row[:seen]
}

func (t *task) forward(n, h, q, k, v, o int) {
	buf := t.ws.scratch.Get(t.rowsLen() + t.tokensLen() + t.panelsLen() + t.scoresLen())
	defer t.ws.scratch.Put(buf)
	queries, rest := buf[:t.rowsLen()], buf[t.rowsLen():]
	keys, rest := rest[:t.tokensLen()], rest[t.tokensLen():]
	values, scores := rest[:t.panelsLen()], rest[t.panelsLen():]
	t.rows(queries, t.qkv, q, t.in, t.scale)
	t.tokens(keys, t.qkv, k, t.in)
	t.panels(values, t.qkv, v, t.in)
	for first := 0; first < t.T; first += t.block {
		rows := min(t.block, t.T-first)
		t.scores(scores, queries, first, rows, keys)
		var sums [72]float32
		step := len(sums) / t.tr * t.tr // whole tiles
		for lo := 0; lo < rows; lo += step {
			hi := min(lo+step, rows)
			for i := lo; i < hi; i++ {
				row := t.scoresOf(scores, i, first)
				most := simd.Max(row)
				sums[i-lo] = simd.ExpSum(row, row, most)
				if t.logs != nil {
					t.logs[(n*t.Heads+h)*t.T+first+i] = most + float32(math.Log(float64(sums[i-lo])))
				}
			}
			at := o + (first+lo)*t.width
			t.weightedSum(scores[lo*t.row:], values, t.out, at, t.width, hi-lo, &t.byOut, nil)
			for i := range hi - lo {
				row := t.out[at+i*t.width : at+i*t.width+t.Dim]
				simd.Scale(row, 1/sums[i], row)
			}
		}
	}
}

// backward computes, with P the probabilities and S the scores,
//
//	dV = P' dO,  dS = P (dO V' - rowsum(dO O)),  dQ = dS K scale,  dK = dS' Q scale
func (t *task) backward(n, h, q, k, v, o int) {
	nr, np, nt, ns := t.rowsLen(), t.panelsLen(), t.tokensLen(), t.scoresLen()
	all := t.ws.scratch.Get(2*nr + 3*np + 2*nt + 2*ns)
	defer t.ws.scratch.Put(all)
	buf := all
	cut := func(n int) []float32 {
		head := buf[:n]
		buf = buf[n:]
		return head
	}
	queries, gradRows, keyTokens, valueTokens := cut(nr), cut(nr), cut(nt), cut(nt)
	keys, queryPanels, grads := cut(np), cut(np), cut(np)
	scores, dscores := cut(ns), cut(ns)
	t.rows(queries, t.qkv, q, t.in, t.scale)
	t.rows(gradRows, t.dout, o, t.width, 1)
	t.tokens(keyTokens, t.qkv, k, t.in)
	t.tokens(valueTokens, t.qkv, v, t.in)
	t.panels(keys, t.qkv, k, t.in)
	t.panels(queryPanels, queries, 0, t.Dim)
	t.panels(grads, gradRows, 0, t.Dim)
	for first := 0; first < t.T; first += t.block {
		rows := min(t.block, t.T-first)
		at := o + first*t.width
		t.scores(scores, queries, first, rows, keyTokens)
		t.scores(dscores, gradRows, first, rows, valueTokens)
		for i := range rows {
			j := at + i*t.width
			dot := simd.Dot(t.dout[j:j+t.Dim], t.out[j:j+t.Dim])
			log := t.logs[(n*t.Heads+h)*t.T+first+i]
			simd.SoftmaxGrad(t.scoresOf(scores, i, first), t.scoresOf(dscores, i, first), log, dot)
		}
		t.addTransposed(scores, grads, v, first, rows, first > 0)
		t.addTransposed(dscores, queryPanels, k, first, rows, first > 0)
		t.weightedSum(dscores, keys, t.dqkv, q+first*t.in, t.in, rows, &t.byIn, &t.scales[0])
	}
}
