package pair

import "github.com/kindred-ml/kindred/internal/base/spell"

// Relation is what a reference is to an anchor.
type Relation uint8

// The relations of a reference to an anchor. Ignored pairs are neither
// positive nor negative.
const (
	Negative Relation = iota
	Positive
	Ignored
)

var relationNames = [...]string{"negative", "positive", "ignored"}

func (r Relation) String() string { return spell.Name("Relation", int(r), relationNames[:]) }

// MarshalText returns the relation's name.
func (r Relation) MarshalText() ([]byte, error) {
	return spell.Text("relation", int(r), relationNames[:])
}

// UnmarshalText reads a name.
func (r *Relation) UnmarshalText(text []byte) error {
	return spell.Set("relation", r, text, relationNames[:])
}
