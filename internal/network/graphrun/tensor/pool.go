package tensor

import (
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// memory is what the values of tensors lie in. Several tensors may share it.
type memory struct {
	floats []float32
	ints   []int64
	refs   int
	own    bool // it goes back to the pool when nothing refers to it any more
}

// Pool keeps the memory that no tensor uses, by its length: a run takes what the run before gave back.
type Pool struct {
	floats, ints map[int][]*memory
	live, peak   int64 // bytes in use; the most there were
	held         int64 // bytes in use and kept
	most         int64 // that held may be
}

// NewPool makes a pool that keeps to the limit on memory.
func NewPool() *Pool {
	return &Pool{floats: map[int][]*memory{}, ints: map[int][]*memory{}, most: budget.Limit()}
}

// Empty forgets what nobody uses.
func (p *Pool) Empty() {
	clear(p.floats)
	clear(p.ints)
	p.held = p.live
}

// New makes a tensor whose values are undefined. It is given back by Reclaim unless it is held.
func (p *Pool) New(shape []int, typ onnx.DataType) (*Tensor, error) {
	n, err := Length(shape)
	if err != nil {
		return nil, err
	}
	m, err := p.take(n, typ.IsFloat())
	if err != nil {
		return nil, err
	}
	return &Tensor{Shape: shape, Floats: m.floats, Ints: m.ints, Type: typ, mem: m}, nil
}

// Hold keeps the memory of a tensor until it is released as often as it was held.
func (t *Tensor) Hold() { t.mem.refs++ }

// Release takes the memory of a tensor back after its last holder.
func (p *Pool) Release(t *Tensor) {
	if t.mem.refs--; t.mem.refs == 0 && t.mem.own {
		p.give(t.mem)
	}
}

// Reclaim takes the memory of a new tensor back that nobody holds.
func (p *Pool) Reclaim(t *Tensor) {
	if t.mem.refs == 0 {
		p.give(t.mem)
	}
}

// Peak is the most bytes that were in use at once, Held those in use or kept, Limit the most that these may be.
func (p *Pool) Peak() int64 { return p.peak }

// Held is how many bytes the pool has, in use or not; Live how many of them tensors use; Limit the most that it takes.
func (p *Pool) Held() int64  { return p.held }
func (p *Pool) Live() int64  { return p.live }
func (p *Pool) Limit() int64 { return p.most }

// take returns memory for n values, whose content is undefined.
func (p *Pool) take(n int, float bool) (*memory, error) {
	kept, bytes := p.ints, 8*int64(n)
	if float {
		kept, bytes = p.floats, 4*int64(n)
	}
	if list := kept[n]; len(list) > 0 {
		m := list[len(list)-1]
		kept[n] = list[:len(list)-1]
		p.live += bytes
		p.peak = max(p.peak, p.live)
		m.refs = 0
		return m, nil
	}
	if p.held+bytes > p.most {
		p.Empty()
	}
	if p.held+bytes > p.most {
		return nil, &budget.Error{What: "the values that the model computes from one input", Need: p.held + bytes,
			Limit: p.most}
	}
	p.live, p.held = p.live+bytes, p.held+bytes
	p.peak = max(p.peak, p.live)
	m := &memory{own: true}
	if float {
		m.floats = make([]float32, n)
	} else {
		m.ints = make([]int64, n)
	}
	return m, nil
}

// give takes memory back.
func (p *Pool) give(m *memory) {
	if m.floats != nil {
		p.live -= 4 * int64(len(m.floats))
		p.floats[len(m.floats)] = append(p.floats[len(m.floats)], m)
		return
	}
	p.live -= 8 * int64(len(m.ints))
	p.ints[len(m.ints)] = append(p.ints[len(m.ints)], m)
}
