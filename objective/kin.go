package objective

import (
	"fmt"

	"github.com/kindred-ml/kindred/pair"
)

// Relation names how labels make pairs, as configurations do. Options.Kin does
// what it says.
type Relation uint8

// The relations.
const (
	// Equal: samples of equal label are positives, others negatives.
	Equal Relation = iota
	// SharedLabel is that of SharesLabel.
	SharedLabel
	// CoarseOnly is that of CoarseNotFine.
	CoarseOnly
)

var relationNames = [...]string{"equal", "shares-label", "coarse-not-fine"}

// RelationNames returns the names of the relations.
func RelationNames() []string { return append([]string(nil), relationNames[:]...) }

func (r Relation) String() string {
	if int(r) < len(relationNames) {
		return relationNames[r]
	}
	return fmt.Sprintf("Relation(%d)", uint8(r))
}

// ParseRelation returns the relation of that name.
func ParseRelation(name string) (Relation, bool) {
	for k, s := range relationNames {
		if s == name {
			return Relation(k), true
		}
	}
	return 0, false
}

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
