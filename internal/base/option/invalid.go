package option

import (
	"errors"
	"fmt"
)

// InvalidError is the error for a setting with a wrong value.
type InvalidError struct {
	Setting string // name of the setting, as in Inapplicable
	Value   string
	Want    string // which values are allowed
}

// Error names the setting as a request does.
func (e *InvalidError) Error() string { return e.Named(func(setting string) string { return setting }) }

// Named is Error with another name for the setting.
func (e *InvalidError) Named(name func(setting string) string) string {
	return fmt.Sprintf("%s %s: want %s", name(e.Setting), e.Value, e.Want)
}

// MissingError is the error for a setting that is needed and not given.
type MissingError struct {
	Setting string // name of the setting, as in Inapplicable
	Reason  string // what it is needed for
}

// Error names the setting as a request does.
func (e *MissingError) Error() string { return e.Named(func(setting string) string { return setting }) }

// Named is Error with another name for the setting.
func (e *MissingError) Named(name func(setting string) string) string {
	return fmt.Sprintf("%s is missing: %s", name(e.Setting), e.Reason)
}

// IsUsage reports whether an error is an Inapplicable, an Invalid or a Missing: the user can correct a setting.
func IsUsage(err error) bool {
	return isA[*InapplicableError](err) || isA[*InvalidError](err) || isA[*MissingError](err)
}

func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}
