package quantized

import (
	"math"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
	"github.com/kindred-ml/kindred/matrix"
)

// The bounds to the bit, of lengths, losses and halves that are powers of two: a term of the
// wrong sign is too small to be seen in random rows, whose errors are far below the bound.
func TestBoundsOfKnownRows(t *testing.T) {
	row, col := Extent{Norm: 2, Loss: 0x1p-8, Half: 8}, Extent{Norm: 4, Loss: 0x1p-9, Half: 16}
	// loss by length, both ways, and roundings of the product and of both halves.
	coding := 0x1p-8*4 + (2+0x1p-8)*0x1p-9
	want := coding + 0x1p-21*(2*4+8+16) + 1e-30
	for k, extra := range map[Kind]float64{Float32: 0x1p-23 * (100 + 8) * 2 * 4, Bits16: 0, Bits8: 0} {
		if b := k.Band(100, row, col); math.Abs(b-want-extra) > 1e-15 {
			t.Errorf("kind %d: a band of %g, want %g", k, b, want+extra)
		}
		if b := k.Band(100, Extent{}, Extent{}); b != 1e-30 {
			t.Errorf("kind %d: a band of %g of rows of zeros, want 1e-30", k, b)
		}
	}
	for k, share := range map[Kind]float64{Float32: 0x1p-7, Bits16: 0x1p-14, Bits8: 0x1p-7} {
		if s := k.Slack(4, 0); float64(s) != 4*share {
			t.Errorf("kind %d: a slack of %g of a column 4 long, want %g", k, s, 4*share)
		}
		if s := k.Slack(4, 1); s != 1 {
			t.Errorf("kind %d: a slack of %g of a column that lost 1", k, s)
		}
		reach := ((0x1p-8+0x1p-20*(2+0x1p-8))/share + 2 + 0x1p-8) * (1 + 0x1p-20)
		if r := k.Reach(2, 0x1p-8); math.Abs(r-reach) > 1e-12 {
			t.Errorf("kind %d: a reach of %g, want %g", k, r, reach)
		}
		if r := k.Reach(0, 0); r != 1e-30 {
			t.Errorf("kind %d: a reach of %g of a row of zeros, want 1e-30", k, r)
		}
	}
	if l := FloatLoss(2, 100); l != 2*(108*0x1p-23+0x1p-22) {
		t.Errorf("100 products in float32 lose %g of a row 2 long", l)
	}
}

// A bound that is a float32 stays; any other moves by less than the step between two of them.
func TestBelowIsNext(t *testing.T) {
	for _, x := range []float64{0, 1, -1, 0.375, -math.MaxFloat32, math.MaxFloat32, 0x1p-149} {
		if b, a := RoundDown(x), RoundUp(x); float64(b) != x || float64(a) != x {
			t.Errorf("%g: %g below and %g above", x, b, a)
		}
	}
	for _, x := range []float64{0.1, -0.1, 1 + 0x1p-25, 1 + 0x1.8p-24, -1 - 0x1p-25, 16777217, 1e-300, -1e-300} {
		b, a := RoundDown(x), RoundUp(x)
		if float64(b) >= x || float64(a) <= x || math.Nextafter32(b, float32(math.Inf(1))) != a {
			t.Errorf("%g lies between %g and %g, want neighbours", x, b, a)
		}
	}
	if b := RoundDown(1e300); b != math.MaxFloat32 {
		t.Errorf("below 1e300: %g", b)
	}
	if a := RoundUp(-1e300); a != -math.MaxFloat32 {
		t.Errorf("above -1e300: %g", a)
	}
}

// Columns take up whole panels of 32, and no panel more.
func TestPadded(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 32, 31: 32, 32: 32, 33: 64, 64: 64, 65: 96} {
		if got := Padded(n); got != want {
			t.Errorf("%d columns take up %d, want %d", n, got, want)
		}
	}
	if Bits8.Panel() != dot8.RowPanel || Bits16.Panel() != dot16.RowPanel || Float32.Panel() != dot16.RowPanel {
		t.Errorf("panels of %d, %d and %d rows", Bits8.Panel(), Bits16.Panel(), Float32.Panel())
	}
	for k := range Bits8 + 1 {
		if k.Panel() > MaxPanel {
			t.Errorf("kind %d multiplies %d rows at a time, more than the most, %d", k, k.Panel(), MaxPanel)
		}
	}
}

// What Float32 loses of a row of float64 is the length of what rounding took; rows of float32
// lose nothing. A score of Float32 is in no other unit.
func TestLossOfFloats(t *testing.T) {
	c := NewCoder(Float32, 3)
	if got := c.Float64([]float64{1 + 3*0x1p-30, 2, -1 + 4*0x1p-30}); got != (Code{1, 5 * 0x1p-30}) {
		t.Errorf("%+v, want the unit 1 and the loss %g", got, 5*0x1p-30)
	}
	if got := c.Float64([]float64{0.5, -0.25, 3}); got != (Code{1, 0}) {
		t.Errorf("%+v of what float32 holds", got)
	}
	if got := c.Float32([]float32{0.1, 0.2, 0.3}); got != (Code{1, 0}) {
		t.Errorf("%+v of float32", got)
	}
}

// Rows for as many as before use the memory that is there.
func TestResizeKeepsMemory(t *testing.T) {
	for _, k := range kinds {
		r := NewRows(k, 33, 50)
		if n := testing.AllocsPerRun(5, func() {
			r.Resize(20)
			r.Resize(33)
		}); n > 2 { // of Float32 the headers of two matrices
			t.Errorf("kind %d: %g allocations", k, n)
		}
	}
	s := make([]int8, 4)
	if got := resize(s, 4); &got[0] != &s[0] {
		t.Error("as many values as there is room for are put elsewhere")
	}
}

// A tile that begins at a later column scores as one of all of them does, and takes the best
// for columns of all.
func TestLaterColumns(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		const d = 5
		x := matrix.New(70, d)
		for i := range x.Data {
			x.Data[i] = float32(i*7%32-16) / 64
		}
		for _, k := range kinds {
			all := code(k, x)
			scores := func(j0, j1 int) ([]float32, dot16.Top) {
				var tile Tile
				var top dot16.Top
				top.Reset()
				out := make([]float32, Padded(j1-j0))
				tile.Begin(all.rows, 0, 3, all.columns, j0, j1)
				tile.Multiply(0)
				cols := dot16.Columns{Scale: all.cols.Scale[j0:], Half: all.cols.Half[j0:], Lo: all.cols.Lo[j0:]}
				cut := Padded(j1 - j0)
				cols.Scale, cols.Half, cols.Lo = cols.Scale[:cut], cols.Half[:cut], cols.Lo[:cut]
				tile.Best(2, out, all.cols.Scale[2], &cols, j0, &top)
				return out[:j1-j0], top
			}
			whole, _ := scores(0, 70)
			part, top := scores(32, 70)
			var want dot16.Top
			want.Reset()
			for j, s := range part {
				want.Take(s, int32(32+j))
				if off := math.Abs(float64(s - whole[32+j])); off > 1e-6 {
					t.Errorf("kind %d: column %d scores %g, and %g among all", k, 32+j, s, whole[32+j])
				}
			}
			if top != want {
				t.Errorf("kind %d: the best are %v, want %v", k, top, want)
			}
		}
	})
}

// A few columns may be asked for, too: less than a line of memory a share.
func TestFetchOfOneColumn(t *testing.T) {
	c := NewColumns(Bits8, 2, 48)
	for k := range 4 {
		c.Prefetch(0, 1, k, 3)
		c.Prefetch(1, 2, k, 100)
	}
}

// Columns that were kept are of 8 bits if there are such, or of 16, and score as they did.
func TestStoredColumns(t *testing.T) {
	for _, k := range []Kind{Bits16, Bits8} {
		c := NewColumns(k, 5, 48)
		kept := StoredColumns(48, c.Bytes, c.Ints)
		if kept.kind != k || kept.d != 48 || len(kept.Bytes) != len(c.Bytes) || len(kept.Ints) != len(c.Ints) {
			t.Errorf("kind %d came back as %d, with %d bytes and %d numbers", k, kept.kind, len(kept.Bytes),
				len(kept.Ints))
		}
		kept.Prefetch(0, 5, 0, 1) // of what has no bytes, nothing
	}
}
