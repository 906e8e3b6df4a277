package simd

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestDepthwise(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(15, 15))
		for c := 1; c < 75; c++ {
			for _, n := range []int{1, 2, 3, 4, 5, 9} {
				for _, taps := range [][2]int{{1, 1}, {3, 3}, {2, 5}, {2, 2}, {1, 4}, {5, 5}, {3, 7}, {2, 3}, {1, 6}} {
					checkDepthwise(t, rnd, n, c, taps[0], taps[1], 1+rnd.IntN(3))
				}
			}
		}
	})
}

func checkDepthwise(t *testing.T, rnd *rand.Rand, n, c, taps, tapsW, stride int) {
	t.Helper()
	line := (n-1)*stride + tapsW + 1
	x := normals(rnd, taps*line*c)
	w, wOK := guardedCopy(rnd, taps*tapsW*c)
	y, yOK := guardedCopy(rnd, n*(c+2))
	oldW, oldY := append([]float32(nil), w...), append([]float32(nil), y...)
	d := Depthwise{
		X: unsafe.Pointer(&x[0]), W: unsafe.Pointer(&w[0]), Y: unsafe.Pointer(&y[0]),
		N: n, C: 4 * c, Taps: taps, TapsW: tapsW, XStep: 4 * stride * c, XRow: 4 * line * c, YStep: 4 * (c + 2),
	}
	at := func(i, r, s, ch int) float64 { return float64(x[(r*line+i*stride+s)*c+ch]) }
	d.Weights()
	for r := range taps {
		for s := range tapsW {
			for ch := range c {
				k := (r*tapsW+s)*c + ch
				want := float64(oldW[k])
				for i := range n {
					want += at(i, r, s, ch) * float64(y[i*(c+2)+ch])
				}
				if math.Abs(float64(w[k])-want) > 1e-5*(1+math.Abs(want)) {
					t.Fatalf("n %d c %d taps %d x %d: weight %d is %g, want %g", n, c, taps, tapsW, k, w[k], want)
				}
			}
		}
	}
	scale, shift := normals(rnd, c), normals(rnd, c)
	finished := n%2 == 1
	if finished {
		d.Scale, d.Shift, d.Act = &scale[0], &shift[0], []Bounds{Linear(), ReLU(), {-1, 1}}[c%3]
	}
	d.Forward()
	for i := range n {
		for ch := range c + 2 {
			k := i*(c+2) + ch
			if ch >= c {
				if y[k] != oldY[k] {
					t.Fatalf("n %d c %d: wrote between positions", n, c)
				}
				continue
			}
			var want, size float64
			for r := range taps {
				for s := range tapsW {
					v := at(i, r, s, ch) * float64(w[(r*tapsW+s)*c+ch])
					want, size = want+v, size+math.Abs(v)
				}
			}
			if finished {
				want = want*float64(scale[ch]) + float64(shift[ch])
				size = size*math.Abs(float64(scale[ch])) + math.Abs(float64(shift[ch]))
				if want < float64(d.Act.Lo) {
					want = float64(d.Act.Lo)
				}
				if want > float64(d.Act.Hi) {
					want = float64(d.Act.Hi)
				}
			}
			if math.Abs(float64(y[k])-want) > 1e-6*size {
				t.Fatalf("n %d c %d taps %d x %d: position %d channel %d is %g, want %g", n, c, taps, tapsW, i, ch,
					y[k], want)
			}
		}
	}
	if !wOK() || !yOK() {
		t.Fatalf("n %d c %d: wrote outside", n, c)
	}
}

// The generator addresses Depthwise's fields by number.
func TestDepthwiseLayout(t *testing.T) {
	var d Depthwise
	for i, off := range []uintptr{
		unsafe.Offsetof(d.X), unsafe.Offsetof(d.W), unsafe.Offsetof(d.Y), unsafe.Offsetof(d.N), unsafe.Offsetof(d.C),
		unsafe.Offsetof(d.Taps), unsafe.Offsetof(d.TapsW), unsafe.Offsetof(d.XStep), unsafe.Offsetof(d.XRow),
		unsafe.Offsetof(d.YStep),
	} {
		if off != uintptr(8*i) {
			t.Errorf("field %d is at byte %d", i, off)
		}
	}
	if unsafe.Offsetof(d.Scale) != 80 || unsafe.Offsetof(d.Shift) != 88 || unsafe.Offsetof(d.Act) != 96 ||
		unsafe.Offsetof(d.Act.Hi) != 4 {
		t.Error("the last fields lie elsewhere")
	}
}
