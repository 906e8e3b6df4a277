package main

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
	"github.com/kindred-ml/kindred/internal/app/remote/remotedata"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// lookupFlags name a gallery and the network that embeds photos. They are a lookup.Host.
type lookupFlags struct {
	a       *app
	network modelFlags
	spec    lookup.Spec
	dataDir string
	outside bool
}

// check refuses flags that do not apply to the gallery.
func (f *lookupFlags) check(cmd *cobra.Command) error {
	f.spec.Run, f.spec.Network = f.network.run, f.network.network
	f.network.joint = f.spec.Words != ""
	return cmp.Or(f.spec.Validate(givenFlags(cmd)), checkRules(cmd, "",
		flagRule{"data-dir allow-outside", true, "in data", reasonDataset},
		flagRule{"force-network", true, "embeddings vector", reasonFile}))
}

// Notes is the writer of remarks.
func (f *lookupFlags) Notes() io.Writer { return f.a.err }

// LoadNetwork loads the network that the flags name.
func (f *lookupFlags) LoadNetwork(ctx context.Context) (*run.Model, error) {
	return f.network.model(ctx, f.a)
}

// OpenIndex opens an index, which other processes may change.
func (f *lookupFlags) OpenIndex(dir string) (*index.Index, error) { return f.a.readIndex(dir) }

// OpenStore opens the store at an address.
func (f *lookupFlags) OpenStore(ctx context.Context, address string) (store.Store, string, func() error, error) {
	s, err := openStore(ctx, address)
	if err != nil {
		return nil, "", nil, err
	}
	return s, s.name, s.Close, nil
}

// OpenPhotos opens a data set.
func (f *lookupFlags) OpenPhotos(ctx context.Context, path string, m *run.Model, strict bool) (
	*data.Dataset, string, error) {
	return (&photoFlags{path, f.dataDir, f.outside}).openFor(ctx, m, strict)
}

// Embed embeds photos, and shows the progress.
func (f *lookupFlags) Embed(ctx context.Context, m *run.Model, p *data.Part) (*run.Embeddings, error) {
	return f.a.embed(ctx, m, p)
}

// ReadTable reads a file of embeddings.
func (f *lookupFlags) ReadTable(path string) (*embedding.Table, error) {
	return embeddingFormats().Read(path)
}

// LabelTable returns embeddings with labels, if there are any.
func (f *lookupFlags) LabelTable(t *embedding.Table, labels string, columns []string) (*embedding.Table, error) {
	return f.a.addLabelsIfAny(t, labels, columns)
}

// KeepLabelled leaves out rows without a label.
func (f *lookupFlags) KeepLabelled(t *embedding.Table, name string, strict bool) (*embedding.Table, error) {
	t, _, err := f.a.keepLabelled(t, name, strict)
	return t, err
}

// openFor opens the data set, which may have no classes, for a network; without a network (nil), for its pictures
// alone. It also returns the folder that contains the named files.
func (f *photoFlags) openFor(ctx context.Context, m *run.Model, strict bool) (*data.Dataset, string, error) {
	d, err := remotedata.Open(ctx, f.data, data.OpenOptions{Home: dataFolder(f.dataDir), Unlabelled: true,
		Distinct: true, Crop: m != nil && m.Config.Data.Crop, Outside: f.outside, Formats: embeddingFormats(),
		Strict: strict &&
			m != nil})
	if err != nil || d.Len() == 1 && d.Names[0] == filepath.ToSlash(f.data) { // data is a single photo
		return d, "", err
	}
	return d, f.root(), nil
}

// addAllLabels is addLabelsIfAny for the usual columns and the one of all labels of an item.
func (a *app) addAllLabels(t *embedding.Table, labels string) (*embedding.Table, error) {
	with, err := a.addLabelsIfAny(t, labels, nil)
	if c := t.Column("labels"); err == nil && labels == "" && c != nil && with.Column("labels") == nil {
		with.Columns = append(slices.Clone(with.Columns), *c)
	}
	return with, err
}

// addLabelsIfAny returns embeddings with labels, if there are any, of the given columns or else the usual ones.
func (a *app) addLabelsIfAny(t *embedding.Table, labels string, columns []string) (*embedding.Table, error) {
	with, err := a.addLabels(t, labels)
	switch {
	case labels == "" && columns == nil && errors.Is(err, fs.ErrNotExist):
		return t, nil
	case err != nil:
		return nil, err
	}
	return with.Select(columns...)
}

func (a *app) noteUnread(name string, err error) {
	fmt.Fprintf(a.err, "no picture of %s: %s\n", escape.Name(name), escape.Text(cli.Message(err)))
}
