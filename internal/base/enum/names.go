package enum

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
		if d := EditDistance(word, n); d < best {
			best, at = d, n
		}
	}
	if at == "" {
		return ""
	}
	return DidYouMean(at)
}

// DidYouMean is the remark of Suggest for a given name.
func DidYouMean(name string) string { return fmt.Sprintf(" (did you mean %q?)", name) }

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

// Names are the names of the values 0, 1, 2 and so on of a type. Type is the name of the type in
// Go, What its name in messages.
type Names[T ~int | ~uint8] struct {
	Type, What string
	List       []string
}

// New are the names of the values of a type.
func New[T ~int | ~uint8](typ, what string, names ...string) *Names[T] {
	return &Names[T]{typ, what, names}
}

// Name returns the name of a value, or the type and number of one that has none.
func (n *Names[T]) Name(v T) string {
	if int(v) < 0 || int(v) >= len(n.List) {
		return fmt.Sprintf("%s(%d)", n.Type, int(v))
	}
	return n.List[v]
}

// Marshal returns the name of a value, as MarshalText methods do.
func (n *Names[T]) Marshal(v T) ([]byte, error) {
	if int(v) < 0 || int(v) >= len(n.List) {
		return nil, fmt.Errorf("there is no %s number %d", n.What, int(v))
	}
	return []byte(n.List[v]), nil
}

// Parse returns the value with a name. The error for an unknown name lists the names and
// suggests the nearest.
func (n *Names[T]) Parse(name string) (T, error) {
	k, err := Index(n.What, name, n.List)
	return T(k), err
}

// Unmarshal sets a value to that with a name, as UnmarshalText methods do.
func (n *Names[T]) Unmarshal(v *T, text []byte) error {
	got, err := n.Parse(string(text))
	if err == nil {
		*v = got
	}
	return err
}
