package enum

import "slices"

// Check returns an error for an unknown name, with the nearest and all known names
// except "".
func Check[T ~string](what string, v T, known []T) error {
	if slices.Contains(known, v) {
		return nil
	}
	var names []string
	for _, k := range known {
		if k != "" {
			names = append(names, string(k))
		}
	}
	_, err := Index(what, string(v), names)
	return err
}

// MarshalText returns a name that is known, as MarshalText methods do.
func MarshalText[T ~string](what string, v T, known []T) ([]byte, error) {
	return []byte(v), Check(what, v, known)
}

// UnmarshalText sets a name that is known, as UnmarshalText methods do.
func UnmarshalText[T ~string](what string, v *T, text []byte, known []T) error {
	if err := Check(what, T(text), known); err != nil {
		return err
	}
	*v = T(text)
	return nil
}
