package objective

import (
	"fmt"
	"iter"
	"slices"

	"github.com/kindred-ml/kindred/internal/compute/pair"
	"github.com/kindred-ml/kindred/matrix"
)

// Selection holds the positives and negatives chosen for one anchor.
type Selection struct {
	Pos, Neg []int32
	// Paired: Neg[k] was chosen for Pos[k], -1 if there was no candidate.
	// Otherwise every positive is combined with every negative.
	Paired bool
	// All: all negatives were chosen; Neg is empty. Select lists them instead.
	All bool
	// NoCandidate counts the positives for which the negative policy found no
	// negative. An anchor without a semi-hard positive adds one, and so does a side
	// that a range leaves empty. Fallback counts the positives for which the policy
	// fell back to another one.
	NoCandidate, Fallback int
}

// Tuples yields the positive and the negative of each triplet of the anchor. It
// yields none if All is set.
func (s *Selection) Tuples() iter.Seq2[int32, int32] {
	return func(yield func(p, n int32) bool) {
		for k, p := range s.Pos {
			if s.Paired {
				if k < len(s.Neg) && s.Neg[k] >= 0 && !yield(p, s.Neg[k]) {
					return
				}
				continue
			}
			for _, n := range s.Neg {
				if !yield(p, n) {
					return
				}
			}
		}
	}
}

// blockPairs is how many similarities Select holds at a time.
const blockPairs = 1 << 24

// SelectTuples chooses positives and negatives for every row of e (n x d) among the
// others, as a miner does in its first step; labels has the label of each row. Rows
// are compared as they are: divide them by their norms first if the loss does.
//
// A row that is not finite is an error that names the row; so is a configuration
// that Config.Check refuses. Select panics if labels and rows differ in number.
func SelectTuples(e *matrix.Dense, labels []int64, cfg MiningConfig) ([]Selection, error) {
	if len(labels) != e.Rows {
		panic(fmt.Sprintf("objective: %d labels for %d embeddings", len(labels), e.Rows))
	}
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	var rows pair.Rows
	if err := rows.Set(e, false); err != nil {
		return nil, err
	}
	t := &pair.Table{A: &rows, R: &rows}
	t.Groups.Build(labels, labels, true)
	m := newMiner(cfg)
	m.Begin(t, 0)
	var s minerScratch
	out := make([]Selection, e.Rows)
	block := max(1, blockPairs/max(1, e.Rows))
	for lo := 0; lo < e.Rows; lo += block {
		t.Load(lo, min(lo+block, e.Rows))
		for i := lo; i < min(lo+block, e.Rows); i++ {
			sel := *m.Mine(i, &s)
			sel.Pos, sel.Neg = slices.Clone(sel.Pos), slices.Clone(sel.Neg)
			if sel.All {
				sel.All, sel.Neg = false, t.NegativeIndices(i, nil)
			}
			out[i] = sel
		}
	}
	return out, nil
}
