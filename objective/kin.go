package objective

import "github.com/kindred-ml/kindred/pair"

// SharesLabel makes a relation for samples with several labels: a label, as
// given to Step, is an index into sets, and two samples are positives if their
// sets have a label in common.
func SharesLabel(sets [][]int64) func(a, b int64) pair.Kin {
	return func(a, b int64) pair.Kin {
		for _, x := range sets[a] {
			for _, y := range sets[b] {
				if x == y {
					return pair.Positive
				}
			}
		}
		return pair.Negative
	}
}

// CoarseNotFine makes a relation for hierarchical labels: a label, as given to
// Step, is the fine one, of which coarse is the class above. Samples of the
// same coarse and different fine label are positives, those of the same fine
// label neither positive nor negative, all others negative.
func CoarseNotFine(coarse func(fine int64) int64) func(a, b int64) pair.Kin {
	return func(a, b int64) pair.Kin {
		switch {
		case a == b:
			return pair.Ignored
		case coarse(a) == coarse(b):
			return pair.Positive
		}
		return pair.Negative
	}
}
