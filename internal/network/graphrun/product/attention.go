package product

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
	"github.com/kindred-ml/kindred/matrix"
)

// heads brings queries, keys or values into batch x heads x tokens x width.
func heads(c *operator.Call, i int, attr string) *tensor.Tensor {
	x := c.Floats(i)
	switch s := x.Shape; len(s) {
	case 4:
		return x
	case 3:
		n := c.Count(attr, 0)
		if n < 1 || s[2]%n != 0 {
			operator.Fail("%s is %d, which does not divide an input of %d channels", attr, n, s)
		}
		d := s[2] / n
		return c.Gather(x, []int{s[0], n, s[1], d}, []int{s[1] * s[2], d, s[2], 1}, 0)
	}
	operator.Fail("its input %d of shape %d has neither three nor four axes", i, x.Shape)
	return nil
}

// attention is softmax(scale Q K' + mask) V, as opset 23 has it, without what generates text.
func attention(c *operator.Call) []*tensor.Tensor {
	if c.HasInput(4) || c.HasInput(5) || c.HasInput(6) {
		operator.Fail("it takes past keys and values (a cache), which is not supported")
	}
	q := heads(c, 0, "q_num_heads")
	k := heads(c, 1, "kv_num_heads")
	v := heads(c, 2, "kv_num_heads")
	batch, nq, tq, d := q.Shape[0], q.Shape[1], q.Shape[2], q.Shape[3]
	nk, tk, dv := k.Shape[1], k.Shape[2], v.Shape[3]
	if k.Shape[0] != batch || v.Shape[0] != batch || k.Shape[3] != d || v.Shape[1] != nk || v.Shape[2] != tk ||
		nk == 0 || nq%nk != 0 || tk == 0 {
		operator.Fail("queries of shape %d, keys of shape %d and values of shape %d do not match", q.Shape, k.Shape,
			v.Shape)
	}
	mask := mask(c, 3, []int{batch, nq, tq, tk})
	scale := float64(c.Float("scale", 0))
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(d))
	}
	limit, causal := float64(c.Float("softcap", 0)), c.Int("is_causal", 0) != 0
	out := c.NewFloats([]int{batch, nq, tq, dv})
	scores := c.NewFloats([]int{batch, nq, tq, tk})
	c.Spend(scores.Len(), d+dv+operator.PlainWork)
	c.Divide(batch*nq, 2*scores.Len()*(d+dv), func(lo, hi int) {
		for h := lo; h < hi; h++ {
			kv := h/nq*nk + h%nq/(nq/nk)
			s := &matrix.Dense{Rows: tq, Cols: tk, Stride: tk, Data: scores.Floats[h*tq*tk : (h+1)*tq*tk]}
			matrix.Gemm(false, true, float32(scale), DenseOf(q.Floats[h*tq*d:(h+1)*tq*d], tq, d, false),
				DenseOf(k.Floats[kv*tk*d:(kv+1)*tk*d], tk, d, false), 0, s)
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
				operator.SoftmaxRow(row, row)
			}
			matrix.Gemm(false, false, 1, s, DenseOf(v.Floats[kv*tk*dv:(kv+1)*tk*dv], tk, dv, false), 0,
				DenseOf(out.Floats[h*tq*dv:(h+1)*tq*dv], tq, dv, false))
		}
	})
	if len(c.In[0].Shape) == 4 {
		return operator.Single(out)
	}
	flat := c.Gather(out, []int{batch, tq, nq, dv}, []int{nq * tq * dv, dv, tq * dv, 1}, 0)
	return operator.Single(flat.View([]int{batch, tq, nq * dv}))
}

// mask is an input that is added to scores of a shape, nil if it is left out. Of truths, false
// leaves a score out.
func mask(c *operator.Call, i int, shape []int) *tensor.Tensor {
	if !c.HasInput(i) {
		return nil
	}
	m := c.Contiguous(c.In[i])
	if s, err := tensor.Broadcast(m.Shape, shape); err != nil || !slices.Equal(s, shape) {
		operator.Fail("its mask of shape %d does not fit scores of shape %d", m.Shape, shape)
	}
	out := c.NewFloats(shape)
	c.BroadcastEach(shape, [][]int{m.Shape}, func(i int, at []int) {
		switch {
		case m.IsFloat():
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
func rotary(c *operator.Call) []*tensor.Tensor {
	x := heads(c, 0, "num_heads")
	cos := c.Floats(1)
	sin := c.Floats(2)
	batch, n, tokens, width := x.Shape[0], x.Shape[1], x.Shape[2], x.Shape[3]
	turned := c.Count("rotary_embedding_dim", 0)
	if turned == 0 {
		turned = width
	}
	half := turned / 2
	if turned%2 != 0 || turned > width || len(cos.Shape) < 2 || cos.Shape[len(cos.Shape)-1] != half ||
		!slices.Equal(cos.Shape, sin.Shape) {
		operator.Fail("its tables of shape %d do not fit rotary positions of %d of %d values", cos.Shape, turned, width)
	}
	at := places(c, cos, batch, tokens)
	out := c.NewFloats(x.Shape)
	between := c.Int("interleaved", 0) != 0
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
	if len(c.In[0].Shape) == 4 {
		return operator.Single(out)
	}
	flat := c.Gather(out, []int{batch, tokens, n, width}, []int{n * tokens * width, width, tokens * width, 1}, 0)
	return operator.Single(flat.View(c.In[0].Shape))
}

// places lists the row of the tables for each token of each sample.
func places(c *operator.Call, table *tensor.Tensor, batch, tokens int) []int {
	at := make([]int, batch*tokens)
	if !c.HasInput(3) {
		if len(table.Shape) != 3 || table.Shape[0] != batch || table.Shape[1] != tokens {
			operator.Fail("its tables of shape %d do not fit %d x %d tokens", table.Shape, batch, tokens)
		}
		for i := range at {
			at[i] = i
		}
		return at
	}
	ids := operator.Must(c.In[3].Integers())
	if len(table.Shape) != 2 || len(ids) != len(at) {
		operator.Fail("it has %d positions for %d x %d tokens: the numbers must be equal", len(ids), batch, tokens)
	}
	for i, v := range ids {
		at[i] = operator.IndexOf(v, table.Shape[0])
	}
	return at
}
