package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/app/remote/weights"
	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/budget"
)

// AddGlobals adds the flags of every command to those of a program.
func AddGlobals(fs *pflag.FlagSet, json *bool, seed *uint64) {
	fs.BoolVar(json, "json", false, "print one JSON document on standard output; progress goes to standard error")
	fs.Uint64Var(seed, "seed", 1, "seed for everything random; the same seed gives the same bits")
	fs.Var(&memoryFlag{}, "memory", "most memory that a file or a setting may ask for, such as 4GiB (default "+
		"GOMEMLIMIT, else half of the machine's memory)")
}

// DataDir is the flag of AddDataDir.
const DataDir = "data-dir"

// AddDataDir adds the flag that says where the data sets known by name are.
func AddDataDir(fs *pflag.FlagSet, dir *string) {
	fs.StringVar(dir, DataDir, "", "folder with the data sets known by name; default $"+data.EnvHome+
		", else one in the user's cache")
}

// AddWeightsDir adds the flag that says where pretrained networks are.
func AddWeightsDir(fs *pflag.FlagSet, dir *string) {
	fs.StringVar(dir, "weights-dir", "", "folder with pretrained networks; default $"+weights.EnvHome+
		", else one in the user's cache")
}

// AddOutside adds the flag of data.OpenOptions.Outside.
func AddOutside(fs *pflag.FlagSet, outside *bool) {
	fs.BoolVar(outside, "allow-outside", false, "let a manifest or list name images outside its folder")
}

// AddStrict adds the flag of commands that read pictures.
func AddStrict(fs *pflag.FlagSet, strict *bool) {
	fs.BoolVar(strict, "strict", false, "end at the first picture that cannot be read or has no label where others "+
		"have one; otherwise such pictures are left out, counted and named")
}

// AddStrictRows adds the flag of commands that read tables with labels.
func AddStrictRows(fs *pflag.FlagSet, strict *bool) {
	fs.BoolVar(strict, "strict", false,
		"fail if a row has no label; otherwise such rows are left out, counted and named")
}

// UsageError marks a mistake in how a command was called: an unknown flag or key, a bad
// value, a missing argument.
type UsageError struct{ Err error }

func (u UsageError) Error() string { return u.Err.Error() }
func (u UsageError) Unwrap() error { return u.Err }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// leastMemory is what a command needs before it reads anything, about.
const leastMemory = 16 << 20

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
	if n < leastMemory {
		return fmt.Errorf("%s is less than kindred itself needs; give a unit, as in 4GiB", budget.Format(n))
	}
	f.text = text
	debug.SetMemoryLimit(n)
	return nil
}
