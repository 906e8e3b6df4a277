package main

import (
	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/version"
)

// newVersionCommand returns kindred --version as a command, which is what many type first.
func newVersionCommand(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, commit, Go version and instruction set in use",
		Args:  exactArgs(),
		RunE:  func(*cobra.Command, []string) error { return printVersion(a) },
	}
}

func printVersion(a *console.Console) error {
	v := version.Current()
	return a.PrintResultf(v, "%s", v)
}
