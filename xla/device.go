package xla

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/gotype"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Device is one device of an engine, such as a GPU, with its own memory.
type Device struct {
	Backend compute.Backend
	Number  compute.DeviceNum
}

// upload copies values to a device.
func upload[T gotype.Supported](d Device, v []T, dims ...int) (*tensors.Tensor, error) {
	b, err := d.Backend.BufferFromFlatData(d.Number, v, shapes.Make(dtypes.FromGenericsType[T](), dims...))
	if err != nil {
		return nil, err
	}
	return tensors.FromBuffer(b)
}

// download copies a tensor into to, which has its length.
func download(d Device, t *tensors.Tensor, to []float32) error {
	b, err := t.Buffer(d.Backend, d.Number)
	if err != nil {
		return err
	}
	return b.ToFlatData(to)
}

func release(t *tensors.Tensor) {
	if t != nil {
		_ = t.FinalizeAll() // what cannot be freed is the collector's
	}
}

// replace puts a new tensor in the place of another.
func replace(at **tensors.Tensor, by *tensors.Tensor) {
	release(*at)
	*at = by
}

// programs are the graphs of a network, compiled for the devices of one backend, and
// for each shape of a batch when it is first met.
type programs struct {
	infer, forward, backward, squares, update *graph.Exec
}

func newProgram(b compute.Backend, name string, f func([]*tensor) []*tensor) (*graph.Exec, error) {
	x, err := graph.NewExec(b, f)
	if err != nil {
		return nil, err
	}
	return x.WithName(name).SetMaxCache(-1), nil
}

// replica is a network's copy on one device.
type replica struct {
	Device
	*programs
	name   string // for messages
	values [sets]*tensors.Tensor
	grad   *tensors.Tensor   // of the last Backward, by the parameters that are trained
	m, v   *tensors.Tensor   // the optimizer's moments of them
	rule   *tensors.Tensor   // of each value the number of its parameter: see updateGraph
	saved  []*tensors.Tensor // what the last forward pass left for Backward
	keys   *tensors.Tensor
	rows   int // images of the largest batch to evaluate
}

// run runs a graph on the parameters and what follows.
func (r *replica) run(x *graph.Exec, rest ...*tensors.Tensor) ([]*tensors.Tensor, error) {
	var args []any
	for _, t := range append(r.values[:], rest...) {
		if t != nil {
			args = append(args, t)
		}
	}
	return x.CallOnDevice(r.Number, args...)
}

// forget lets go of what a forward pass left.
func (r *replica) forget() {
	for _, t := range r.saved {
		release(t)
	}
	replace(&r.keys, nil)
	r.saved = nil
}

// guarded turns a panic of a backend into an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return f()
}
