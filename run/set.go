package run

import (
	"fmt"
	"strings"
)

// Set is a set of samples that a run scores and whose embeddings it keeps. Its
// text is its name.
type Set int

// The sets.
const (
	TestSet       Set = iota // the queries of the test split
	SeenSet                  // test samples of the classes that were trained on
	TrainSet                 // training samples, as many as eval.train asks for
	GallerySet               // the gallery of the test split, where it is not the queries
	ValidationSet            // samples held back from training, to choose the best epoch
)

var setNames = [...]string{TestSet: "test", SeenSet: "seen", TrainSet: "train", GallerySet: "gallery",
	ValidationSet: "validation"}

// Sets lists all sets.
func Sets() []Set { return []Set{TestSet, SeenSet, TrainSet, GallerySet, ValidationSet} }

// ParseSet returns the set with a name.
func ParseSet(name string) (Set, error) {
	for i, n := range setNames {
		if n == name {
			return Set(i), nil
		}
	}
	return 0, fmt.Errorf("unknown set of samples %q; there are %s", name, strings.Join(setNames[:], ", "))
}

// String returns the set's name.
func (s Set) String() string {
	if s < 0 || int(s) >= len(setNames) {
		return fmt.Sprintf("Set(%d)", int(s))
	}
	return setNames[s]
}

// MarshalText returns the set's name.
func (s Set) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText sets the set by name.
func (s *Set) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSet(string(text))
	return err
}

// prefix begins the names of the set's files at the end of a run.
func (s Set) prefix() string {
	if s == TestSet {
		return ""
	}
	return s.String() + "_"
}
