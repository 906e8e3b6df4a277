// Package ranktest connects goroutines as the ranks of one training, for tests of what
// processes do together.
package ranktest

import (
	"errors"
	"slices"
)

// Rank is one of several that can speak to each other; it is a train.Ranks.
type Rank struct {
	// Fail, if set, is the error of every exchange.
	Fail error

	rank, size int
	values     [][]chan []float32 // from, to
	parts      [][]chan []byte
}

// New makes so many ranks.
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

// Rank is which of the ranks this is.
func (r *Rank) Rank() int { return r.rank }

// Size is how many ranks there are.
func (r *Rank) Size() int { return r.size }

// All hands out a part of each rank to all.
func (r *Rank) All(part []byte) ([][]byte, error) {
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

// Receive fills x with what a rank sends.
func (r *Rank) Receive(from int, x []float32) error {
	if got := <-r.values[from][r.rank]; copy(x, got) != len(got) || len(got) != len(x) {
		return errors.New("another number of values was sent")
	}
	return nil
}

// Spread makes x of all ranks that of rank 0.
func (r *Rank) Spread(x []float32) error {
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
