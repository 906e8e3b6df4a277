package nn

import "github.com/kindred-ml/kindred/mat"

// ForwardPiece is Forward of a part of a batch: x holds n images, of which the
// first is number first of the batch. What a piece drops is what Forward of the
// whole batch drops from it, and all pieces are one step of Step, counted with the
// piece that begins at 0. Batch norm sees the piece alone: its mean and variance
// are those of the piece, and the running ones move with each.
//
// With again the piece has gone through before, and is to once more for a Backward:
// the result is the same to the bit, and running statistics and Step stay.
//
// Backward takes the gradient of the last piece.
func (e *Net) ForwardPiece(x []float32, n, first int, again bool) *mat.Dense {
	if first > 0 || again {
		e.stepCount-- // the piece at 0 has counted it
	}
	e.first, e.again = first, again
	out := e.Forward(x, n)
	e.first, e.again = 0, false
	return out
}
