package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// flagRule says whether some flags apply to what a command works on. A command need not have all the flags.
type flagRule struct {
	flags       string // separated by blanks
	applies     bool
	requirement string // flags: one of them must be given too; "" if no further flag is needed
	reason      string // reason why the flags do not apply, or need another
}

// The reasons that several rules share.
const (
	reasonOwnLabels = "it names the labels of a file of embeddings"
	reasonDataset   = "it controls how a data set of photos is opened"
	reasonTrains    = "it trains a run again: give the folder of a run"
	reasonFile      = "it accepts a file of embeddings of another network"
)

// givenFlags reports whether a flag is on the command line, with a value.
func givenFlags(cmd *cobra.Command) func(name string) bool {
	return func(name string) bool {
		f := cmd.Flags().Lookup(name)
		return f != nil && f.Changed && f.Value.String() != ""
	}
}

// checkRules returns a usage error if a flag is given that does not apply to what the command works on.
func checkRules(cmd *cobra.Command, what string, rules ...flagRule) error {
	given := givenFlags(cmd)
	for _, r := range rules {
		needs := slices.DeleteFunc(strings.Fields(r.requirement), func(name string) bool {
			return cmd.Flags().Lookup(name) == nil
		})
		for name := range strings.FieldsSeq(r.flags) {
			switch {
			case !given(name):
			case !r.applies:
				return usageError(&option.InapplicableError{Setting: name, To: what, Reason: r.reason})
			case len(needs) > 0 && !slices.ContainsFunc(needs, given):
				return usageError(&option.InapplicableError{Setting: name, Needs: needs, Reason: r.reason})
			}
		}
	}
	return nil
}
