package nn

import (
	"slices"

	"github.com/kindred-ml/kindred/internal/spell"
)

// MarshalText returns the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return writeName("kind", k, Kinds()) }

// UnmarshalText sets the kind by name. An unknown one is an error that lists
// those there are, or the one that is probably meant.
func (k *Kind) UnmarshalText(text []byte) error { return readName("kind", k, text, Kinds()) }

// MarshalText returns the start's name.
func (i Init) MarshalText() ([]byte, error) { return writeName("init", i, inits()) }

// UnmarshalText sets the start by name; "" is the default.
func (i *Init) UnmarshalText(text []byte) error { return readName("init", i, text, inits()) }

// MarshalText returns the stem's name.
func (s Stem) MarshalText() ([]byte, error) { return writeName("stem", s, stems()) }

// UnmarshalText sets the stem by name; "" is chosen by the image's size.
func (s *Stem) UnmarshalText(text []byte) error { return readName("stem", s, text, stems()) }

// MarshalText returns the pool's name.
func (p Pool) MarshalText() ([]byte, error) { return writeName("pool", p, pools()) }

// UnmarshalText sets the pool by name; "" is the network's own.
func (p *Pool) UnmarshalText(text []byte) error { return readName("pool", p, text, pools()) }

// MarshalText returns the name of the way.
func (r Resample) MarshalText() ([]byte, error) { return writeName("resampling", r, resamples()) }

// UnmarshalText sets the way by name; "" is timm's.
func (r *Resample) UnmarshalText(text []byte) error {
	return readName("resampling", r, text, resamples())
}

func writeName[T ~string](what string, v T, known []T) ([]byte, error) {
	return []byte(v), checkName(what, v, known)
}

func readName[T ~string](what string, v *T, text []byte, known []T) error {
	if err := checkName(what, T(text), known); err != nil {
		return err
	}
	*v = T(text)
	return nil
}

// checkName reports a name that is none of those known, the nearest and all of
// them. "" is not listed.
func checkName[T ~string](what string, v T, known []T) error {
	if slices.Contains(known, v) {
		return nil
	}
	var names []string
	for _, k := range known {
		if k != "" {
			names = append(names, string(k))
		}
	}
	_, err := spell.Index(what, string(v), names)
	return err
}
