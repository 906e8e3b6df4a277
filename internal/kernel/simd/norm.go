package simd

// ScaleShift computes y = act(a*x + b).
func ScaleShift(y, x, a, b []float32, act Bounds) {
	cols := len(a)
	rows := rowsOf(len(y), cols, []int{len(x)}, len(b))
	if rows == 0 || scaleShift(rows, cols, &y[0], &x[0], &a[0], &b[0], act.Lo, act.Hi) {
		return
	}
	for i := 0; i < len(y); i += cols {
		y, x := y[i:i+cols], x[i:i+cols]
		for j := range y {
			y[j] = act.apply(a[j]*x[j] + b[j])
		}
	}
}

// ScaleShiftAdd computes y = act(a*x + b + z).
func ScaleShiftAdd(y, x, z, a, b []float32, act Bounds) {
	cols := len(a)
	rows := rowsOf(len(y), cols, []int{len(x), len(z)}, len(b))
	if rows == 0 || scaleShiftAdd(rows, cols, &y[0], &x[0], &z[0], &a[0], &b[0], act.Lo, act.Hi) {
		return
	}
	for i := 0; i < len(y); i += cols {
		y, x, z := y[i:i+cols], x[i:i+cols], z[i:i+cols]
		for j := range y {
			y[j] = act.apply(a[j]*x[j] + b[j] + z[j])
		}
	}
}

// Shift computes y = act(x + b).
func Shift(y, x, b []float32, act Bounds) {
	cols := len(b)
	rows := rowsOf(len(y), cols, []int{len(x)})
	if rows == 0 || shift(rows, cols, &y[0], &x[0], &b[0], act.Lo, act.Hi) {
		return
	}
	for i := range y {
		y[i] = act.apply(x[i] + b[i%cols])
	}
}

// Clamp computes y = act(x).
func Clamp(y, x []float32, act Bounds) {
	if rowsOf(len(y), len(y), []int{len(x)}) == 0 || clamp(1, len(y), &y[0], &x[0], act.Lo, act.Hi) {
		return
	}
	for i, v := range x {
		y[i] = act.apply(v)
	}
}

// AddClamp computes y = act(x + z).
func AddClamp(y, x, z []float32, act Bounds) {
	if rowsOf(len(y), len(y), []int{len(x), len(z)}) == 0 || addClamp(1, len(y), &y[0], &x[0], &z[0], act.Lo, act.Hi) {
		return
	}
	for i := range y {
		y[i] = act.apply(x[i] + z[i])
	}
}

// Larger computes y = max(x, z). It is NaN where either is; of zeros of both signs it is one.
func Larger(y, x, z []float32) {
	if rowsOf(len(y), len(y), []int{len(x), len(z)}) == 0 || larger(1, len(y), &y[0], &x[0], &z[0]) {
		return
	}
	for i := range y {
		y[i] = max(x[i], z[i])
	}
}

// Mask clears dy where act is flat, y being its result: the derivative of act.
func Mask(dy, y []float32, act Bounds) {
	if rowsOf(len(dy), len(dy), []int{len(y)}) == 0 || mask(1, len(dy), &dy[0], &y[0], act.Lo, act.Hi) {
		return
	}
	for i, v := range y {
		if act.isFlat(v) {
			dy[i] = 0
		}
	}
}

// NormGrad computes dx = p*dy + q*(x - c) + r, but 0 where act is flat, x being
// its result: the gradient of batch norm, and of the activation before it.
func NormGrad(dx, dy, x, p, q, r, c []float32, act Bounds) {
	cols := len(p)
	rows := rowsOf(len(dx), cols, []int{len(dy), len(x)}, len(q), len(r), len(c))
	if rows == 0 || normGrad(rows, cols, &dx[0], &dy[0], &x[0], &p[0], &q[0], &r[0], &c[0], act.Lo, act.Hi) {
		return
	}
	for i := 0; i < len(dx); i += cols {
		dx, dy, x := dx[i:i+cols], dy[i:i+cols], x[i:i+cols]
		for j, v := range x {
			g := p[j]*dy[j] + q[j]*(v-c[j]) + r[j]
			if act.isFlat(v) {
				g = 0
			}
			dx[j] = g
		}
	}
}

// ColumnSums sets sum[j] to the sum over rows i < rows of x[i*stride+j]. The
// sums run in the order of i. It panics if x is too short.
func ColumnSums(sum, x []float32, rows, stride int) {
	cols := len(sum)
	clear(sum)
	if rows <= 0 || cols == 0 {
		return
	}
	_ = x[(rows-1)*stride+cols-1]
	if columnSums(rows, cols, stride, &x[0], &sum[0]) {
		return
	}
	for i := range rows {
		for j, v := range x[i*stride : i*stride+cols] {
			sum[j] += v
		}
	}
}

// ColumnMoments sets sum[j] and sq[j] to the sums over rows i < rows of
// d and d*d, d = x[i*stride+j] - c[j], in the order of i.
func ColumnMoments(sum, sq, x, c []float32, rows, stride int) {
	cols := len(sum)
	rowsOf(cols, cols, nil, len(sq), len(c))
	clear(sum)
	clear(sq)
	if rows <= 0 || cols == 0 {
		return
	}
	_ = x[(rows-1)*stride+cols-1]
	if columnMoments(rows, cols, stride, &x[0], &c[0], &sum[0], &sq[0]) {
		return
	}
	for i := range rows {
		for j, v := range x[i*stride : i*stride+cols] {
			d := v - c[j]
			sum[j] += d
			sq[j] += d * d
		}
	}
}

// NormSums clears dy where act is flat, y being its result, and sets sum and dot
// to the column sums of dy and dy*(x - c). With act Linear y is not read and may
// be nil.
func NormSums(sum, dot, dy, y, x, c []float32, act Bounds) {
	cols := len(sum)
	linear := act.Lo != act.Lo && act.Hi != act.Hi
	ny := len(y)
	if linear {
		ny = len(dy)
	}
	rows := rowsOf(len(dy), cols, []int{ny, len(x)}, len(dot), len(c))
	clear(sum)
	clear(dot)
	switch {
	case rows == 0:
		return
	case linear:
		if normSumsLinear(rows, cols, cols, &dy[0], &x[0], &c[0], &sum[0], &dot[0]) {
			return
		}
	case normSums(rows, cols, cols, &dy[0], &y[0], &x[0], &c[0], &sum[0], &dot[0], act.Lo, act.Hi):
		return
	}
	for i := range dy {
		j := i % cols
		if !linear && act.isFlat(y[i]) {
			dy[i] = 0
		}
		sum[j] += dy[i]
		dot[j] += dy[i] * (x[i] - c[j])
	}
}

// NormGradOf is NormGrad where dy is still the gradient of y = act(a*x + b): it is
// taken as 0 where act is flat. Nothing else is flat.
func NormGradOf(dx, dy, x, p, q, r, c, a, b []float32, act Bounds) {
	cols := len(p)
	rows := rowsOf(len(dx), cols, []int{len(dy), len(x)}, len(q), len(r), len(c), len(a), len(b))
	if rows == 0 || normGradOf(rows, cols, &dx[0], &dy[0], &x[0], &p[0], &q[0], &r[0], &c[0], &a[0], &b[0], act.Lo,
		act.Hi) {
		return
	}
	for i := 0; i < len(dx); i += cols {
		dx, dy, x := dx[i:i+cols], dy[i:i+cols], x[i:i+cols]
		for j, v := range x {
			g := dy[j]
			if act.isFlat(a[j]*v + b[j]) {
				g = 0
			}
			dx[j] = p[j]*g + q[j]*(v-c[j]) + r[j]
		}
	}
}

// NormSumsOf sets sum and dot to the column sums of g and g*(x - c), where g is
// dy, or 0 where act is flat at a*x + b.
func NormSumsOf(sum, dot, dy, x, c, a, b []float32, act Bounds) {
	cols := len(sum)
	rows := rowsOf(len(dy), cols, []int{len(x)}, len(dot), len(c), len(a), len(b))
	clear(sum)
	clear(dot)
	if rows == 0 || normSumsOf(rows, cols, cols, &dy[0], &x[0], &c[0], &a[0], &b[0], &sum[0], &dot[0], act.Lo,
		act.Hi) {
		return
	}
	for i, g := range dy {
		j := i % cols
		if act.isFlat(a[j]*x[i] + b[j]) {
			g = 0
		}
		sum[j] += g
		dot[j] += g * (x[i] - c[j])
	}
}
