package flags

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/base/option"
)

// Rule says whether some flags apply to what a command works on; see When.
type Rule struct {
	flags, requirement, reason string
	applies                    bool
}

// When returns the rule that the given flags, separated by blanks, apply only if applies is true, and only together
// with one of the flags of requirement; "" needs no further flag. reason says why a flag does not apply, or needs
// another. A command need not have all the flags.
func When(flags string, applies bool, requirement, reason string) Rule {
	return Rule{flags, requirement, reason, applies}
}

// The reasons that several rules share.
const (
	ReasonOwnLabels = "it names the labels of a file of embeddings"
	ReasonDataset   = "it controls how a data set of photos is opened"
	ReasonTrains    = "it trains a run again: give the folder of a run"
	ReasonFile      = "it accepts a file of embeddings of another network"
)

// Given reports whether a flag is on the command line, with a value.
func Given(cmd *cobra.Command) func(name string) bool {
	return func(name string) bool {
		f := cmd.Flags().Lookup(name)
		return f != nil && f.Changed && f.Value.String() != ""
	}
}

// Check returns a usage error if a flag is given that does not apply to what the command works on.
func Check(cmd *cobra.Command, what string, rules ...Rule) error {
	given := Given(cmd)
	for _, r := range rules {
		needs := slices.DeleteFunc(strings.Fields(r.requirement), func(name string) bool {
			return cmd.Flags().Lookup(name) == nil
		})
		for name := range strings.FieldsSeq(r.flags) {
			switch {
			case !given(name):
			case !r.applies:
				return cli.UsageError{Err: &option.InapplicableError{Setting: name, To: what, Reason: r.reason}}
			case len(needs) > 0 && !slices.ContainsFunc(needs, given):
				return cli.UsageError{Err: &option.InapplicableError{Setting: name, Needs: needs, Reason: r.reason}}
			}
		}
	}
	return nil
}
