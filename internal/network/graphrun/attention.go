package graphrun

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/matrix"
)

// heads brings queries, keys or values into batch x heads x tokens x width.
func (c *call) heads(i int, attr string) *Tensor {
	x := c.floats(i)
	switch s := x.Shape; len(s) {
	case 4:
		return x
	case 3:
		n := int(min(max(c.int(attr, 0), 0), 1<<20))
		if n < 1 || s[2]%n != 0 {
			fail("%s is %d, which does not divide an input of %d channels", attr, n, s)
		}
		d := s[2] / n
		return c.gather(x, []int{s[0], n, s[1], d}, []int{s[1] * s[2], d, s[2], 1}, 0)
	}
	fail("its input %d of shape %d has neither three nor four axes", i, x.Shape)
	return nil
}

// attention is softmax(scale Q K' + mask) V, as opset 23 has it, without what generates text.
func attention(c *call) []*Tensor {
	if c.hasInput(4) || c.hasInput(5) || c.hasInput(6) {
		fail("it takes past keys and values (a cache), which is not supported")
	}
	q := c.heads(0, "q_num_heads")
	k := c.heads(1, "kv_num_heads")
	v := c.heads(2, "kv_num_heads")
	batch, nq, tq, d := q.Shape[0], q.Shape[1], q.Shape[2], q.Shape[3]
	nk, tk, dv := k.Shape[1], k.Shape[2], v.Shape[3]
	if k.Shape[0] != batch || v.Shape[0] != batch || k.Shape[3] != d || v.Shape[1] != nk || v.Shape[2] != tk ||
		nk == 0 || nq%nk != 0 || tk == 0 {
		fail("queries of shape %d, keys of shape %d and values of shape %d do not match", q.Shape,
			k.Shape,
			v.Shape)
	}
	mask := c.mask(3, []int{batch, nq, tq, tk})
	scale := float64(c.float("scale", 0))
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(d))
	}
	limit, causal := float64(c.float("softcap", 0)), c.int("is_causal", 0) != 0
	out := c.newFloats([]int{batch, nq, tq, dv})
	scores := c.newFloats([]int{batch, nq, tq, tk})
	c.spend(scores.len(), d+dv+plainWork)
	c.divide(batch*nq, 2*scores.len()*(d+dv), func(lo, hi int) {
		for h := lo; h < hi; h++ {
			kv := h/nq*nk + h%nq/(nq/nk)
			s := &matrix.Dense{Rows: tq, Cols: tk, Stride: tk, Data: scores.Floats[h*tq*tk : (h+1)*tq*tk]}
			matrix.Gemm(false, true, float32(scale), denseOf(q.Floats[h*tq*d:(h+1)*tq*d], tq, d, false),
				denseOf(k.Floats[kv*tk*d:(kv+1)*tk*d], tk, d, false), 0, s)
			for i := range tq {
				row := s.Row(i)
				if limit > 0 {
					for j, x := range row {
						row[j] = float32(limit * math.Tanh(float64(x)/limit))
					}
				}
				if mask != nil {
					simd.AddClamp(row, row, mask.Floats[(h*tq+i)*tk:][:tk], simd.Linear())
				}
				if causal {
					for j := i + 1; j < tk; j++ {
						row[j] = float32(math.Inf(-1))
					}
				}
				softmaxRow(row, row)
			}
			matrix.Gemm(false, false, 1, s, denseOf(v.Floats[kv*tk*dv:(kv+1)*tk*dv], tk, dv, false), 0,
				denseOf(out.Floats[h*tq*dv:(h+1)*tq*dv], tq, dv, false))
		}
	})
	if len(c.in[0].Shape) == 4 {
		return single(out)
	}
	flat := c.gather(out, []int{batch, tq, nq, dv}, []int{nq * tq * dv, dv, tq * dv, 1}, 0)
	return single(flat.view([]int{batch, tq, nq * dv}))
}

// mask is an input that is added to scores of a shape, nil if it is left out. Of truths, false
// leaves a score out.
func (c *call) mask(i int, shape []int) *Tensor {
	if !c.hasInput(i) {
		return nil
	}
	m := c.contiguous(c.in[i])
	if s, err := Broadcast(m.Shape, shape); err != nil || !slices.Equal(s, shape) {
		fail("its mask of shape %d does not fit scores of shape %d", m.Shape, shape)
	}
	out := c.newFloats(shape)
	c.broadcastEach(shape, [][]int{m.Shape}, func(i int, at []int) {
		switch {
		case m.isFloat():
			out.Floats[i] = m.Floats[at[0]]
		case m.Ints[at[0]] != 0:
			out.Floats[i] = 0
		default:
			out.Floats[i] = float32(math.Inf(-1))
		}
	})
	return out
}

// rotary turns pairs of values of each token by the angles of its position.
func rotary(c *call) []*Tensor {
	x := c.heads(0, "num_heads")
	cos := c.floats(1)
	sin := c.floats(2)
	batch, n, tokens, width := x.Shape[0], x.Shape[1], x.Shape[2], x.Shape[3]
	turned := int(min(max(c.int("rotary_embedding_dim", 0), 0), 1<<20))
	if turned == 0 {
		turned = width
	}
	half := turned / 2
	if turned%2 != 0 || turned > width || len(cos.Shape) < 2 || cos.Shape[len(cos.Shape)-1] != half ||
		!slices.Equal(cos.Shape, sin.Shape) {
		fail("its tables of shape %d do not fit rotary positions of %d of %d values", cos.Shape,
			turned, width)
	}
	at := c.places(cos, batch, tokens)
	out := c.newFloats(x.Shape)
	between := c.int("interleaved", 0) != 0
	for i := range batch * n * tokens {
		from, to := x.Floats[i*width:(i+1)*width], out.Floats[i*width:(i+1)*width]
		copy(to, from)
		table := at[i/(n*tokens)*tokens+i%tokens] * half
		for k := range half {
			a, b := k, k+half
			if between {
				a, b = 2*k, 2*k+1
			}
			cs, sn := cos.Floats[table+k], sin.Floats[table+k]
			to[a], to[b] = from[a]*cs-from[b]*sn, from[b]*cs+from[a]*sn
		}
	}
	if len(c.in[0].Shape) == 4 {
		return single(out)
	}
	flat := c.gather(out, []int{batch, tokens, n, width}, []int{n * tokens * width, width, tokens * width, 1}, 0)
	return single(flat.view(c.in[0].Shape))
}

// places lists the row of the tables for each token of each sample.
func (c *call) places(table *Tensor, batch, tokens int) []int {
	at := make([]int, batch*tokens)
	if !c.hasInput(3) {
		if len(table.Shape) != 3 || table.Shape[0] != batch || table.Shape[1] != tokens {
			fail("its tables of shape %d do not fit %d x %d tokens", table.Shape, batch, tokens)
		}
		for i := range at {
			at[i] = i
		}
		return at
	}
	ids := c.in[3].integers()
	if len(table.Shape) != 2 || len(ids) != len(at) {
		fail("it has %d positions for %d x %d tokens: the numbers must be equal", len(ids), batch,
			tokens)
	}
	for i, v := range ids {
		at[i] = indexOf(v, table.Shape[0])
	}
	return at
}
