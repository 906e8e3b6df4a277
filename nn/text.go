package nn

import "github.com/kindred-ml/kindred/internal/base/enum"

// MarshalText returns the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return enum.MarshalText("kind", k, Kinds()) }

// UnmarshalText sets the kind by name. The error of an unknown name lists the
// known ones, or the one that is probably meant.
func (k *Kind) UnmarshalText(text []byte) error { return enum.UnmarshalText("kind", k, text, Kinds()) }

// MarshalText returns the start's name.
func (i Init) MarshalText() ([]byte, error) { return enum.MarshalText("init", i, inits()) }

// UnmarshalText sets the start by name; "" is the default.
func (i *Init) UnmarshalText(text []byte) error { return enum.UnmarshalText("init", i, text, inits()) }
