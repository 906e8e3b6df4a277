package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/app/cli"
)

// flags adds flags to a command, and to each what completes its value. Numbers and
// switches are completed by nothing.
type flags struct {
	*pflag.FlagSet
	cmd *cobra.Command
}

func flagsOf(cmd *cobra.Command) flags { return flags{cmd.Flags(), cmd} }

// inherited are the flags of a command and of those below it.
func inherited(cmd *cobra.Command) flags { return flags{cmd.PersistentFlags(), cmd} }

// text adds a flag of one text.
func (f flags) text(to *string, name, value, usage string, by completion) {
	f.StringVar(to, name, value, usage)
	f.complete(name, by)
}

// repeated adds a flag that may come several times, with a text each.
func (f flags) repeated(to *[]string, name, usage string, by completion) {
	f.StringArrayVar(to, name, nil, usage)
	f.complete(name, by)
}

// list adds a flag of texts with commas between them.
func (f flags) list(to *[]string, name string, value []string, usage string, by completion) {
	f.StringSliceVar(to, name, value, usage)
	f.complete(name, by)
}

// complete says what completes the value of a flag that is there. A second completion of a
// flag is a defect.
func (f flags) complete(name string, by completion) {
	if err := f.cmd.RegisterFlagCompletionFunc(name, by); err != nil {
		panic(err)
	}
}

// What follows are the flags that several commands have.

func (f flags) dataDir(to *string) {
	cli.AddDataDir(f.FlagSet, to)
	f.complete(cli.DataDir, folders)
}

func (f flags) weightsDir(to *string) {
	cli.AddWeightsDir(f.FlagSet, to)
	f.complete("weights-dir", folders)
}

// weights adds the flags that say where pretrained networks are.
func (f flags) weights(to *cli.Weights) {
	to.Add(f.FlagSet)
	f.complete("weights-dir", folders)
}

func (f flags) outside(to *bool) {
	cli.AddOutside(f.FlagSet, to)
}

// embeddings adds --embeddings, of what usage says.
func (f flags) embeddings(to *string, usage string) {
	f.text(to, "embeddings", "", usage+" ("+strings.Join(formats().Extensions(), ", ")+")", anyFile)
}

// vector adds --vector, a file of what is looked up.
func (f flags) vector(to *string, usage string) {
	f.text(to, "vector", "", usage+" ("+strings.Join(formats().Extensions(), ", ")+")", anyFile)
}

// labels adds --labels, of what usage says.
func (f flags) labels(to *string, usage string) {
	f.text(to, "labels", "", usage+"; default: those in the file of embeddings or beside it", anyFile)
}

// firstColumn says which column of labels is taken if none is named.
const firstColumn = "default: the first of label, fine and coarse that exists"

// column adds --column. Its values are those of a file that is yet to be read.
func (f flags) column(to *string, usage string) {
	f.text(to, "column", "", usage, nothing)
}

// distance adds --distance with one of these values; value is the one that is taken if none
// is given, and otherwise says what is taken where that is no one value.
func (f flags) distance(to *string, value, otherwise string, of ...string) {
	usage := strings.Join(of[:len(of)-1], ", ") + " or " + of[len(of)-1]
	if otherwise != "" {
		usage += "; default: " + otherwise
	}
	f.text(to, "distance", value, usage, words(of...))
}

// anyDistance are the distances that embeddings can be compared by.
var anyDistance = []string{"euclidean", "cosine", "dot"}

func (f flags) scratch(to *int) {
	f.IntVar(to, "scratch", 256, "working memory in MiB, besides the embeddings")
}

// jobs adds --jobs, of runs at a time.
func (f flags) jobs(to *int) {
	f.IntVar(to, "jobs", 1, "number of runs at a time; a single run already uses all cores")
}
