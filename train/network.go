package train

import (
	"context"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/objective"
)

// Network computes embeddings and learns from their gradient; *nn.Net is one. x
// holds n samples, one after the other.
//
// A network that has the methods Step() uint64 and SetStep(uint64) counts its
// training passes. Checkpoints keep the count; dropout, for example, depends on
// it. If a loss is not finite and the network has Diagnose(x []float32, n int)
// error, Run calls it to learn which layer gave the first such number.
type Network interface {
	// Forward computes the embeddings in training mode, one a row. They are valid
	// until the next call of Forward or Infer.
	Forward(x []float32, n int) *mat.Dense
	// Backward takes the gradient of the loss with respect to the embeddings of
	// the last Forward, and sets Grad of every trained parameter.
	Backward(grad *mat.Dense)
	// Infer computes the embeddings in evaluation mode, as Forward returns them.
	Infer(x []float32, n int) *mat.Dense
	// Params lists the network's parameters and running statistics, always in the
	// same order.
	Params() []*nn.Param
	// Dim is the length of an embedding.
	Dim() int
}

// counter is a Network that counts its training passes.
type counter interface {
	Step() uint64
	SetStep(n uint64)
}

// diagnoser is a Network that can say where numbers ceased to be finite.
type diagnoser interface {
	Diagnose(x []float32, n int) error
}

// Objective turns the embeddings of a batch into a loss and its gradient;
// *objective.Objective is one, and takes losses of your own.
type Objective interface {
	// Step computes the loss of embeddings e and writes its gradient to grad, of
	// the same shape; it sets Grad of Params.
	Step(ctx context.Context, e *mat.Dense, b objective.Batch, grad *mat.Dense) (objective.Result, error)
	// Params lists what the loss itself learns; most learn nothing.
	Params() []*loss.Param
	// State is what Step depends on besides its arguments and Params; Restore
	// sets it.
	State() objective.State
	Restore(objective.State) error
}

// Sampler draws batches; data.Balanced and data.Hierarchical are implementations.
type Sampler interface {
	// Batches is how many batches an epoch has.
	Batches() int
	// Epoch draws the batches of the next epoch, as lists of positions.
	Epoch() [][]int
	// State says which epoch is next; Restore goes back to it.
	State() data.SamplerState
	Restore(data.SamplerState) error
}

// lossPrefix starts the names of the loss's own parameters.
const lossPrefix = "loss."

// Params lists the parameters for an optimizer: the network's parameters, then
// the objective's, whose names begin with "loss.".
func Params(net Network, o Objective) []*nn.Param {
	var all []*nn.Param
	all = append(all, net.Params()...)
	for _, p := range o.Params() {
		all = append(all, &nn.Param{Name: lossPrefix + p.Name, Shape: p.Shape, Value: p.Value, Grad: p.Grad})
	}
	return all
}
