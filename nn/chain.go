package nn

import "github.com/kindred-ml/kindred/matrix"

// chain is two convolutions with nothing between them, computed as one. The
// first has stride 1, the second no padding, so that with w1 of m x ra x ra x c
// and w2 of k x rb x rb x m
//
//	w[k,a,b,c] = sum over r,s,m of w2[k,r,s,m] w1[m,a-r,b-s,c],  b[k] = b2[k] + sum over r,s,m of w2[k,r,s,m] b1[m]
//
// gives the same output from a kernel of ra+rb-1, exactly. What flows between
// the two is never computed; its gradient neither: those of w1 and w2 follow
// from that of w, and those of the biases from the column sums of the output's
// gradient.
type chain struct {
	w1, b1, w2, b2      *Param
	c, m, k             int // channels before, between and after
	ra, rb, size        int // kernels: first, second, both
	weight, bias        []float32
	weightGrad, biasSum []float32
	patch               []float32    // k x ra x ra x c
	second, first, p    matrix.Dense // headers
}

func newChain(w1, b1, w2, b2 *Param) *chain {
	ch := &chain{w1: w1, b1: b1, w2: w2, b2: b2, m: w1.Shape[0], c: w1.Shape[1], k: w2.Shape[0], ra: w1.Shape[2],
		rb: w2.Shape[2]}
	ch.size = ch.ra + ch.rb - 1
	n := ch.k * ch.size * ch.size * ch.c
	ch.weight, ch.weightGrad = make([]float32, n), make([]float32, n)
	ch.bias, ch.biasSum = make([]float32, ch.k), make([]float32, ch.k)
	ch.patch = make([]float32, ch.k*ch.ra*ch.ra*ch.c)
	return ch
}

func (ch *chain) trainable() bool {
	return trainable(ch.w1) || trainable(ch.b1) || trainable(ch.w2) || trainable(ch.b2)
}

// tap sets the headers for tap (r, s) of the second convolution: second is
// k x m out of data (w2 or its gradient).
func (ch *chain) tap(data []float32, r, s int) {
	ch.second = matrix.Dense{Rows: ch.k, Cols: ch.m, Stride: ch.rb * ch.rb * ch.m, Data: data[(r*ch.rb+s)*ch.m:]}
	view(&ch.p, ch.k, ch.patch)
}

// window calls f with matching runs of the patch of tap (r, s) and of data, laid
// out as the joint kernel.
func (ch *chain) window(data []float32, r, s int, f func(patch, data []float32)) {
	run := ch.ra * ch.c
	for k := range ch.k {
		for u := range ch.ra {
			f(ch.patch[(k*ch.ra+u)*run:][:run], data[((k*ch.size+r+u)*ch.size+s)*ch.c:][:run])
		}
	}
}

// combine sets weight and bias.
func (ch *chain) combine() {
	clear(ch.weight)
	view(&ch.first, ch.m, ch.w1.Value)
	for r := range ch.rb {
		for s := range ch.rb {
			ch.tap(ch.w2.Value, r, s)
			matrix.Gemm(false, false, 1, &ch.second, &ch.first, 0, &ch.p)
			ch.window(ch.weight, r, s, addRun)
		}
	}
	for k := range ch.bias {
		var sum float64
		if ch.b2 != nil {
			sum = float64(ch.b2.Value[k])
		}
		if ch.b1 != nil {
			for i, v := range ch.w2.Value[k*ch.rb*ch.rb*ch.m:][:ch.rb*ch.rb*ch.m] {
				sum += float64(v) * float64(ch.b1.Value[i%ch.m])
			}
		}
		ch.bias[k] = float32(sum)
	}
}

func addRun(from, to []float32) {
	for i, v := range from {
		to[i] += v
	}
}

func copyRun(to, from []float32) { copy(to, from) }

// gradients turns weightGrad and biasSum into the gradients of the parameters.
func (ch *chain) gradients() {
	if trainable(ch.w1) {
		clear(ch.w1.Grad)
	}
	for r := range ch.rb {
		for s := range ch.rb {
			ch.window(ch.weightGrad, r, s, copyRun)
			if trainable(ch.w2) {
				ch.tap(ch.w2.Grad, r, s)
				matrix.Gemm(false, true, 1, &ch.p, view(&ch.first, ch.m, ch.w1.Value), 0, &ch.second)
			}
			if trainable(ch.w1) {
				ch.tap(ch.w2.Value, r, s)
				matrix.Gemm(true, false, 1, &ch.second, &ch.p, 1, view(&ch.first, ch.m, ch.w1.Grad))
			}
		}
	}
	if trainable(ch.b2) {
		copy(ch.b2.Grad, ch.biasSum)
	}
	if ch.b1 == nil {
		return
	}
	if trainable(ch.b1) {
		clear(ch.b1.Grad)
	}
	taps := ch.rb * ch.rb
	for k, sum := range ch.biasSum {
		for t := range taps {
			at := (k*taps + t) * ch.m
			if trainable(ch.w2) {
				for i, b := range ch.b1.Value {
					ch.w2.Grad[at+i] += sum * b
				}
			}
			if trainable(ch.b1) {
				for i, w := range ch.w2.Value[at : at+ch.m] {
					ch.b1.Grad[i] += sum * w
				}
			}
		}
	}
}
