package objective

import (
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/compute/pair"
)

// Relation says whether a reference is a positive or a negative of an anchor.
type Relation uint8

// The relations. An ignored pair is neither positive nor negative.
const (
	Negative = Relation(pair.Negative)
	Positive = Relation(pair.Positive)
	Ignored  = Relation(pair.Ignored)
)

// String returns the relation's name: negative, positive or ignored.
func (r Relation) String() string { return pair.Relation(r).String() }

// MarshalText returns the relation's name.
func (r Relation) MarshalText() ([]byte, error) { return pair.Relation(r).MarshalText() }

// UnmarshalText reads a name.
func (r *Relation) UnmarshalText(text []byte) error { return (*pair.Relation)(r).UnmarshalText(text) }

// RelationRule names a rule by which labels relate samples, for configurations.
// Options.Relate implements it.
type RelationRule uint8

// The rules.
const (
	// EqualLabel: samples of equal label are positives, others negatives.
	EqualLabel RelationRule = iota
	// SharedLabel is the rule of SharesLabel.
	SharedLabel
	// CoarseOnly is the rule of CoarseNotFine.
	CoarseOnly
)

var relationRuleNames = enum.New[RelationRule]("RelationRule", "relation", "equal", "shares-label", "coarse-not-fine")

// RelationRuleNames returns the names of the rules.
func RelationRuleNames() []string { return append([]string(nil), relationRuleNames.List...) }

// ParseRelationRule returns the rule of that name.
func ParseRelationRule(name string) (RelationRule, error) { return relationRuleNames.Parse(name) }

func (r RelationRule) String() string { return relationRuleNames.Name(r) }

// MarshalText returns the rule's name.
func (r RelationRule) MarshalText() ([]byte, error) { return relationRuleNames.Marshal(r) }

// UnmarshalText reads a name.
func (r *RelationRule) UnmarshalText(text []byte) error { return relationRuleNames.Unmarshal(r, text) }

// SharesLabel makes a relation for samples with several labels: a label, as
// given to Step, is an index into sets, and two samples are positives if their
// sets have a label in common.
func SharesLabel(sets [][]int64) func(a, b int64) Relation {
	return func(a, b int64) Relation {
		for _, x := range sets[a] {
			for _, y := range sets[b] {
				if x == y {
					return Positive
				}
			}
		}
		return Negative
	}
}

// CoarseNotFine makes a relation for hierarchical labels: a label, as given to
// Step, is the fine one, and coarse gives the class above it. Samples with the
// same coarse but different fine labels are positives, those with the same fine
// label are neither positive nor negative, and all others are negatives.
func CoarseNotFine(coarse func(fine int64) int64) func(a, b int64) Relation {
	return func(a, b int64) Relation {
		switch {
		case a == b:
			return Ignored
		case coarse(a) == coarse(b):
			return Positive
		}
		return Negative
	}
}
