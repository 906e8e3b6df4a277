// Package flags adds flags to commands, each with the completion of its value, and refuses values and flags that do not
// apply.
package flags

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
)

// Set adds flags to a command, each with the completion of its value. Numbers and
// switches have no completion.
type Set struct {
	*pflag.FlagSet
	cmd *cobra.Command
}

// New returns the flags of a command.
func New(cmd *cobra.Command) Set { return Set{cmd.Flags(), cmd} }

// NewPersistent are the flags of a command and of those below it.
func NewPersistent(cmd *cobra.Command) Set { return Set{cmd.PersistentFlags(), cmd} }

// Text adds a flag with a text.
func (f Set) Text(to *string, name, value, usage string, by complete.Func) {
	f.StringVar(to, name, value, usage)
	f.Complete(name, by)
}

// Repeated adds a flag that may be repeated, each time with a text.
func (f Set) Repeated(to *[]string, name, usage string, by complete.Func) {
	f.StringArrayVar(to, name, nil, usage)
	f.Complete(name, by)
}

// List adds a flag of texts with commas between them.
func (f Set) List(to *[]string, name string, value []string, usage string, by complete.Func) {
	f.StringSliceVar(to, name, value, usage)
	f.Complete(name, by)
}

// Complete sets the completion of an existing flag. A second completion of a
// flag is a defect.
func (f Set) Complete(name string, by complete.Func) {
	if err := f.cmd.RegisterFlagCompletionFunc(name, by); err != nil {
		panic(err)
	}
}

// The following flags are shared by several commands.

// DataDir adds the folder of data sets by name.
func (f Set) DataDir(to *string) {
	cli.AddDataDir(f.FlagSet, to)
	f.Complete(cli.DataDir, complete.Folders)
}

// WeightsDir adds the folder of pretrained networks.
func (f Set) WeightsDir(to *string) {
	cli.AddWeightsDir(f.FlagSet, to)
	f.Complete("weights-dir", complete.Folders)
}

// Weights adds the flags that say where pretrained networks are.
func (f Set) Weights(to *cli.WeightsFlags) {
	to.AddFlags(f.FlagSet)
	f.Complete("weights-dir", complete.Folders)
}

// Outside adds the flag that allows images outside the folder of a data set.
func (f Set) Outside(to *bool) {
	cli.AddOutside(f.FlagSet, to)
}

// Embeddings adds --embeddings.
func (f Set) Embeddings(to *string, usage string) {
	f.Text(to, "embeddings", "", usage+" ("+strings.Join(cli.EmbeddingFormats().Extensions(), ", ")+")", complete.Files)
}

// Vector adds --vector, a file of embeddings to look up.
func (f Set) Vector(to *string, usage string) {
	f.Text(to, "vector", "", usage+" ("+strings.Join(cli.EmbeddingFormats().Extensions(), ", ")+")", complete.Files)
}

// ForceNetwork adds the flag that accepts embeddings of different networks.
func (f Set) ForceNetwork(to *bool) {
	f.BoolVar(to, provenance.ForceFlag, false, "compare embeddings of different networks")
}

// Labels adds --labels.
func (f Set) Labels(to *string, usage string) {
	f.Text(to, "labels", "", usage+"; default: those in the file of embeddings or beside it", complete.Files)
}

// FirstColumn is the help for the default column of labels.
const FirstColumn = "default: the first of label, fine and coarse that exists"

// Column adds --column. It has no completion, because the file with the columns is not read yet.
func (f Set) Column(to *string, usage string) {
	f.Text(to, "column", "", usage, complete.Nothing)
}

// Distance adds --distance with the allowed values. value is the default; otherwise is the help's text
// for a default that depends on other flags.
func (f Set) Distance(to *string, value, otherwise string, of ...string) {
	usage := strings.Join(of[:len(of)-1], ", ") + " or " + of[len(of)-1]
	if otherwise != "" {
		usage += "; default: " + otherwise
	}
	f.Text(to, "distance", value, usage, complete.Words(of...))
}

// AnyDistance lists the distances between embeddings.
var AnyDistance = []string{"euclidean", "cosine", "dot"}

// Scratch adds the size of the working memory.
func (f Set) Scratch(to *int) {
	f.IntVar(to, "scratch", 256, "working memory in MiB, besides the embeddings")
}

// Jobs adds --jobs, the number of runs at a time.
func (f Set) Jobs(to *int) {
	f.IntVar(to, "jobs", 1, "number of runs at a time; a single run already uses all cores")
}

// AddCompletions turns off the completion of files for the arguments and the flags below cmd that take no file
// and have no completion of their own.
func AddCompletions(cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = complete.Nothing
	}
	visit := func(f *pflag.Flag) {
		if _, there := cmd.GetFlagCompletionFunc(f.Name); !there && isNumber(f.Value.Type()) {
			New(cmd).Complete(f.Name, complete.Nothing)
		}
	}
	cmd.Flags().VisitAll(visit)
	cmd.PersistentFlags().VisitAll(visit)
	for _, c := range cmd.Commands() {
		AddCompletions(c)
	}
}

// isNumber reports whether a type of flags, as package pflag names it, has values that
// cannot be files.
func isNumber(typ string) bool {
	typ = strings.TrimPrefix(typ, "u")
	return typ == "duration" || strings.HasPrefix(typ, "int") || strings.HasPrefix(typ, "float")
}
