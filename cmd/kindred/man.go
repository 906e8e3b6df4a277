package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
)

// newMan returns the command that writes the manual pages of a release. It is
// for packagers and hidden from the help.
func newMan(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:               "man DIR",
		ValidArgsFunction: complete.One(complete.Folders),
		Short:             "Write manual pages (section 1) of all commands into a folder",
		Hidden:            true,
		Args:              exactArgs("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // no line with the day of generation
			// The date is SOURCE_DATE_EPOCH's if that is set, as a release does.
			header := &doc.GenManHeader{Title: "KINDRED", Section: "1", Source: "kindred"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return err
			}
			pages, err := os.ReadDir(args[0])
			if err != nil {
				return err
			}
			return a.PrintResultf(map[string]any{"dir": args[0], "pages": len(pages)},
				"%d pages in %s\n", len(pages), args[0])
		},
	}
}
