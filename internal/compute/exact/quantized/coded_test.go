package quantized

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/matrix"
)

var kinds = []Kind{Float32, Bits16, Bits8}

// natures make rows that are no longer than about 1.
var natures = map[string]func(rng *rand.Rand, i, j, d int) float64{
	"spread": func(rng *rand.Rand, _, _, d int) float64 { return rng.NormFloat64() / math.Sqrt(float64(2*d)) },
	"steps":  func(rng *rand.Rand, _, _, d int) float64 { return float64(rng.IntN(3)-1) / 64 },
	"tiny":   func(rng *rand.Rand, i, _, d int) float64 { return rng.NormFloat64() * math.Pow(10, -float64(i)) / 100 },
	"one":    func(_ *rand.Rand, _, j, d int) float64 { return float64((j%d)&1) / math.Sqrt(float64(d)) },
	"zeros":  func(*rand.Rand, int, int, int) float64 { return 0 },
}

func rowsOf(rng *rand.Rand, n, d int, value func(rng *rand.Rand, i, j, d int) float64) *matrix.Dense {
	x := matrix.New(n, d)
	for i := range n {
		for j := range d {
			x.Row(i)[j] = float32(value(rng, i, j, d))
		}
	}
	clear(x.Row(n / 2))
	copy(x.Row(n-1), x.Row(0)) // the same twice
	return x
}

// half is what a column takes off its scores, for Euclidean distances.
func half(x []float32) float64 { return plain(x, x) / 2 }

func plain(x, y []float32) float64 {
	var sum float64
	for j, v := range x {
		sum += float64(v) * float64(y[j])
	}
	return sum
}

// table is rows coded as both factors.
type table struct {
	rows    *Rows
	columns *Columns
	cols    dot16.Columns
	extents []Extent
	slack   []float32
}

func code(k Kind, x *matrix.Dense) *table {
	padded := Padded(x.Rows)
	t := &table{rows: NewRows(k, x.Rows, x.Cols), columns: NewColumns(k, x.Rows, x.Cols),
		cols: dot16.Columns{Scale: make([]float32, padded), Half: make([]float32, padded), Lo: make([]float32, padded)}}
	c := NewCoder(k, x.Cols)
	for i := range padded {
		if i >= x.Rows {
			t.cols.Half[i] = float32(math.Inf(1))
			continue
		}
		code := c.Float32(x.Row(i))
		t.rows.Put(i, &c.Row)
		t.columns.Put(i, &c.Row)
		t.cols.Scale[i], t.cols.Half[i] = code.Unit, float32(half(x.Row(i)))
		e := Extent{math.Sqrt(plain(x.Row(i), x.Row(i))), code.Loss, half(x.Row(i))}
		t.extents = append(t.extents, e)
		t.slack = append(t.slack, k.Slack(e.Norm, e.Loss))
	}
	return t
}

// eachLevel runs f at each level of instructions.
func eachLevel(t *testing.T, f func(t *testing.T)) {
	for _, l := range []simd.Level{simd.Generic, simd.AVX2, simd.AVX512} {
		t.Run(l.String(), func(t *testing.T) {
			defer simd.Force(l)()
			f(t)
		})
	}
}

// What a tile scores is what a loop in float64 does, within both bounds, whichever rows
// and columns it is given; its masks and its best two are those of its scores.
func TestTileAgreesWithALoop(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, name := range slices.Sorted(maps.Keys(natures)) {
			nature := natures[name]
			for _, k := range kinds {
				for _, c := range []struct{ n, m, d int }{{1, 1, 1}, {3, 70, 7}, {33, 5, 65}, {45, 40, 130}} {
					what := fmt.Sprintf("%s, kind %d, %d rows, %d columns, d %d", name, k, c.n, c.m, c.d)
					x, y := rowsOf(rng, c.n, c.d, nature), rowsOf(rng, c.m, c.d, nature)
					testTile(t, what, k, x, y)
				}
			}
		}
	})
}

func testTile(t *testing.T, what string, k Kind, x, y *matrix.Dense) {
	rows, cols := code(k, x), code(k, y)
	width := Padded(y.Rows)
	scores, mask := make([]float32, width), make([]uint32, width/16)
	var tile Tile
	tile.Begin(rows.rows, 0, x.Rows, cols.columns, 0, y.Rows)
	for i := range x.Rows {
		if i%k.Panel() == 0 {
			tile.Multiply(i)
		}
		row := dot16.Row{Scale: rows.cols.Scale[i], Half: rows.cols.Half[i], Lo: float32(half(x.Row(i))) - 0.125}
		for j := range cols.cols.Lo {
			cols.cols.Lo[j] = -0.125
		}
		tile.Filter(i, scores, mask, row, &cols.cols)
		loss := rows.extents[i].Loss
		if k == Float32 {
			loss = FloatLoss(rows.extents[i].Norm, x.Cols)
		}
		reach := k.Reach(rows.extents[i].Norm, loss)
		for j, s := range scores {
			if in := mask[j/16]>>(j%16)&1 != 0; in != (s >= row.Lo) {
				t.Fatalf("%s: row %d, column %d: score %g, threshold %g, mask %v", what, i, j, s, row.Lo, in)
			}
			if in := mask[j/16]>>(16+j%16)&1 != 0; in != (s-row.Half >= cols.cols.Lo[j]) {
				t.Fatalf("%s: row %d, column %d: %g, threshold %g, mask %v", what, i, j, s-row.Half,
					cols.cols.Lo[j], in)
			}
			if j >= y.Rows {
				if !math.IsInf(float64(s), -1) {
					t.Fatalf("%s: row %d: what fills up the panel scores %g", what, i, s)
				}
				continue
			}
			off := math.Abs(float64(s) - (plain(x.Row(i), y.Row(j)) - half(y.Row(j))))
			if band := k.Band(x.Cols, rows.extents[i], cols.extents[j]); off > band {
				t.Fatalf("%s: row %d, column %d: off by %g, band %g", what, i, j, off, band)
			}
			// The rounding of halves is the caller's here, and so is what tiny rows lose.
			wide := reach*float64(cols.slack[j]) + 2*roundings*half(y.Row(j)) + tiny
			if off > wide {
				t.Fatalf("%s: row %d, column %d: off by %g, reach times slack %g", what, i, j, off, wide)
			}
		}
		var top, want dot16.Top
		top.Reset()
		want.Reset()
		best := make([]float32, width)
		tile.Best(i, best, row.Scale, &cols.cols, 3*Block, &top)
		for j, s := range scores {
			want.Take(s, int32(3*Block+j))
		}
		if top != want || !slices.Equal(best[:y.Rows], scores[:y.Rows]) {
			t.Fatalf("%s: row %d: best two %v of %v, want %v of %v", what, i, top, best, want, scores)
		}
	}
}

// Rows that are put together anew score as they did among all, in a tile and with
// storage that others have used.
func TestSomeRows(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		const n, d = 50, 33
		x := rowsOf(rng, n, d, natures["spread"])
		for _, k := range kinds {
			all := code(k, x)
			width := Padded(n)
			score := func(tile *Tile, r *Rows, count int) (out [][]float32) {
				tile.Begin(r, 0, count, all.columns, 0, n)
				for i := range count {
					if i%k.Panel() == 0 {
						tile.Multiply(i)
					}
					scores := make([]float32, width)
					tile.Filter(i, scores, make([]uint32, width/16), dot16.Row{Scale: 1}, &all.cols)
					out = append(out, scores)
				}
				return out
			}
			var tile Tile
			want := score(&tile, all.rows, n)
			some, c := NewRows(k, 0, d), NewCoder(k, d)
			for _, which := range [][]int{{49}, {3, 8, 17, 18, 19, 20, 21, 22, 30, 31, 32, 33, 34, 40}, {0, 2}} {
				some.Resize(len(which))
				for r, i := range which {
					c.Float32(x.Row(i))
					row := c.Clone()
					c.Zeros()
					some.Put(r, &row)
				}
				for r, got := range score(&tile, some, len(which)) {
					if i := which[r]; k != Float32 && !slices.Equal(got, want[i]) {
						t.Errorf("kind %d: row %d of %v scores %v, want %v", k, r, which, got, want[i])
					} else if k == Float32 {
						for j := range n {
							if math.Abs(float64(got[j]-want[i][j])) > 1e-6 {
								t.Errorf("row %d of %v scores %v, want %v", r, which, got[j], want[i][j])
							}
						}
					}
				}
			}
		}
	})
}

// The three ways to hand over a row come to the same, and a shifted row is within its
// loss of where it is.
func TestCoder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, d := range []int{1, 15, 64, 99} {
		x := rowsOf(rng, 6, d, natures["spread"])
		for _, k := range kinds {
			a, b := NewCoder(k, d), NewCoder(k, d)
			u, zeros := make([]float64, d), make([]float32, d)
			for i := range x.Rows {
				for j, v := range x.Row(i) {
					u[j] = float64(v)
				}
				want := a.Float32(x.Row(i))
				if got := b.Float64(u); got != want || !same(a.Row, b.Row) {
					t.Errorf("kind %d, d %d, row %d from float64: %v, want %v", k, d, i, got, want)
				}
				got, p := b.Shifted(x.Row(i), zeros, 1, 0)
				if got != want || !same(a.Row, b.Row) {
					t.Errorf("kind %d, d %d, row %d shifted by nothing: %v, want %v", k, d, i, got, want)
				}
				if norm := math.Sqrt(plain(x.Row(i), x.Row(i))); p.Norm < norm*(1-1e-15) || p.Norm > norm*1.001+1e-30 {
					t.Errorf("kind %d, d %d, row %d: length %g, want %g", k, d, i, p.Norm, norm)
				}
			}
		}
	}
}

// Rows score the same in a tile that begins after others.
func TestLaterTiles(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		const n, d = 50, 33
		x := rowsOf(rand.New(rand.NewPCG(3, 9)), n, d, natures["spread"])
		for _, k := range kinds {
			all := code(k, x)
			width := Padded(n)
			score := func(lo int) map[int][]float32 {
				var tile Tile
				out := map[int][]float32{}
				tile.Begin(all.rows, lo, n, all.columns, 0, n)
				for i := lo; i < n; i++ {
					if i%k.Panel() == 0 {
						tile.Multiply(i)
					}
					out[i] = make([]float32, width)
					tile.Filter(i, out[i], make([]uint32, width/16), dot16.Row{Scale: all.cols.Scale[i]}, &all.cols)
				}
				return out
			}
			want := score(0)
			for i, got := range score(2 * k.Panel()) {
				for j := range n {
					if off := got[j] - want[i][j]; off > 1e-6 || off < -1e-6 {
						t.Errorf("kind %d: row %d, column %d: %g, and among all %g", k, i, j, got[j], want[i][j])
					}
				}
			}
		}
	})
}

// A row is placed where its factor and the shift put it, and coded within its loss.
func TestShifted(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	const d = 70
	x, m, place := make([]float32, d), make([]float32, d), make([]float64, d)
	var square, dot, length float64
	for j := range x {
		x[j], m[j] = float32(rng.NormFloat64()), float32(rng.NormFloat64()/20)
		place[j] = float64(x[j])/16 - float64(m[j])
		square, dot = square+place[j]*place[j], dot+place[j]*float64(m[j])
		length += float64(m[j]) * float64(m[j])
	}
	for _, k := range kinds {
		c, at := NewCoder(k, d), NewCoder(k, d)
		got, p := c.Shifted(x, m, 1./16, math.Sqrt(length))
		if math.Abs(p.Square-square) > 1e-5*square || math.Abs(p.Dot-dot) > 1e-5*square ||
			p.Norm*p.Norm < p.Square*(1-1e-6) || p.Norm*p.Norm > square*1.001 {
			t.Errorf("kind %d: %+v, want the square %g and the product %g", k, p, square, dot)
		}
		want := at.Float64(place)
		if got.Unit < want.Unit*0.999 || got.Unit > want.Unit*1.001 || got.Loss < want.Loss*0.9 ||
			got.Loss > want.Loss*1.2+1e-6 {
			t.Errorf("kind %d: %+v, want about %+v", k, got, want)
		}
		for j := range c.floats {
			if off := c.floats[j] - at.floats[j]; off > 1e-6 || off < -1e-6 {
				t.Errorf("number %d is %g, want %g", j, c.floats[j], at.floats[j])
			}
		}
	}
}

// What a row loses whose products are computed in float32 grows with its length and with
// how many there are, and is next to nothing beside it.
func TestFloatLoss(t *testing.T) {
	for _, d := range []int{1, 100, 10_000} {
		loss := FloatLoss(1, d)
		if loss < float64(d)*0x1p-24 || loss > float64(d+20)*0x1p-22 || FloatLoss(3, d) != 3*loss ||
			FloatLoss(0, d) != 0 {
			t.Errorf("d %d: %g of a length of 1, %g of 3", d, loss, FloatLoss(3, d))
		}
	}
}

// What reaches a threshold exactly counts, by the row's and by the column's.
func TestThresholds(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		x := matrix.FromSlice(2, 2, []float32{0.5, 0.25, 0.25, -0.5})
		for _, k := range kinds {
			all := code(k, x)
			width := Padded(2)
			var tile Tile
			tile.Begin(all.rows, 0, 2, all.columns, 0, 2)
			tile.Multiply(0)
			scores, mask := make([]float32, width), make([]uint32, width/16)
			row := dot16.Row{Scale: all.cols.Scale[0], Half: 0.125}
			tile.Filter(0, scores, mask, row, &all.cols)
			for j := range 2 {
				row.Lo, all.cols.Lo[j] = scores[j], scores[j]-row.Half
				tile.Filter(0, scores, mask, row, &all.cols)
				if mask[0]>>j&1 == 0 || mask[0]>>(16+j)&1 == 0 {
					t.Errorf("kind %d: column %d at both thresholds is passed over", k, j)
				}
				row.Lo = math.Nextafter32(scores[j], 1)
				all.cols.Lo[j] = math.Nextafter32(scores[j]-row.Half, 1)
				tile.Filter(0, scores, mask, row, &all.cols)
				if mask[0]>>j&1 != 0 || mask[0]>>(16+j)&1 != 0 {
					t.Errorf("kind %d: column %d below both thresholds is taken", k, j)
				}
			}
		}
	})
}

func same(a, b Row) bool {
	return slices.Equal(a.bytes, b.bytes) && slices.Equal(a.ints, b.ints) && slices.Equal(a.floats, b.floats) &&
		a.bias == b.bias
}

// A row that 8 bits cannot hold has an infinite loss; others count what they lose.
func TestOddRows(t *testing.T) {
	c := NewCoder(Bits8, 3)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, x := range [][]float32{{nan, 0, 0}, {0, inf, 1}, {-inf, nan, 1}, {1e30, 1, 1}, {1e-40, 0, 1e-42}} {
		code := c.Float32(x)
		if !math.IsInf(code.Loss, 1) || code.Unit != 0 || !slices.Equal(c.bytes[:3], []int8{0, 0, 0}) {
			t.Errorf("%v: %v, codes %v", x, code, c.bytes[:3])
		}
		if b := Bits8.Band(3, Extent{Norm: 1, Loss: code.Loss}, Extent{Norm: 1}); !math.IsInf(b, 1) {
			t.Errorf("%v: band %g", x, b)
		}
	}
	for _, k := range kinds {
		c := NewCoder(k, 3)
		if code := c.Float32(make([]float32, 3)); code.Loss > 1e-30 {
			t.Errorf("kind %d: zeros lose %g", k, code.Loss)
		}
	}
}

// Files depend on these.
func TestStoredForms(t *testing.T) {
	for _, c := range []struct {
		d    int
		kind Kind
		size int // of 33 columns
	}{
		{1, Bits16, 64 * 4}, {47, Bits16, 64 * 96}, {48, Bits8, 64 * 64}, {65, Bits8, 64 * 128},
		{1<<17 + 1, Bits16, 64 * (1<<18 + 4)},
	} {
		if k := StoredKind(c.d); k != c.kind || k.ColumnBytes(33, c.d) != c.size {
			t.Errorf("d %d: kind %d of %d bytes, want %d of %d", c.d, k, k.ColumnBytes(33, c.d), c.kind, c.size)
		}
		if size := Float32.ColumnBytes(33, c.d); size != 64*4*c.d {
			t.Errorf("d %d: %d bytes in float32", c.d, size)
		}
	}
	// To be asked for, columns need not be there.
	c := NewColumns(Bits8, 40, 48)
	for _, k := range []int{0, 1, 2, 5} {
		c.Prefetch(0, 40, k, 3)
		c.Prefetch(30, 400, k, 3)
		c.Prefetch(400, 500, k, 3)
	}
}

func TestBelowAndAbove(t *testing.T) {
	inf := math.Inf(1)
	for _, x := range []float64{0, 1, -1, 0.1, -0.1, 1e-300, -1e-300, 3e38, -1e300, 16777217} {
		if b := float64(RoundDown(x)); b > x && x > -math.MaxFloat32 || math.IsInf(b, 0) {
			t.Errorf("below %g: %g", x, b)
		}
		if a := float64(RoundUp(x)); a < x || math.IsInf(a, -1) {
			t.Errorf("above %g: %g", x, a)
		}
	}
	if b := RoundDown(inf); !math.IsInf(float64(b), 1) {
		t.Errorf("below +Inf: %g", b)
	}
	if b := RoundDown(-inf); b != -math.MaxFloat32 {
		t.Errorf("below -Inf: %g", b)
	}
}
