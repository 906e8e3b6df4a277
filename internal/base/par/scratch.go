package par

import "sync"

// Scratch is a stack of slices for tasks that run at the same time: each takes
// one and puts it back. The zero value is an empty stack. After as many slices
// as there are workers, of the largest size asked for, it allocates no more.
type Scratch struct {
	mu   sync.Mutex
	free [][]float32
}

// Get returns a slice of n values with unknown content.
func (s *Scratch) Get(n int) []float32 {
	s.mu.Lock()
	var v []float32
	if last := len(s.free) - 1; last >= 0 {
		v = s.free[last]
		s.free = s.free[:last]
	}
	s.mu.Unlock()
	return Grow(v, n)
}

// Put gives a slice back.
func (s *Scratch) Put(v []float32) {
	s.mu.Lock()
	s.free = append(s.free, v)
	s.mu.Unlock()
}

// Grow returns a slice of n values with unknown content, in v's memory if that
// is large enough.
func Grow(v []float32, n int) []float32 {
	if cap(v) < n {
		return make([]float32, n)
	}
	return v[:n]
}
