package quantized

import (
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
)

// Kind is how rows are coded. The zero value is not a valid Kind.
type Kind int

// Kinds, from the finest to the coarsest.
const (
	_ Kind = iota
	Float32
	Bits16
	Bits8
)

// Block is the number of rows or columns of a whole Tile: whole panels of every kind.
const Block = 448

// KindFor is the kind whose products of rows of d coordinates cost least here.
func KindFor(d int) Kind {
	if dot8.IsWorthwhile(d) {
		return Bits8
	}
	return FinestFastKind()
}

// FinestFastKind is the most precise kind among those that the machine multiplies as
// fast as float32, whatever the rows.
func FinestFastKind() Kind {
	if dot16.IsFast() {
		return Bits16
	}
	return Float32
}

// StoredKind is the kind in which rows of d coordinates are kept in files: Bits8, and Bits16
// where rows have so few coordinates that the product costs no less in 8.
func StoredKind(d int) Kind {
	if dot8.IsSuited(d) {
		return Bits8
	}
	return Bits16
}

// IsFast reports whether the machine multiplies rows of the kind no slower than float32.
func (k Kind) IsFast() bool {
	switch k {
	case Bits8:
		return dot8.IsFast()
	case Bits16:
		return dot16.IsFast()
	}
	return true
}

// Panel is the number of rows that are multiplied at a time.
func (k Kind) Panel() int {
	if k == Bits8 {
		return dot8.RowPanel
	}
	return dot16.RowPanel
}

// colPanel is the number of columns in a panel, of every kind.
const colPanel = dot16.ColPanel

// Padded is the number of columns that n take up in whole panels.
func Padded(n int) int { return padTo(n, colPanel) }

// padTo is n rounded up to whole panels.
func padTo(n, panel int) int { return (n + panel - 1) / panel * panel }

// RowBytes is the size of one row of d coordinates.
func (k Kind) RowBytes(d int) int {
	switch k {
	case Bits8:
		return dot8.Depth(d)
	case Bits16:
		return 4 * dot16.Pairs(d)
	}
	return 4 * d
}

// ColumnBytes is the size of n columns of d coordinates.
func (k Kind) ColumnBytes(n, d int) int { return Padded(n) * k.RowBytes(d) }

// MaxPanel is the largest Panel of any kind.
const MaxPanel = max(dot8.RowPanel, dot16.RowPanel)
