package attention

import (
	"math"
	"unsafe"

	"github.com/kindred-ml/kindred/internal/kernel/bf16"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// In bfloat16 the operands of every product are rounded, probabilities and the
// gradients of scores among them; scores, softmax and sums are float32. What tiles read
// lies as package bf16 has it, for a matrix of tokens by values one of
//
//	rows      [16 tokens][step of 32 values][token][value]
//	columns   [16 tokens][step of 32 values][pair of values][token]
//	depth     [16 values][step of 32 tokens][pair of tokens][value]
//	turned    [value][token]

// halfTables are the tables of offsets of a shape.
type halfTables struct {
	steps, tokenSteps    int     // of 32 values of a head, of 32 tokens
	packed, along        []int64 // of steps: of packed rows, and of values one after another
	byScore, byOut, byIn []int64 // of rows
	block                int     // queries at a time
}

func (t *task) halfTables() {
	h := &t.half
	h.steps, h.tokenSteps = (t.Dim+31)/32, (t.T+31)/32
	h.block = min(max(blockLen/t.T/32, 1)*32, t.T)
	for i := range max(h.steps, h.tokenSteps) {
		h.packed, h.along = append(h.packed, 1024*int64(i)), append(h.along, 64*int64(i))
	}
	for i := range t.T {
		h.byScore, h.byOut = append(h.byScore, int64(i*t.row)), append(h.byOut, int64(i*t.width))
		h.byIn = append(h.byIn, int64(i*t.in))
	}
}

// tiles is a number of tokens or values in tiles of 16.
func tiles(n int) int { return (n + 15) / 16 }

// turnedLen is the length of a row of n tokens that are turned: whole steps, on all sets
// of the first cache.
func turnedLen(n int) int {
	n = (n + 31) / 32 * 32
	if n%64 == 0 {
		n += 32
	}
	return n
}

// halfRows packs rows of n values, step apart, from x on.
func halfRows(to, x []float32, step, rows, n int) {
	steps := (n + 31) / 32
	for i := 0; i < rows; i += 16 {
		bf16.RoundSteps(bf16.View(to[i*steps*16:]), 512, x[i*step:], step, min(16, rows-i), n)
	}
}

// halfColumns packs the T tokens of a head as columns, by way of rows of room.
func (t *task) halfColumns(to, x, room []float32) {
	wide := 16 * t.half.steps
	for i := 0; i < t.T; i += 16 {
		n := min(16, t.T-i)
		panel := to[i*wide:][:16*wide]
		if n < 16 {
			clear(panel)
		}
		for j := range n {
			bf16.RoundSteps(bf16.View(room[j*wide:]), 32, x[(i+j)*t.in:], t.Dim, 1, t.Dim)
		}
		for s := range t.half.steps {
			simd.Transpose(panel[256*s:], 16, room[16*s:], wide, n, 16)
		}
	}
}

// halfDepth packs rows of values, step apart, as pairs of rows.
func (t *task) halfDepth(to, x []float32, step, rows int) {
	steps := (rows + 31) / 32
	row := func(i int) []float32 {
		if i >= rows {
			return nil
		}
		return x[i*step : i*step+t.Dim]
	}
	for i := range 16 * steps {
		bf16.Pairs(bf16.Words(to[16*i:]), 256*steps, row(2*i), row(2*i+1), t.Dim)
	}
}

// halfTurned packs a block of scores turned: a token's queries side by side.
func (t *task) halfTurned(to, scores, room []float32, rows int) {
	length := turnedLen(rows) / 2
	wide := tiles(t.T) * 16
	for i := 0; i < (rows+31)/32*16; i += 16 {
		for j := range 16 {
			var pair [2][]float32
			for k := range pair {
				if q := 2*(i+j) + k; q < rows {
					pair[k] = scores[q*t.row:][:t.T]
				}
			}
			bf16.Pairs(bf16.Words(room[j*wide:]), 16, pair[0], pair[1], t.T)
		}
		simd.Transpose(to[i:], length, room, wide, 16, t.T)
	}
}

// halfMultiply runs a tile, which says where A and C lie, over cols columns of B.
func (t *task) halfMultiply(tile bf16.Tile, cols int, b, c, sums []float32, add bool) {
	for j := 0; j < cols; j += bf16.BlockCols {
		tile.Cols, tile.BTile = min(bf16.BlockCols, cols-j), 1024*tile.Steps
		tile.B, tile.C = unsafe.Pointer(&b[j*16*tile.Steps]), unsafe.Pointer(&c[j])
		if tile.Add = nil; add {
			tile.Add = tile.C
		}
		tile.Run(sums)
	}
}

// halfPacked is a tile over rows of steps that are packed.
func (t *task) halfPacked(a []float32, rows, steps int, coff []int64, scale *float32) bf16.Tile {
	return bf16.Tile{A: unsafe.Pointer(&a[0]), AStep: 64, ATile: 1024 * steps, KOff: &t.half.packed[0], Steps: steps,
		Rows: rows, COff: &coff[0], Scale: scale}
}

// scratchCutter are the parts of a head's room to work in.
type scratchCutter struct{ free []float32 }

func (r *scratchCutter) cut(n int) []float32 {
	n = (n + 15) / 16 * 16
	v := r.free[:n:n]
	r.free = r.free[n:]
	return v
}

// halfLens are the rooms for a head's tokens as rows or columns, as depth, for a block of
// packed probabilities, for scores, for scores turned, and for packing.
func (t *task) halfLens() (rows, depth, probs, scores, turned, room int) {
	h := &t.half
	rows, depth = tiles(t.T)*h.steps*256, tiles(t.Dim)*h.tokenSteps*256
	probs, scores = tiles(h.block)*h.tokenSteps*256, h.block*t.row
	turned = tiles(t.T) * 16 * turnedLen(h.block) / 2
	return rows, depth, probs, scores, turned, max(256*h.steps, 256*tiles(t.T)) + 64
}

func (t *task) halfForward(n, h, q, k, v, o int) {
	nr, nd, np, ns, _, nw := t.halfLens()
	buf := t.ws.scratch.Get(2*nr + nd + np + ns + nw + bf16.SumLen + 128)
	defer t.ws.scratch.Put(buf)
	r := scratchCutter{buf}
	sums := r.cut(bf16.SumLen)
	queries, keys, values, probs, scores, room := r.cut(nr), r.cut(nr), r.cut(nd), r.cut(np), r.cut(ns), r.cut(nw)
	halfRows(queries, t.qkv[q:], t.in, t.T, t.Dim)
	t.halfColumns(keys, t.qkv[k:], room)
	t.halfDepth(values, t.qkv[v:], t.in, t.T)
	steps, tokens := t.half.steps, t.half.tokenSteps
	for first := 0; first < t.T; first += t.half.block {
		rows := min(t.half.block, t.T-first)
		t.halfMultiply(t.halfPacked(queries[first*steps*16:], rows, steps, t.half.byScore, &t.scales[0]), t.T, keys,
			scores, sums, false)
		at := o + first*t.width
		for i := range rows {
			row := t.scoresOf(scores, i, first)
			most := simd.Max(row)
			total := simd.ExpSum(row, row, most)
			if t.logs != nil {
				t.logs[(n*t.Heads+h)*t.T+first+i] = most + float32(math.Log(float64(total)))
			}
			simd.Scale(row, 1/total, row)
		}
		halfRows(probs, scores, t.row, rows, t.T)
		t.halfMultiply(t.halfPacked(probs, rows, tokens, t.half.byOut, nil), t.Dim, values, t.out[at:], sums, false)
	}
}

// halfBackward is backward in bfloat16.
func (t *task) halfBackward(n, h, q, k, v, o int) {
	nr, nd, np, ns, nt, nw := t.halfLens()
	buf := t.ws.scratch.Get(4*nr + 3*nd + np + 2*ns + nt + nw + bf16.SumLen + 256)
	defer t.ws.scratch.Put(buf)
	r := scratchCutter{buf}
	sums := r.cut(bf16.SumLen)
	queries, grads, keys, values := r.cut(nr), r.cut(nr), r.cut(nr), r.cut(nr)
	keyDepth, queryDepth, gradDepth := r.cut(nd), r.cut(nd), r.cut(nd)
	probs, scores, dscores, turned, room := r.cut(np), r.cut(ns), r.cut(ns), r.cut(nt), r.cut(nw)
	halfRows(queries, t.qkv[q:], t.in, t.T, t.Dim)
	halfRows(grads, t.dout[o:], t.width, t.T, t.Dim)
	t.halfColumns(keys, t.qkv[k:], room)
	t.halfColumns(values, t.qkv[v:], room)
	t.halfDepth(keyDepth, t.qkv[k:], t.in, t.T)
	steps, tokens := t.half.steps, t.half.tokenSteps
	for first := 0; first < t.T; first += t.half.block {
		rows := min(t.half.block, t.T-first)
		at, add := o+first*t.width, first > 0
		t.halfMultiply(t.halfPacked(queries[first*steps*16:], rows, steps, t.half.byScore, &t.scales[0]), t.T, keys,
			scores, sums, false)
		t.halfMultiply(t.halfPacked(grads[first*steps*16:], rows, steps, t.half.byScore, nil), t.T, values, dscores,
			sums, false)
		for i := range rows {
			j := at + i*t.width
			dot := simd.Dot(t.dout[j:j+t.Dim], t.out[j:j+t.Dim])
			log := t.logs[(n*t.Heads+h)*t.T+first+i]
			simd.SoftmaxGrad(t.scoresOf(scores, i, first), t.scoresOf(dscores, i, first), log, dot)
		}
		// Sums over the block's queries: the gradients of values and keys.
		t.halfDepth(gradDepth, t.dout[at:], t.width, rows)
		t.halfDepth(queryDepth, t.qkv[q+first*t.in:], t.in, rows)
		turn := bf16.Tile{A: unsafe.Pointer(&turned[0]), AStep: 2 * turnedLen(rows), ATile: 32 * turnedLen(rows),
			KOff: &t.half.along[0], Steps: (rows + 31) / 32, Rows: t.T, COff: &t.half.byIn[0]}
		t.halfTurned(turned, scores, room, rows)
		t.halfMultiply(turn, t.Dim, gradDepth, t.dqkv[v:], sums, add)
		t.halfTurned(turned, dscores, room, rows)
		turn.Scale = &t.scales[0]
		t.halfMultiply(turn, t.Dim, queryDepth, t.dqkv[k:], sums, add)
		// And over tokens: that of the queries.
		halfRows(probs, dscores, t.row, rows, t.T)
		t.halfMultiply(t.halfPacked(probs, rows, tokens, t.half.byIn, &t.scales[0]), t.Dim, keyDepth,
			t.dqkv[q+first*t.in:], sums, false)
	}
}
