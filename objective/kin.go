package objective

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/pair"
)

// Relation names the way labels make pairs, as written in configurations.
// Options.Kin implements it.
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
// Step, is the fine one, and coarse gives the class above it. Samples with the
// same coarse but different fine labels are positives, those with the same fine
// label are neither positive nor negative, and all others are negatives.
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
