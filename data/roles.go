package data

import (
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/layout"
)

// Split is the set of roles of a sample. Its text form lists them: "train", "test", "query",
// "gallery", "train+test", "none".
type Split uint8

// Roles. A test sample of an ordinary split is both query and gallery.
const (
	Train   = Split(layout.Train)
	Query   = Split(layout.Query)
	Gallery = Split(layout.Gallery)
	Test    = Query | Gallery
)

// roleNames returns the names in the order of the text form. Test means both query and gallery.
func roleNames() []struct {
	name string
	role Split
} {
	return []struct {
		name string
		role Split
	}{{"train", Train}, {"test", Test}, {"query", Query}, {"gallery", Gallery}}
}

// String returns the text form of s.
func (s Split) String() string {
	if s == 0 {
		return "none"
	}
	var parts []string
	for _, r := range roleNames() {
		if s&r.role == r.role {
			parts = append(parts, r.name)
			s &^= r.role
		}
	}
	if s != 0 {
		parts = append(parts, fmt.Sprintf("Split(%d)", uint8(s)))
	}
	return strings.Join(parts, "+")
}

// MarshalText returns the text form of s.
func (s Split) MarshalText() ([]byte, error) {
	if s&^(Train|Test) != 0 {
		return nil, fmt.Errorf("%s has no name", s)
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads the text of a Split.
func (s *Split) UnmarshalText(text []byte) error {
	var out Split
	if string(text) != "none" {
		for name := range strings.SplitSeq(string(text), "+") {
			role, err := parseRole(name)
			if err != nil {
				return err
			}
			out |= role
		}
	}
	*s = out
	return nil
}

func parseRole(name string) (Split, error) {
	for _, r := range roleNames() {
		if r.name == name {
			return r.role, nil
		}
	}
	return 0, fmt.Errorf("unknown role %q: must be none, train, test, query or gallery", name)
}
