package pair

import "github.com/kindred-ml/kindred/internal/base/enum"

// Relation is what a reference is to an anchor.
type Relation uint8

// The relations of a reference to an anchor. Ignored pairs are neither
// positive nor negative.
const (
	Negative Relation = iota
	Positive
	Ignored
)

var relationNames = enum.New[Relation]("Relation", "relation", "negative", "positive", "ignored")

func (r Relation) String() string { return relationNames.Name(r) }

// MarshalText returns the relation's name.
func (r Relation) MarshalText() ([]byte, error) { return relationNames.Marshal(r) }

// UnmarshalText reads a name.
func (r *Relation) UnmarshalText(text []byte) error { return relationNames.Unmarshal(r, text) }
