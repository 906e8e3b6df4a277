package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
)

// flags adds flags to a command, each with the completion of its value. Numbers and
// switches have no completion.
type flags struct {
	*pflag.FlagSet
	cmd *cobra.Command
}

func newFlags(cmd *cobra.Command) flags { return flags{cmd.Flags(), cmd} }

// newPersistentFlags are the flags of a command and of those below it.
func newPersistentFlags(cmd *cobra.Command) flags { return flags{cmd.PersistentFlags(), cmd} }

// text adds a flag with a text.
func (f flags) text(to *string, name, value, usage string, by completion) {
	f.StringVar(to, name, value, usage)
	f.complete(name, by)
}

// repeated adds a flag that may be repeated, each time with a text.
func (f flags) repeated(to *[]string, name, usage string, by completion) {
	f.StringArrayVar(to, name, nil, usage)
	f.complete(name, by)
}

// list adds a flag of texts with commas between them.
func (f flags) list(to *[]string, name string, value []string, usage string, by completion) {
	f.StringSliceVar(to, name, value, usage)
	f.complete(name, by)
}

// complete sets the completion of an existing flag. A second completion of a
// flag is a defect.
func (f flags) complete(name string, by completion) {
	if err := f.cmd.RegisterFlagCompletionFunc(name, by); err != nil {
		panic(err)
	}
}

// The following flags are shared by several commands.

func (f flags) dataDir(to *string) {
	cli.AddDataDir(f.FlagSet, to)
	f.complete(cli.DataDir, completeFolders)
}

func (f flags) weightsDir(to *string) {
	cli.AddWeightsDir(f.FlagSet, to)
	f.complete("weights-dir", completeFolders)
}

// weights adds the flags that say where pretrained networks are.
func (f flags) weights(to *cli.WeightsFlags) {
	to.AddFlags(f.FlagSet)
	f.complete("weights-dir", completeFolders)
}

func (f flags) outside(to *bool) {
	cli.AddOutside(f.FlagSet, to)
}

// embeddings adds --embeddings.
func (f flags) embeddings(to *string, usage string) {
	f.text(to, "embeddings", "", usage+" ("+strings.Join(embeddingFormats().Extensions(), ", ")+")", completeFiles)
}

// vector adds --vector, a file of embeddings to look up.
func (f flags) vector(to *string, usage string) {
	f.text(to, "vector", "", usage+" ("+strings.Join(embeddingFormats().Extensions(), ", ")+")", completeFiles)
}

// forceNetwork adds the flag that accepts embeddings of different networks.
func (f flags) forceNetwork(to *bool) {
	f.BoolVar(to, provenance.ForceFlag, false, "compare embeddings of different networks")
}

// labels adds --labels.
func (f flags) labels(to *string, usage string) {
	f.text(to, "labels", "", usage+"; default: those in the file of embeddings or beside it", completeFiles)
}

// firstColumn is the help for the default column of labels.
const firstColumn = "default: the first of label, fine and coarse that exists"

// column adds --column. It has no completion, because the file with the columns is not read yet.
func (f flags) column(to *string, usage string) {
	f.text(to, "column", "", usage, completeNothing)
}

// distance adds --distance with the allowed values. value is the default; otherwise is the help's text
// for a default that depends on other flags.
func (f flags) distance(to *string, value, otherwise string, of ...string) {
	usage := strings.Join(of[:len(of)-1], ", ") + " or " + of[len(of)-1]
	if otherwise != "" {
		usage += "; default: " + otherwise
	}
	f.text(to, "distance", value, usage, completeWords(of...))
}

// anyDistance lists the distances between embeddings.
var anyDistance = []string{"euclidean", "cosine", "dot"}

func (f flags) scratch(to *int) {
	f.IntVar(to, "scratch", 256, "working memory in MiB, besides the embeddings")
}

// jobs adds --jobs, the number of runs at a time.
func (f flags) jobs(to *int) {
	f.IntVar(to, "jobs", 1, "number of runs at a time; a single run already uses all cores")
}
