// Package attention computes multi-head attention and its gradients. Its input
// holds, for each token of each image, the queries, keys and values of all heads
// one after another; scores live for a block of queries at a time, so that
// memory grows with the number of tokens and not with its square.
package attention

import (
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// Shape describes attention over N images of T tokens with Heads heads of Dim
// values each. In causal attention a token attends to those before it and to itself
// alone.
type Shape struct {
	N, T, Heads, Dim int
	Causal           bool
}

// numSeen is the number of tokens, the first ones, that token i attends to.
func (s *Shape) numSeen(i int) int {
	if s.Causal {
		return i + 1
	}
	return s.T
}

// Len returns how many values the input, the output and the weights' logarithms
// hold: N x T x 3 Heads Dim, N x T x Heads Dim and N x Heads x T.
func (s *Shape) Len() (qkv, out, logs int) {
	tokens := s.N * s.T
	return 3 * tokens * s.Heads * s.Dim, tokens * s.Heads * s.Dim, tokens * s.Heads
}

// Workspace holds the buffers of attention's passes. The zero value is ready for
// use; one serves any number of shapes in turn, but not two calls at once.
type Workspace struct {
	// BFloat16 has products computed as package bf16 does: operands rounded to
	// bfloat16, sums in float32.
	BFloat16 bool

	scratch par.Scratch
	task    task
	shape   Shape
	level   simd.Level
}

// blockLen is about how many scores a block of queries has.
const blockLen = 40 << 10

// task is a par.Task over images times heads.
type task struct {
	Shape
	ws              *Workspace
	back            bool
	half            halfTables // in bfloat16
	qkv, out, logs  []float32
	dout, dqkv      []float32
	tr, tc          int
	width, in       int     // values of a token: of the output and of the input
	block           int     // queries at a time
	row             int     // values from one row of scores to the next
	scale           float32 // of the scores
	scales          [simd.MaxTileCols]float32
	column          [simd.MaxTileRows]int64 // offsets of rows that are single columns
	packed, byScore [simd.MaxTileRows]int64 // of rows of packed heads, and of scores
	byOut, byIn     [simd.MaxTileRows]int64 // of tokens of the output, and of the input
}

// Forward sets out to softmax(Q K'/sqrt(Dim)) V for each image and head, where weights
// of tokens that a query does not attend to are 0, and
// logs, unless it is nil, to the logarithm of each query's sum of exponentials,
// which Backward wants. It panics if a slice does not have the size that the
// shape says.
func Forward(ws *Workspace, s *Shape, qkv, out, logs []float32) {
	ws.prepare(s, qkv, out, logs)
	par.Do(s.N*s.Heads, &ws.task)
	ws.release()
}

// Backward sets dqkv to the gradient of Forward's input from dout, that of its
// output; scores are computed again, block by block. dqkv must not overlap the
// others.
func Backward(ws *Workspace, s *Shape, qkv, out, logs, dout, dqkv []float32) {
	ws.prepare(s, qkv, out, logs)
	if len(dout) != len(out) || len(dqkv) != len(qkv) || logs == nil {
		panic(fmt.Sprintf("attention: gradients of %d and %d values for %d and %d", len(dout), len(dqkv), len(out),
			len(qkv)))
	}
	ws.task.back, ws.task.dout, ws.task.dqkv = true, dout, dqkv
	par.Do(s.N*s.Heads, &ws.task)
	ws.release()
}

func (ws *Workspace) prepare(s *Shape, qkv, out, logs []float32) {
	nq, no, nl := s.Len()
	fits := len(qkv) == nq && len(out) == no && (logs == nil || len(logs) == nl)
	if s.N < 0 || s.T < 1 || s.Heads < 1 || s.Dim < 1 || !fits {
		panic(fmt.Sprintf("attention: %d, %d and %d values for %+v", len(qkv), len(out), len(logs), *s))
	}
	t := &ws.task
	if level := simd.Active(); ws.shape != *s || ws.level != level || ws.BFloat16 != (t.half.block > 0) {
		ws.shape, ws.level = *s, level
		*t = task{Shape: *s, ws: ws, tr: simd.TileRows(), tc: simd.TileCols(), width: s.Heads * s.Dim}
		t.in = 3 * t.width
		t.block = min(max(blockLen/s.T/t.tr, 1)*t.tr, s.T)
		// Rows end within their own, and do not lie on few sets of the first cache.
		t.row = (s.T+t.tr+15)/16*16 + 16
		t.scale = float32(1 / math.Sqrt(float64(s.Dim)))
		for i := range t.scales {
			t.scales[i] = t.scale
		}
		for i := range t.tr {
			t.column[i], t.packed[i], t.byScore[i] = 4*int64(i), 4*int64(i*s.Dim), 4*int64(i*t.row)
			t.byOut[i], t.byIn[i] = 4*int64(i*t.width), 4*int64(i*t.in)
		}
		if ws.BFloat16 {
			t.halfTables()
		}
	}
	t.back, t.qkv, t.out, t.logs = false, qkv, out, logs
}

func (ws *Workspace) release() {
	t := &ws.task
	t.qkv, t.out, t.logs, t.dout, t.dqkv = nil, nil, nil, nil, nil
}

// Run computes one head of one image.
func (t *task) Run(chunk int) {
	n, h := chunk/t.Heads, chunk%t.Heads
	// First values of the head's queries, keys and values, and of its output.
	q, o := n*t.T*t.in+h*t.Dim, n*t.T*t.width+h*t.Dim
	k, v := q+t.width, q+2*t.width
	switch {
	case t.ws.BFloat16 && t.back:
		t.halfBackward(n, h, q, k, v, o)
	case t.ws.BFloat16:
		t.halfForward(n, h, q, k, v, o)
	case t.back:
		t.backward(n, h, q, k, v, o)
	default:
		t.forward(n, h, q, k, v, o)
	}
}
