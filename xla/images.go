package xla

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/train"
)

// staged are images on the devices, in pieces that follow one another.
type staged struct {
	net   *Net
	n     int
	parts []part // one for each device
}

// part is a device's piece of a batch.
type part struct {
	first, n int
	x        *tensors.Tensor // with images of zeros behind them in evaluation; nil if n is 0
}

// Stage copies images to the devices, a piece to each; see train.Remote. Batches for
// evaluation are padded to the size of the largest earlier batch, so that no further
// graph has to be compiled.
func (e *Net) Stage(b train.Batch, training bool) (train.Staged, error) {
	return e.stage(b.X, b.Bytes, len(b.Pos), training)
}

func (e *Net) stage(x []float32, bytes []uint8, n int, training bool) (*staged, error) {
	in := e.net.Spec().Input
	if given := len(x) + len(bytes); n < 1 || given != n*in.Len() {
		return nil, fmt.Errorf("%d values for %d images of %d x %d x %d", given, n, in.H, in.W, in.C)
	}
	s := &staged{net: e, n: n}
	count := len(e.replicas)
	for i := range count {
		first := i * n / count
		s.parts = append(s.parts, part{first: first, n: (i+1)*n/count - first})
	}
	err := e.each(func(i int, r *replica) (err error) {
		p := &s.parts[i]
		if p.n == 0 {
			return nil
		}
		rows := p.n
		if !training {
			r.rows = max(r.rows, p.n)
			rows = r.rows
		}
		if bytes != nil {
			p.x, err = uploadImages(r.Device, bytes, p, rows, in.H, in.W, in.C)
		} else {
			p.x, err = uploadImages(r.Device, x, p, rows, in.H, in.W, in.C)
		}
		return err
	})
	if err != nil {
		s.Release()
		return nil, err
	}
	return s, nil
}

// uploadImages copies a piece of x to a device, and images of zeros up to rows.
func uploadImages[T uint8 | float32](d Device, x []T, p *part, rows, h, w, c int) (*tensors.Tensor, error) {
	size := h * w * c
	v := x[p.first*size : (p.first+p.n)*size]
	if rows > p.n {
		v = append(slices.Clone(v), make([]T, (rows-p.n)*size)...)
	}
	return upload(d, v, rows, h, w, c)
}

// Forward is Net.Forward of the images.
func (s *staged) Forward() *matrix.Dense { return s.net.forwardStaged(s) }

// Infer is Net.Infer of the images.
func (s *staged) Infer() *matrix.Dense { return s.net.inferStaged(s) }

// Release lets go of the images, unless a Backward will want them.
func (s *staged) Release() {
	if s.net.pass != s {
		s.free()
	}
}

func (s *staged) free() {
	for i := range s.parts {
		replace(&s.parts[i].x, nil)
	}
}

// normalized are images as the network takes them. Bytes become what the data path of
// the CPU makes of them, by a table of its values.
func (e *Net) normalized(x *tensor) *tensor {
	if x.DType() != dtypes.Uint8 {
		return x
	}
	g, dims := x.Graph(), x.Shape().Dimensions
	c := dims[3]
	at := graph.Add(graph.MulScalar(graph.ConvertDType(x, dtypes.Int32), c),
		graph.Iota(g, shapes.Make(dtypes.Int32, dims...), 3))
	return graph.Gather(graph.Const(g, e.pixels.Table(c)), graph.InsertAxes(at, -1))
}
