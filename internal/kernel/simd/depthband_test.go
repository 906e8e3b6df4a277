package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestDepthwiseBand compares with Depthwise on an input that has its padding, to the bit.
func TestDepthwiseBand(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(16, 16))
		for c := 1; c < 70; c++ {
			for n := 1; n < 14; n++ {
				for stride := 1; stride < 3; stride++ {
					checkBand(t, rnd, n, c, 1+rnd.IntN(5), stride)
				}
			}
		}
	})
}

func checkBand(t *testing.T, rnd *rand.Rand, n, c, rows, stride int) {
	t.Helper()
	name := fmt.Sprintf("%d positions, %d channels, %d rows, step %d", n, c, rows, stride)
	line, pixel := ((n-1)*stride+3)*c, c+rnd.IntN(3)
	x, w := normals(rnd, ((rows-1)*stride+3)*line), normals(rnd, 9*c)
	scale, shift := normals(rnd, c), normals(rnd, c)
	act := []Bounds{Linear(), ReLU(), {-1, 1}}[c%3]
	d := DepthwiseBand{W: unsafe.Pointer(&w[0]), N: n, C: 4 * c, Rows: rows, YStep: 4 * pixel, YRow: 4 * (n*pixel + 5),
		Scale: &scale[0], Shift: &shift[0], Act: act, Left: Inside, Right: Inside, Stride: stride}
	table := make([]unsafe.Pointer, len(x)/line)
	// What lies outside is zero in x, and in the rows that the kernel reads a value that no
	// sum survives.
	read := make([][]float32, len(table))
	for i := range read {
		row := x[i*line:][:line]
		read[i] = append([]float32(nil), row...)
	}
	outside := func(pixel int) {
		for i := range read {
			for j := range c {
				x[i*line+pixel*c+j], read[i][pixel*c+j] = 0, float32(math.NaN())
			}
		}
	}
	if rnd.IntN(2) == 0 {
		d.Left = Outside
		outside(0)
	}
	if rnd.IntN(2) == 0 {
		d.Right = Outside
		outside(line/c - 1)
	}
	for i := range table {
		table[i] = unsafe.Pointer(&read[i][0])
		if d.Left == Outside {
			table[i] = unsafe.Pointer(&read[i][c])
		}
	}
	y, ok := guardedCopy(rnd, rows*(n*pixel+5))
	want := append([]float32(nil), y...)
	for p := range rows {
		one := Depthwise{X: unsafe.Pointer(&x[p*stride*line]), W: d.W, Y: unsafe.Pointer(&want[p*(n*pixel+5)]), N: n,
			C: 4 * c, Taps: 3, TapsW: 3, XStep: 4 * stride * c, XRow: 4 * line, YStep: 4 * pixel, Scale: &scale[0],
			Shift: &shift[0], Act: act}
		one.Forward()
	}
	d.X, d.Y = &table[0], unsafe.Pointer(&y[0])
	d.Forward()
	for i := range want {
		if math.Float32bits(y[i]) != math.Float32bits(want[i]) && (HasDepthwiseBand() || active == Generic) ||
			math.Abs(float64(y[i]-want[i])) > 1e-4 {
			t.Fatalf("%s: value %d is %g, want %g", name, i, y[i], want[i])
		}
	}
	if !ok() {
		t.Fatalf("%s: wrote outside", name)
	}
}

// The generator addresses the fields by number.
func TestDepthwiseBandLayout(t *testing.T) {
	var d DepthwiseBand
	for i, off := range []uintptr{
		unsafe.Offsetof(d.X), unsafe.Offsetof(d.W), unsafe.Offsetof(d.Y), unsafe.Offsetof(d.N), unsafe.Offsetof(d.C),
		unsafe.Offsetof(d.Rows), unsafe.Offsetof(d.YStep), unsafe.Offsetof(d.YRow), unsafe.Offsetof(d.Scale),
		unsafe.Offsetof(d.Shift), unsafe.Offsetof(d.Act), unsafe.Offsetof(d.Left), unsafe.Offsetof(d.Right),
		unsafe.Offsetof(d.xNow), unsafe.Offsetof(d.yNow), unsafe.Offsetof(d.rowsLeft), unsafe.Offsetof(d.before),
	} {
		if off != uintptr(8*i) {
			t.Errorf("field %d is at byte %d", i, off)
		}
	}
}
