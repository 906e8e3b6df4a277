package cli

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/remote/weights"
	"github.com/kindred-ml/kindred/internal/base/budget"
)

// AddGlobals adds the flags that every command of a program has.
func AddGlobals(fs *pflag.FlagSet, json *bool, seed *uint64) {
	fs.BoolVar(json, "json", false, "print one JSON document on standard output; progress goes to standard error")
	fs.Uint64Var(seed, "seed", 1, "seed for everything random; the same seed gives the same bits")
	fs.Var(&memoryFlag{}, "memory", "most memory that a file or a setting may need, such as 4GiB (default "+
		"GOMEMLIMIT, else half of the machine's memory)")
}

// DataDir is the name of the flag of AddDataDir.
const DataDir = "data-dir"

// AddDataDir adds the flag for the folder of data sets by name.
func AddDataDir(fs *pflag.FlagSet, dir *string) {
	fs.StringVar(dir, DataDir, "", "folder of data sets by name; default $"+data.EnvHome+
		", else one in the user's cache")
}

// AddWeightsDir adds the flag for the folder of pretrained networks.
func AddWeightsDir(fs *pflag.FlagSet, dir *string) {
	fs.StringVar(dir, "weights-dir", "", "folder of pretrained networks; default $"+weights.EnvHome+
		", else one in the user's cache")
}

// AddOutside adds the flag of data.OpenOptions.Outside.
func AddOutside(fs *pflag.FlagSet, outside *bool) {
	fs.BoolVar(outside, "allow-outside", false, "allow a manifest or list to name images outside its folder")
}

// AddStrict adds the flag of commands that read pictures.
func AddStrict(fs *pflag.FlagSet, strict *bool) {
	fs.BoolVar(strict, "strict", false, "fail at the first picture that cannot be read or has no label where others "+
		"have one; otherwise such pictures are left out and listed")
}

// AddStrictRows adds the flag of commands that read tables with labels.
func AddStrictRows(fs *pflag.FlagSet, strict *bool) {
	fs.BoolVar(strict, "strict", false,
		"fail if a row has no label; otherwise such rows are left out and listed")
}

// UsageError marks a mistake in how a command was called: an unknown flag or key, a bad
// value, a missing argument.
type UsageError struct{ Err error }

func (u UsageError) Error() string { return u.Err.Error() }
func (u UsageError) Unwrap() error { return u.Err }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// FlagError is the UsageError of a flag that could not be read. It says in plain words what a flag of numbers takes.
func FlagError(err error) error {
	var value *pflag.InvalidValueError
	var number *strconv.NumError
	if !errors.As(err, &value) || !errors.As(err, &number) {
		return UsageError{err}
	}
	want := "a whole number"
	switch kind := value.GetFlag().Value.Type(); {
	case strings.HasSuffix(kind, "Slice"):
		want = "numbers with commas between them"
	case strings.HasPrefix(kind, "float"):
		want = "a number"
	case strings.HasPrefix(kind, "uint"):
		want = "a whole number from 0 on"
	}
	if errors.Is(number.Err, strconv.ErrRange) {
		want += " that is not so large"
	}
	return Usagef("--%s %q: want %s", value.GetFlag().Name, value.GetValue(), want)
}

// minMemory is about what a command needs before it reads anything.
const minMemory = 16 << 20

// memoryFlag is the flag --memory. It sets the runtime's soft memory limit,
// which is where package budget finds it.
type memoryFlag struct{ text string }

func (f *memoryFlag) String() string { return f.text }
func (f *memoryFlag) Type() string   { return "size" }

func (f *memoryFlag) Set(text string) error {
	n, err := budget.Parse(text)
	if err != nil {
		return err
	}
	if n < minMemory {
		return fmt.Errorf("%s is less than kindred itself needs (%s): give a unit, as in 4GiB", budget.Format(n),
			budget.Format(minMemory))
	}
	f.text = text
	debug.SetMemoryLimit(n)
	return nil
}
