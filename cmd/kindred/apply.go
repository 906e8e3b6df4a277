package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/itemsource"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/serve"
)

type applyFlags struct {
	script, index, prefix string
	dry                   bool
}

func newApply(a *console.Console) *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:               "apply REVIEW",
		ValidArgsFunction: complete.One(complete.Folders),
		Short:             "Apply the decisions of a review to the folder of photos or to an index",
		Long: `apply reads the page of kindred clean or kindred discover in the folder REVIEW and the
decisions that 'kindred serve --review REVIEW' has kept there.

--script writes a script for sh that moves the photos: PLACE/CLASS/FILE to
PLACE/LABEL/FILE, and dropped photos to PLACE.dropped/CLASS/FILE. Nothing is moved before
you run it. It overwrites no file. A photo whose folder is not its label is an error; the
page's manifest.csv serves such sets.

--index gives the items of an index the decided labels, and removes the dropped ones, in
one change. Items that the index does not have, and items with another label than the
reviewed one, stay as they are and are listed.`,
		Example: `  kindred apply suspects --script moves.sh
  kindred apply suspects --index photos.index --dry-run
  kindred apply suspects --index photos.index`,
		Args: exactArgs("review"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, cmd, args[0]) },
	}
	fs := flags.New(cmd)
	fs.Text(&f.script, "script", "", "file for the script (.sh), or - for standard output", complete.Files)
	fs.Text(&f.index, "index", "", "folder of the index to change", complete.Folders)
	fs.Text(&f.prefix, "prefix", "", "beginning of the ids in the index, before the photos' names", complete.Nothing)
	fs.BoolVar(&f.dry, "dry-run", false, "with --index: print the changes, and make none")
	return cmd
}

func (f *applyFlags) run(ctx context.Context, a *console.Console, cmd *cobra.Command, dir string) error {
	if (f.script == "") == (f.index == "") {
		return cli.Usagef("give --script, to move photos, or --index, to change an index")
	}
	if f.script != "" {
		if err := flags.Check(cmd, "a script", flags.When("prefix dry-run", false, "",
			"it changes an index")); err != nil {
			return err
		}
	}
	page, err := review.Read(dir)
	if err != nil {
		return err
	}
	decisions, err := serve.ReadDecisions(dir)
	if err != nil {
		return err
	}
	of, err := itemsource.NewCorrections(page, &decisions)
	if err != nil {
		return fmt.Errorf("%s: %w", page.File, err)
	}
	fmt.Fprintf(a.Err, "%s of %d decided, %s to change\n", enum.Count(len(decisions.Done), "card"), page.Cards,
		enum.Count(len(of), "item"))
	if f.script != "" {
		return f.writeScript(a, of)
	}
	if f.dry {
		x, err := inputs.ReadIndex(a, f.index)
		if err != nil {
			return err
		}
		defer x.Close()
		return f.change(ctx, a, x, of)
	}
	return inputs.ChangeIndex(f.index, func(x *index.Index) error { return f.change(ctx, a, x, of) })
}

func (f *applyFlags) writeScript(a *console.Console, of []itemsource.Correction) error {
	moves, err := itemsource.PlanMoves(of)
	if err != nil {
		return err
	}
	if err := outputs.WriteFile(a, f.script, func(w io.Writer) error {
		return itemsource.WriteScript(w,
			moves)
	}); err != nil ||
		outputs.IsStdout(f.script) {
		return err
	}
	return a.PrintResultf(map[string]any{"script": f.script, "moves": len(moves)},
		"%s: %s; read it, then run: %s\n", f.script, enum.Count(len(moves), "move"), escape.Command("sh", f.script))
}

func (f *applyFlags) change(ctx context.Context, a *console.Console, x *index.Index, of []itemsource.Correction) error {
	done, err := itemsource.Apply(ctx, x, of, f.prefix, f.dry)
	if err != nil {
		return err
	}
	would := ""
	if f.dry {
		would = "would be "
	}
	return a.PrintResult(done, func() error {
		_, err := fmt.Fprintf(a.Out, "%s: %s %srelabelled, %d removed\n", f.index,
			enum.Count(done.Relabelled, "item"), would, done.Removed)
		for what, ids := range map[string][]string{"not in the index": done.Missing,
			"with another label than the reviewed one": done.Changed} {
			if len(ids) > 0 {
				fmt.Fprintf(a.Err, "%s %s, left as they are: %s\n", enum.Count(len(ids), "item"), what,
					lookup.FormatFirstNames(ids))
			}
		}
		return err
	})
}
