package inputs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/remote/remotedata"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// LookupFlags name a gallery and the network that embeds photos. They are a lookup.Host.
type LookupFlags struct {
	Console *console.Console
	Network ModelFlags
	Spec    lookup.Spec
	DataDir string
	Outside bool
}

// Check refuses flags that do not apply to the gallery.
func (f *LookupFlags) Check(cmd *cobra.Command) error {
	f.Spec.Run, f.Spec.Network = f.Network.Run, f.Network.Network
	f.Network.Joint = f.Spec.Words != ""
	return cmp.Or(f.Spec.Validate(flags.Given(cmd)), flags.Check(cmd, "",
		flags.When("data-dir allow-outside", true, "in data", flags.ReasonDataset),
		flags.When("force-network", true, "embeddings vector", flags.ReasonFile)))
}

// Notes is the writer of remarks.
func (f *LookupFlags) Notes() io.Writer { return f.Console.Err }

// LoadNetwork loads the network that the flags name.
func (f *LookupFlags) LoadNetwork(ctx context.Context) (*run.Model, error) {
	return f.Network.Load(ctx, f.Console)
}

// OpenIndex opens an index, which other processes may change.
func (f *LookupFlags) OpenIndex(dir string) (*index.Index, error) { return ReadIndex(f.Console, dir) }

// OpenStore opens the store at an address.
func (f *LookupFlags) OpenStore(ctx context.Context, address string) (store.Store, string, func() error, error) {
	s, err := OpenStore(ctx, address)
	if err != nil {
		return nil, "", nil, err
	}
	return s, s.Name, s.Close, nil
}

// OpenPhotos opens a data set.
func (f *LookupFlags) OpenPhotos(ctx context.Context, path string, m *run.Model, strict bool) (
	*data.Dataset, string, error) {
	return (&PhotoFlags{path, f.DataDir, f.Outside}).OpenFor(ctx, m, strict)
}

// Embed embeds photos, and shows the progress.
func (f *LookupFlags) Embed(ctx context.Context, m *run.Model, p *data.Part) (*run.Embeddings, error) {
	return Embed(ctx, f.Console, m, p)
}

// ReadTable reads a file of embeddings.
func (f *LookupFlags) ReadTable(path string) (*embedding.Table, error) {
	return cli.EmbeddingFormats().Read(path)
}

// LabelTable returns embeddings with labels, if there are any.
func (f *LookupFlags) LabelTable(t *embedding.Table, labels string, columns []string) (*embedding.Table, error) {
	return AddLabelsIfAny(f.Console, t, labels, columns)
}

// KeepLabelled leaves out rows without a label.
func (f *LookupFlags) KeepLabelled(t *embedding.Table, name string, strict bool) (*embedding.Table, error) {
	t, _, err := KeepLabelled(f.Console, t, name, strict)
	return t, err
}

// OpenFor opens the data set, which may have no classes, for a network; without a network (nil), for its pictures
// alone. It also returns the folder that contains the named files.
func (f *PhotoFlags) OpenFor(ctx context.Context, m *run.Model, strict bool) (*data.Dataset, string, error) {
	d, err := remotedata.Open(ctx, f.Data, data.OpenOptions{Home: DataFolder(f.DataDir), Unlabelled: true,
		Distinct: true, Crop: m != nil && m.Config.Data.Crop, Outside: f.Outside, Formats: cli.EmbeddingFormats(),
		Strict: strict && m != nil})
	if err != nil || d.Len() == 1 && d.Names[0] == filepath.ToSlash(f.Data) { // data is a single photo
		return d, "", err
	}
	return d, f.Root(), nil
}

// AddAllLabels is AddLabelsIfAny for the usual columns and the one of all labels of an item.
func AddAllLabels(a *console.Console, t *embedding.Table, labels string) (*embedding.Table, error) {
	with, err := AddLabelsIfAny(a, t, labels, nil)
	if c := t.Column("labels"); err == nil && labels == "" && c != nil && with.Column("labels") == nil {
		with.Columns = append(slices.Clone(with.Columns), *c)
	}
	return with, err
}

// AddLabelsIfAny returns embeddings with labels, if there are any, of the given columns or else the usual ones.
func AddLabelsIfAny(a *console.Console, t *embedding.Table, labels string, columns []string) (*embedding.Table, error) {
	with, err := AddLabels(a, t, labels)
	switch {
	case labels == "" && columns == nil && errors.Is(err, fs.ErrNotExist):
		return t, nil
	case err != nil:
		return nil, err
	}
	return with.Select(columns...)
}

// NoteUnread returns a function that prints a remark about a picture that cannot be read.
func NoteUnread(a *console.Console) func(name string, err error) {
	return func(name string, err error) {
		fmt.Fprintf(a.Err, "no picture of %s: %s\n", escape.Name(name), escape.Text(cli.Message(err)))
	}
}
