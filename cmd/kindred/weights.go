package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/remote/weights"
	"github.com/kindred-ml/kindred/internal/base/budget"
)

func newWeights(a *console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "weights",
		Short: "List and fetch pretrained networks",
		Long: `Pretrained networks are in the weights folder: --weights-dir, else
$KINDRED_WEIGHTS, else kindred/weights in the user's cache folder. Files have their
official names; you may also copy a file there by hand.`,
	}
	var dir string
	flags.NewPersistent(cmd).WeightsDir(&dir)
	cmd.AddCommand(newWeightsList(a, &dir), newWeightsGet(a, &dir))
	return cmd
}

// listedWeights is one line of 'kindred weights list'.
type listedWeights struct {
	weights.Entry
	Path   string `json:"path"`
	Cached bool   `json:"cached"`
}

func newWeightsList(a *console.Console, dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the pretrained networks known by name and show which of them are here",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			home, err := weights.Home(*dir)
			if err != nil {
				return err
			}
			list := cli.Map(weights.Catalog(), func(e weights.Entry) listedWeights {
				return listedWeights{e, e.Path(home), e.Cached(home)}
			})
			return a.PrintResult(map[string]any{"weights_dir": home, "weights": list},
				func() error { return printWeights(a.Out, home, list) })
		},
	}
}

func printWeights(out io.Writer, home string, list []listedWeights) error {
	fmt.Fprintf(out, "weights folder: %s\n\n", home)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\t\tSIZE\tIMAGENET\tLICENSE\tTRAINED ON")
	for _, l := range list {
		here, top := "-", ""
		if l.Cached {
			here = "here"
		}
		if l.Top1 > 0 {
			top = fmt.Sprintf("%.1f %%", l.Top1)
			if l.Measured == weights.ByNearest {
				top += " k-NN"
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", l.Name, here, budget.Format(l.Bytes), top, l.License, l.Trained)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, "\n'kindred weights get NAME' fetches a file and checks it. Licenses are those of "+
		"the publishers;\nterms of the images that were trained on may apply besides.\n")
	return err
}

func newWeightsGet(a *console.Console, dir *string) *cobra.Command {
	var offline bool
	var from string
	cmd := &cobra.Command{
		Use:               "get NAME",
		ValidArgsFunction: complete.One(complete.Weights),
		Short:             "Fetch the file of a pretrained network, or check the one that is here",
		Long: `get fetches the file from its official address into the weights folder. An
interrupted transfer, of this or an earlier call, goes on where it stopped. The file
gets its name only when it is complete and has the published SHA-256, or, if none is
published, when it can be read as weights. A file that exists already is checked, and
fetched again if it differs.`,
		Example: `  kindred weights get mobilenet_v2
  kindred weights get resnet50 --from https://mirror.example/weights/`,
		Args: exactArgs("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := inputs.OpenWeightsDir(a, *dir)
			if err != nil {
				return err
			}
			if _, _, err := w.Find(args[0]); err != nil {
				return cli.UsageError{Err: err}
			}
			w.From, w.Offline = from, offline
			r, err := w.Get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			how := "as published"
			if r.SHA256 == "" {
				how = "no sum is published; the file can be read as weights"
			}
			return a.PrintResultf(r, "%s\n  %d bytes, sha256 %s (%s)\n", r.Path, r.Found.Bytes, r.Found.SHA256, how)
		},
	}
	cmd.Flags().BoolVar(&offline, "offline", false, "use no network: only check the file in the folder")
	flags.New(cmd).Text(&from, "from", "", "address to fetch from instead of the official one: of the file, or of a "+
		"folder (ending in /) with the file's official name; the file is checked as well", complete.Nothing)
	return cmd
}
