package attention

import "github.com/kindred-ml/kindred/internal/kernel/simd"

// The copies of a head that tiles read. A matrix of T tokens by Dim values is
// wanted as rows, scaled (queries that meet keys); as panels of columns, a token
// a row (what probabilities weigh); and as panels of tokens, a value a row (what
// queries are multiplied with).

// rowsLen is the room for rows, with a tile's worth behind the last.
func (t *task) rowsLen() int { return (t.T + t.tr) * t.Dim }

// panelsLen is the room for panels of columns, with what a tile reads behind.
func (t *task) panelsLen() int { return (t.Dim + t.tc - 1) / t.tc * t.tc * t.T }

// tokensLen is the room for panels of tokens.
func (t *task) tokensLen() int { return (t.T + t.tc - 1) / t.tc * t.tc * t.Dim }

// scoresLen is the room for a block of scores.
func (t *task) scoresLen() int { return (t.block + t.tr) * t.row }

// rows copies a head, multiplied by scale: from the value at in x, whose tokens
// are step apart.
func (t *task) rows(to, x []float32, at, step int, scale float32) {
	for i := range t.T {
		simd.Scale(to[i*t.Dim:(i+1)*t.Dim], scale, x[at+i*step:at+i*step+t.Dim])
	}
}

// panels copies a head as [panel][T][tc], zeros beyond its last column.
func (t *task) panels(to, x []float32, at, step int) {
	for j := 0; j < t.Dim; j += t.tc {
		n := min(t.tc, t.Dim-j)
		for i := range t.T {
			row := to[(j*t.T/t.tc+i)*t.tc:][:t.tc]
			copy(row, x[at+i*step+j:at+i*step+j+n])
			clear(row[n:])
		}
	}
}

// tokens copies a head as [panel][Dim][tc], transposed, zeros beyond the last
// token.
func (t *task) tokens(to, x []float32, at, step int) {
	for i := 0; i < t.T; i += t.tc {
		n := min(t.tc, t.T-i)
		panel := to[i*t.Dim : (i+t.tc)*t.Dim]
		if n < t.tc {
			clear(panel)
		}
		simd.Transpose(panel, t.tc, x[at+i*step:], step, n, t.Dim)
	}
}
