package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/remote/decoders"
	"github.com/kindred-ml/kindred/internal/format/heic"
)

func newFormats(a *console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "formats",
		Short: "List the formats of images, and fetch the decoder for HEIC",
		Long: `formats lists the formats of images that kindred reads. A file's content decides
which format it has; the extension decides whether a file of a folder is an image.

The decoder for HEIC is not part of kindred: its licence is LGPL-3.0, and patents on
the format are in force in several countries. 'kindred formats get heic' fetches it
into the folder of decoders: $KINDRED_DECODERS, else kindred/decoders in the user's
cache folder. You may also put a decoder of your own there; 'get' replaces it.`,
		Args: exactArgs(),
		RunE: func(*cobra.Command, []string) error { return listFormats(a) },
	}
	cmd.AddCommand(newFormatsGet(a))
	return cmd
}

func listFormats(a *console.Console) error {
	path, err := heic.Path()
	if err != nil {
		return err
	}
	list := imaging.FileFormats()
	answer := map[string]any{"formats": list, "heic_decoder": path}
	unreadable := decoders.Check(path)
	if unreadable != nil {
		answer["heic_decoder_error"] = unreadable.Error()
	}
	return a.PrintResult(answer, func() error {
		w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "FORMAT\tEXTENSIONS\t")
		for _, f := range list {
			note := ""
			if !f.Readable {
				note = "no decoder: 'kindred formats get heic' fetches one"
			}
			if unreadable != nil && f.Name == "HEIC" {
				note = unreadable.Error()
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", f.Name, strings.Join(f.Extensions, " "), note)
		}
		return w.Flush()
	})
}

func newFormatsGet(a *console.Console) *cobra.Command {
	var g decoders.Getter
	cmd := &cobra.Command{
		Use:       "get heic",
		ValidArgs: []string{"heic"},
		Short:     "Fetch the decoder for HEIC, or check the one that is here",
		Long: `get fetches libheif with libde265, compiled to WebAssembly, and checks its SHA-256.
If the file that is here has another one, as a damaged file has, it is replaced.
It comes from ` + decoders.Home + `, or, if that cannot be
reached, from the cache of the go command. It runs in a sandbox, which sees one
picture at a time and nothing else.`,
		Example: `  kindred formats get heic
  kindred formats get heic --from https://mirror.example/heif.wasm.gz`,
		Args: exactArgs("heic"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !strings.EqualFold(args[0], "heic") {
				return cli.Usagef("no decoder is called %q: the one to fetch is heic", args[0])
			}
			return getDecoder(cmd.Context(), a, g)
		},
	}
	cmd.Flags().BoolVar(&g.Offline, "offline", false, "use no network: only check the decoder that is here")
	flags.New(cmd).Text(&g.From, "from", "",
		"address to fetch the compressed decoder from instead of the official one; "+
			"it is checked as well", complete.Nothing)
	return cmd
}

func getDecoder(ctx context.Context, a *console.Console, g decoders.Getter) error {
	var end func()
	g.Client, g.Progress, end = inputs.NewDownload(a, "heic")
	defer end()
	r, err := g.Get(ctx)
	if err != nil {
		return err
	}
	return a.PrintResultf(r, "%s\n  sha256 %s (as published)\n", r.Path, r.SHA256)
}
