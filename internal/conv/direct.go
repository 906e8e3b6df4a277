package conv

import "github.com/kindred-ml/kindred/internal/par"

// Forward computes the convolution (as deep learning names it: the cross
// correlation)
//
//	z[n,p,q,k] = sum over r,s,c of x[n, p*StrideH+r-PadH, q*StrideW+s-PadW, g*C/G+c] * w[k,r,s,c]
//
// with g the group of filter k and zeros outside the image, applies the
// epilogue (which may be nil) and stores y, shape N x OutH x OutW x K.
// x is N x H x W x C, w is K x R x S x C/Groups. y must not overlap x or w.
func Forward(ws *Workspace, s *Shape, x, w, y []float32, e *Epilogue) {
	s.mustFit(x, w, y)
	if e == nil {
		e = &Epilogue{}
	}
	e.mustFit(s.K, len(y))
	oh, ow, cg, kg := s.OutH(), s.OutW(), s.C/s.Groups, s.K/s.Groups
	par.For(s.N*oh, 1, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			n, p := row/oh, row%oh
			for q := range ow {
				for k := range s.K {
					var sum float32
					for r := range s.R {
						h := p*s.StrideH + r - s.PadH
						if h < 0 || h >= s.H {
							continue
						}
						for t := range s.S {
							v := q*s.StrideW + t - s.PadW
							if v < 0 || v >= s.W {
								continue
							}
							in := x[((n*s.H+h)*s.W+v)*s.C+k/kg*cg:][:cg]
							f := w[((k*s.R+r)*s.S+t)*cg:][:cg]
							for c := range in {
								sum += in[c] * f[c]
							}
						}
					}
					i := (row*ow+q)*s.K + k
					y[i] = e.apply(sum, k, i)
				}
			}
		}
	})
	if e.Moments != nil {
		moments(y, s.K, e.Moments)
	}
}

func (e *Epilogue) apply(v float32, k, i int) float32 {
	if e.Scale != nil {
		v *= e.Scale[k]
	}
	if e.Shift != nil {
		v += e.Shift[k]
	}
	if e.Residual != nil {
		v += e.Residual[i]
	}
	if e.ReLU {
		v = max(v, 0)
	}
	return v
}

func moments(y []float32, k int, m *Moments) {
	for c := range k {
		var sum, sq, n float64
		for i := c; i < len(y); i += k {
			sum += float64(y[i])
			n++
		}
		mean := sum / n
		for i := c; i < len(y); i += k {
			d := float64(y[i]) - mean
			sq += d * d
		}
		m.Mean[c], m.Var[c] = float32(mean), float32(sq/n)
	}
}

// BackwardData computes dx, the gradient of the input, from dy, the gradient of
// Forward's z; with accumulate it is added to what dx holds. dx must not
// overlap dy or w.
func BackwardData(ws *Workspace, s *Shape, dy, w, dx []float32, accumulate bool) {
	s.mustFit(dx, w, dy)
	oh, ow, cg, kg := s.OutH(), s.OutW(), s.C/s.Groups, s.K/s.Groups
	par.For(s.N, 1, func(lo, hi int) {
		for n := lo; n < hi; n++ {
			if !accumulate {
				clear(dx[n*s.H*s.W*s.C : (n+1)*s.H*s.W*s.C])
			}
			for p := range oh {
				for q := range ow {
					g := dy[((n*oh+p)*ow+q)*s.K:][:s.K]
					for r := range s.R {
						h := p*s.StrideH + r - s.PadH
						if h < 0 || h >= s.H {
							continue
						}
						for t := range s.S {
							v := q*s.StrideW + t - s.PadW
							if v < 0 || v >= s.W {
								continue
							}
							for k, gk := range g {
								out := dx[((n*s.H+h)*s.W+v)*s.C+k/kg*cg:][:cg]
								f := w[((k*s.R+r)*s.S+t)*cg:][:cg]
								for c := range out {
									out[c] += gk * f[c]
								}
							}
						}
					}
				}
			}
		}
	})
}

// BackwardWeights computes dw, the gradient of the filters, from the input x
// and dy, the gradient of Forward's z; with accumulate it is added to what dw
// holds. dw must not overlap x or dy.
func BackwardWeights(ws *Workspace, s *Shape, x, dy, dw []float32, accumulate bool) {
	s.mustFit(x, dw, dy)
	oh, ow, cg, kg := s.OutH(), s.OutW(), s.C/s.Groups, s.K/s.Groups
	par.For(s.K, 1, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			f := dw[k*s.R*s.S*cg : (k+1)*s.R*s.S*cg]
			if !accumulate {
				clear(f)
			}
			for n := range s.N {
				for p := range oh {
					for q := range ow {
						gk := dy[((n*oh+p)*ow+q)*s.K+k]
						for r := range s.R {
							h := p*s.StrideH + r - s.PadH
							if h < 0 || h >= s.H {
								continue
							}
							for t := range s.S {
								v := q*s.StrideW + t - s.PadW
								if v < 0 || v >= s.W {
									continue
								}
								in := x[((n*s.H+h)*s.W+v)*s.C+k/kg*cg:][:cg]
								o := f[(r*s.S+t)*cg:][:cg]
								for c := range in {
									o[c] += gk * in[c]
								}
							}
						}
					}
				}
			}
		}
	})
}
