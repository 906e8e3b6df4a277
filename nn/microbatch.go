package nn

import "github.com/kindred-ml/kindred/matrix"

// ForwardMicroBatch is Forward of a part of a batch: x holds n images, the batch's
// images from number first on. Dropout drops the same values as Forward of the
// whole batch. All pieces are one step of Step, counted with the piece that begins
// at 0. Batch norm uses the mean and variance of the piece alone, and every piece
// moves the running statistics.
//
// again repeats an earlier piece, for Backward: the result is the same to the bit,
// and running statistics and Step do not change.
//
// Backward takes the gradient of the last piece.
func (e *Net) ForwardMicroBatch(x []float32, n, first int, again bool) *matrix.Dense {
	if first > 0 || again {
		e.stepCount-- // the piece at 0 has counted it
	}
	e.first, e.again = first, again
	out := e.Forward(x, n)
	e.first, e.again = 0, false
	return out
}
