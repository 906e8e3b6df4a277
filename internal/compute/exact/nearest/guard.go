package nearest

import "github.com/kindred-ml/kindred/internal/compute/exact/quantized"

// Guard checks that rows in a file are as they were written. It is asked about rows
// before they count, by several goroutines, and may remember its answers.
type Guard interface {
	// Codes checks the codes of a block, Rows the rows lo..hi-1 themselves.
	Codes(block int) error
	Rows(lo, hi int) error
}

// isIntact reports whether the codes of a block are intact. If not, the queries fail.
func (s *scan) isIntact(block int, which []int) bool {
	if s.part.Guard == nil {
		return true
	}
	var err error
	if s.placed.kind == quantized.Float32 {
		err = s.part.Guard.Rows(block*Block, min((block+1)*Block, s.part.Codes.Rows))
	} else {
		err = s.part.Guard.Codes(block)
	}
	if err != nil {
		for _, i := range which {
			s.placed.places[i].query.fail(err)
		}
	}
	return err == nil
}

// fail notes why the query has no answer.
func (q *Query) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.Err == nil {
		q.Err = err
	}
}
