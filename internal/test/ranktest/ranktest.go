// Package ranktest connects goroutines as the ranks of one training, for tests of
// trainings on several processes.
package ranktest

import (
	"errors"
	"slices"
)

// Rank is one of several connected ranks. It implements train.Ranks.
type Rank struct {
	// Fail, if set, is the error of every exchange.
	Fail error

	rank, size int
	values     [][]chan []float32 // from, to
	parts      [][]chan []byte
}

// New makes connected ranks.
func New(size int) []*Rank {
	values, parts := make([][]chan []float32, size), make([][]chan []byte, size)
	for i := range size {
		for range size {
			values[i] = append(values[i], make(chan []float32))
			parts[i] = append(parts[i], make(chan []byte, 1))
		}
	}
	all := make([]*Rank, size)
	for i := range all {
		all[i] = &Rank{rank: i, size: size, values: values, parts: parts}
	}
	return all
}

// Rank returns the number of this rank.
func (r *Rank) Rank() int { return r.rank }

// Size returns the number of ranks.
func (r *Rank) Size() int { return r.size }

// AllGather gives every rank the parts of all ranks.
func (r *Rank) AllGather(part []byte) ([][]byte, error) {
	if r.Fail != nil {
		return nil, r.Fail
	}
	for to := range r.size {
		r.parts[r.rank][to] <- slices.Clone(part)
	}
	all := make([][]byte, r.size)
	for from := range all {
		all[from] = <-r.parts[from][r.rank]
	}
	return all, nil
}

// Send waits until the rank has received x.
func (r *Rank) Send(to int, x []float32) error {
	r.values[r.rank][to] <- slices.Clone(x)
	return nil
}

// Receive fills x with the values that a rank sends.
func (r *Rank) Receive(from int, x []float32) error {
	if got := <-r.values[from][r.rank]; copy(x, got) != len(got) || len(got) != len(x) {
		return errors.New("the number of sent values differs")
	}
	return nil
}

// Broadcast copies the x of rank 0 to all ranks.
func (r *Rank) Broadcast(x []float32) error {
	if r.rank > 0 {
		return r.Receive(0, x)
	}
	for to := 1; to < r.size; to++ {
		if err := r.Send(to, x); err != nil {
			return err
		}
	}
	return nil
}
