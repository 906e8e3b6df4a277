package option

import (
	"errors"
	"fmt"
	"strings"
)

// An Option is the name of a field that a user of the library sets, as pkg.Type.Field,
// or of an argument, as pkg.Func.arg.
type Option string

// WithValue is the option with a value that a command line writes after the flag. In the
// library's message the value appears elsewhere.
func (o Option) WithValue(value string) OptionValue { return OptionValue{o, value} }

// OptionValue is an option with a value.
type OptionValue struct {
	Option
	Value string
}

// String is the option without the value.
func (g OptionValue) String() string { return string(g.Option) }

// Errorf is fmt.Errorf for an error that names options, which are given as arguments.
// Its message has the library's names; Text replaces them.
func Errorf(format string, args ...any) error {
	return &named{fmt.Errorf(format, args...), format, args}
}

type named struct {
	error
	format string
	args   []any
}

func (e *named) Unwrap() error { return e.error }

// Named returns the message with other names for its options and those of the errors that it wraps.
func (e *named) Named(name func(option string) string) string {
	args := make([]any, len(e.args))
	for i, a := range e.args {
		switch a := a.(type) {
		case OptionValue:
			args[i] = name(string(a.Option)) + " " + a.Value
		case Option:
			args[i] = name(string(a))
		case error:
			args[i] = errors.New(Text(a, name))
		default:
			args[i] = a
		}
	}
	return fmt.Errorf(e.format, args...).Error()
}

// Text is the message of err, with every option that it or a wrapped error names replaced by name(option). An error
// that has no method Named must end with the message of the error that it wraps, as those of fmt.Errorf("x: %w"), or
// have a line for each, as those of errors.Join. One that continues after that message is made by Errorf: package fmt
// does not keep where it was.
func Text(err error, name func(option string) string) string {
	text := err.Error()
	switch e := err.(type) {
	case interface {
		Named(name func(option string) string) string
	}:
		return e.Named(name)
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			if context, ok := strings.CutSuffix(text, inner.Error()); ok {
				return context + Text(inner, name)
			}
		}
	case interface{ Unwrap() []error }:
		if joined := errors.Join(e.Unwrap()...); joined != nil && joined.Error() == text {
			var lines []string
			for _, inner := range e.Unwrap() {
				lines = append(lines, Text(inner, name))
			}
			return strings.Join(lines, "\n")
		}
	}
	return text
}

// Override is the word in errors for a setting that was given besides a configuration's
// text.
const Override = "override"
