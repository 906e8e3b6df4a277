package train

import (
	"context"

	"github.com/kindred-ml/kindred/data/sample"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/objective"
)

// Network computes embeddings and learns from their gradient. *nn.Net is a Network. x holds n
// samples, one after the other.
//
// A network may have the methods Step() uint64 and SetStep(uint64) to count its training passes.
// Checkpoints keep the count, because dropout, for example, depends on it. A network may also
// have Diagnose(x []float32, n int) error. If a loss is not finite, Run calls it to find the
// first layer whose output is not finite.
type Network interface {
	// Forward computes the embeddings in training mode, one in each row. They are valid until
	// the next call of Forward or Infer.
	Forward(x []float32, n int) *matrix.Dense
	// Backward takes the gradient of the loss with respect to the embeddings of
	// the last Forward, and sets Grad of every trained parameter.
	Backward(grad *matrix.Dense)
	// Infer computes the embeddings in evaluation mode. They are valid as those of Forward.
	Infer(x []float32, n int) *matrix.Dense
	// Params returns the parameters and running statistics, always in the same order.
	Params() []*nn.Param
	// Dim returns the length of an embedding.
	Dim() int
}

// stepCounter is a Network that counts its training passes.
type stepCounter interface {
	Step() uint64
	SetStep(n uint64)
}

// diagnoser is a Network that can find the first output that is not finite.
type diagnoser interface {
	Diagnose(x []float32, n int) error
}

// Objective computes the loss of a batch's embeddings and its gradient. *objective.Objective
// implements it for every loss of package loss, and for your own.
type Objective interface {
	// Step computes the loss of embeddings e, writes the gradient to grad, which has the same
	// shape, and sets Grad of Params.
	Step(ctx context.Context, e *matrix.Dense, b objective.Batch, grad *matrix.Dense) (objective.Result, error)
	// Params returns the trained parameters of the loss; most losses have none.
	Params() []*loss.Param
	// State returns the state that Step depends on besides its arguments and Params. Restore
	// sets it.
	State() objective.State
	Restore(objective.State) error
}

// Sampler draws batches; sample.Balanced and sample.Hierarchical are implementations.
type Sampler interface {
	// Batches returns the number of batches in an epoch.
	Batches() int
	// Epoch draws the batches of the next epoch, as lists of positions.
	Epoch() [][]int
	// State identifies the next epoch. Restore returns to that state.
	State() sample.State
	Restore(sample.State) error
}

// lossPrefix starts the names of the loss's own parameters.
const lossPrefix = "loss."

// Params returns the parameters for an optimizer: the network's parameters, then the objective's,
// whose names begin with "loss.".
func Params(net Network, o Objective) []*nn.Param {
	var all []*nn.Param
	all = append(all, net.Params()...)
	for _, p := range o.Params() {
		all = append(all, &nn.Param{Name: lossPrefix + p.Name, Shape: p.Shape, Value: p.Value, Grad: p.Grad})
	}
	return all
}
