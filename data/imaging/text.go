package imaging

import (
	"fmt"
	"slices"
	"strings"
)

// nameOf names a value of an enumeration, also one that is none of its.
func nameOf(typ string, i int, names []string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", typ, i)
}

func marshal(typ string, i int, names []string) ([]byte, error) {
	if i >= len(names) {
		return nil, fmt.Errorf("%s has no name", nameOf(typ, i, names))
	}
	return []byte(names[i]), nil
}

// unmarshal finds the value called text; what says what it is, for the error.
func unmarshal(what, text string, names []string) (int, error) {
	if i := slices.Index(names, text); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("unknown %s %q; known: %s", what, text, strings.Join(names, ", "))
}
