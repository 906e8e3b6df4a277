package main

import (
	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/app/cli"
	"github.com/kindred-ml/kindred/app/origin"
)

func newIndexSearch(a *app) *cobra.Command {
	f := searchFlags{scratch: 1}
	f.way = ": use --id or --vector"
	cmd := &cobra.Command{
		Use:               "search INDEX [PHOTO|WORDS...] | --store URL [PHOTO|WORDS...]",
		ValidArgsFunction: anyFile,
		Short:             "Find the items nearest to photos, words, items or embeddings",
		Long: `search prints the items of an index that are nearest to photos, to items of the index
(--id), or to embeddings (--vector). It embeds photos with the index's own network. A
photo that is in the index, as the same file or as a copy, is left out of its own
answer; so are the item of --id and the items with the very embedding of --vector.
--filter is applied before ranking. --store searches a store of a database instead, with
the network of --run for photos.

` + wordsHelp + `

If the index has a calibration (kindred calibrate), each neighbour has the probability
that it shows the same thing, and --least 0.9 leaves out neighbours below it.`,
		Example: `  kindred index search photos.index photo.jpg
  kindred index search photos.index --id cat/00.jpg --neighbours 5 --json
  kindred index search photos.index photo.jpg --filter 'label != "cat"'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && f.store == "" {
				return usagef("missing argument INDEX, or --store: the gallery to search")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.store == "" {
				f.index, args = args[0], args[1:]
			}
			return f.search(cmd, a, args, []sourceRule{
				{"run", inStore, "", ownNetwork},
				{"exact", inIndex, "", "the database decides how it searches"},
				{origin.ForceFlag, anywhere, "vector", forAFile},
			})
		},
	}
	fs := flagsOf(cmd)
	fs.repeated(&f.ids, "id", "look up an item of the index; may be repeated", nothing)
	fs.vector(&f.vectors, "look up the embeddings in a file, made by the network of the index")
	fs.forceNetwork(&f.forceNetwork)
	fs.text(&f.filter, "filter", "", "find only items that pass this filter: "+filterHelp, nothing)
	fs.BoolVar(&f.exact, "exact", false, "search all lists of an index with lists, for exact results")
	fs.text(&f.store, "store", "", "store of a database, instead of an index: "+storeForm, nothing)
	f.same.add(cmd)
	f.phrases.add(cmd)
	cli.AddStrict(fs.FlagSet, &f.strict)
	fs.IntVar(&f.k, "neighbours", 10, "items to find for each query")
	fs.text(&f.run, "run", "", "run whose network made the embeddings of --store, for photos", runFolders)
	return cmd
}
