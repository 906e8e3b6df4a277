package spell

import (
	"fmt"
	"slices"
	"strings"
)

// Suggest returns the remark ` (did you mean "x"?)` for the entry of names
// nearest to word, or nothing if none is near.
func Suggest(word string, names []string) string {
	best, at := len(word)/2+2, ""
	for _, n := range names {
		if d := Distance(word, n); d < best {
			best, at = d, n
		}
	}
	if at == "" {
		return ""
	}
	return Meant(at)
}

// Meant is the remark of Suggest for a name that is known to be near.
func Meant(name string) string { return fmt.Sprintf(" (did you mean %q?)", name) }

// Index returns the place of a name in a list. The error for an unknown name
// lists the names and suggests the nearest; what says what they name.
func Index(what, name string, names []string) (int, error) {
	k := slices.Index(names, name)
	if k < 0 {
		return 0, fmt.Errorf("unknown %s %q%s; there are %s", what, name, Suggest(name, names),
			strings.Join(names, ", "))
	}
	return k, nil
}

// Name returns the k-th name, or the type and number of a value that has none.
func Name(typ string, k int, names []string) string {
	if k < 0 || k >= len(names) {
		return fmt.Sprintf("%s(%d)", typ, k)
	}
	return names[k]
}

// Text returns the k-th name, as MarshalText methods do.
func Text(what string, k int, names []string) ([]byte, error) {
	if k < 0 || k >= len(names) {
		return nil, fmt.Errorf("there is no %s number %d", what, k)
	}
	return []byte(names[k]), nil
}

// Set sets a value to the number of its name in a list, as UnmarshalText methods do.
func Set[T ~int | ~uint8](what string, v *T, text []byte, names []string) error {
	k, err := Index(what, string(text), names)
	if err == nil {
		*v = T(k)
	}
	return err
}
