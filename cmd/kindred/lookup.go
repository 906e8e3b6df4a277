package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/kindred-ml/kindred/app/calibrations"
	"github.com/kindred-ml/kindred/app/cli/items"
	"github.com/kindred-ml/kindred/app/origin"
	"github.com/kindred-ml/kindred/app/lookup"
	"github.com/kindred-ml/kindred/app/remote/remotedata"
	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/run"
)

// lookupFlags name the gallery and the network that embeds photos.
type lookupFlags struct {
	modelFlags
	index, store                   string
	in, embeddings, labels, column string
	dataDir                        string
	vectors                        string // file of embeddings to look up
	outside, strict                bool
	forceNetwork                   bool
	way                            string // advice in the error about a gallery without a network
}

// source returns the gallery that the flags name; 0 without one.
func (f *lookupFlags) source() source {
	switch {
	case f.store != "":
		return inStore
	case f.index != "":
		return inIndex
	case f.embeddings != "":
		return inEmbeddings
	case f.in != "":
		return inPhotos
	}
	return 0
}

// place is an open lookup. Its network is known before a table is made, so that queries are embedded first:
// an unreadable photo is then an error before the gallery is embedded.
type place struct {
	model func() (*run.Model, error) // returns the network that embeds queries
	items *lookup.Items             // an index or a store; nil of a table
	of    *calibrations.Of           // where the calibration is
	close func() error
}

// open opens an index or a store, or loads the network for a table.
func (f *lookupFlags) open(ctx context.Context, a *app, of source) (*place, error) {
	switch of {
	case inIndex:
		x, err := a.readIndex(f.index)
		if err != nil {
			return nil, err
		}
		p, err := a.placeOf(x, f.index)
		if err != nil {
			return nil, errors.Join(err, x.Close())
		}
		p.items.Way, p.items.Label, p.items.Unkept = f.way, f.column, func(err error) {
			fmt.Fprintf(a.err, "the next call measures the distances between items again: %s\n",
				escape.Text(err.Error()))
		}
		return p, nil
	case inStore:
		p, err := a.placeAt(ctx, f.store, f.run)
		if err == nil {
			p.items.Way = f.way + ", or name with --run the run that made its embeddings"
		}
		return p, err
	case inVectors:
		return &place{of: &calibrations.Of{Notes: a.err}, close: func() error { return nil }}, nil
	}
	m, err := f.model(ctx, a)
	if err != nil {
		return nil, err
	}
	at, err := calibrations.OfNetwork(m, f.run, f.network)
	if err != nil {
		return nil, err
	}
	at.Notes = a.err
	return &place{model: func() (*run.Model, error) { return m, nil }, of: at, close: func() error { return nil }}, nil
}

// placeOf is an open index, in a folder.
func (a *app) placeOf(x *index.Index, dir string) (*place, error) {
	of, err := calibrations.OfIndex(x, dir)
	if err != nil {
		return nil, err
	}
	of.Notes = a.err
	p := &place{items: items.OfIndex(x), close: x.Close, of: of}
	p.model = p.items.Network
	return p, nil
}

// placeAt opens the store at an address, with the network of a run if one is given.
func (a *app) placeAt(ctx context.Context, url, dir string) (*place, error) {
	s, err := openStore(ctx, url)
	if err != nil {
		return nil, err
	}
	var m *run.Model
	in, err := s.Info(ctx)
	of := &calibrations.Of{Dim: in.Dim}
	if err == nil && dir != "" {
		if m, err = origin.LoadFor(dir, s.name, in.Dim); err == nil {
			of, err = calibrations.OfNetwork(m, dir, "")
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	of.Notes = a.err
	g := &lookup.Items{Store: s, Name: s.name, Model: func() (*run.Model, error) { return m, nil }}
	return &place{model: g.Network, items: g, of: of, close: s.Close}, nil
}

// party returns the embeddings of the network, with their name for messages.
func (p *place) party(name string) origin.Party {
	return origin.Party{Name: name, Network: p.of.Source, Dim: p.of.Dim}
}

// photos embeds the photos to look up: the photos at the given paths, or the photos of a data set.
func (f *lookupFlags) photos(ctx context.Context, a *app, p *place, paths []string, set string) (*lookup.Set, error) {
	m, err := p.model()
	if err != nil {
		return nil, err
	}
	m.Config.Data.Strict = f.strict // without strict, unreadable photos are reported and the others answered
	s := &lookup.Set{}
	if set != "" {
		s.Data, s.Root, err = (&photoFlags{set, f.dataDir, f.outside}).openFor(ctx, m, f.strict)
	} else {
		s.Data, err = data.OpenFiles(ctx, paths)
	}
	if err != nil {
		return nil, err
	}
	return s, a.embedSet(ctx, m, s)
}

// openFor opens the data set, which may have no classes, for a network; without a network (nil), for its pictures
// alone. It also returns the folder that contains the named files.
func (f *photoFlags) openFor(ctx context.Context, m *run.Model, strict bool) (*data.Dataset, string, error) {
	d, err := remotedata.Open(ctx, f.data, data.OpenOptions{Home: dataHome(f.dataDir), Unlabelled: true,
		Distinct: true, Crop: m != nil && m.Config.Data.Crop, Outside: f.outside, Formats: formats(), Strict: strict &&
			m != nil})
	if err != nil || d.Len() == 1 && d.Names[0] == filepath.ToSlash(f.data) { // data is a single photo
		return d, "", err
	}
	return d, f.root(), nil
}

// embedSet embeds the photos of a set.
func (a *app) embedSet(ctx context.Context, m *run.Model, s *lookup.Set) error {
	e, err := a.embed(ctx, m, s.Data.All())
	if err != nil {
		s.Close()
		return err
	}
	s.Table, s.LeftOut = e.Table(), e.LeftOut
	return nil
}

// table embeds the photos of --in, or reads embeddings, whose photos --in names. labelled leaves out items without a
// label.
func (f *lookupFlags) table(ctx context.Context, a *app, p *place, labelled bool) (t *lookup.Table, err error) {
	var m *run.Model
	if p.model != nil {
		if m, err = p.model(); err != nil {
			return nil, err
		}
	}
	t = &lookup.Table{Set: &lookup.Set{}, Name: cmp.Or(f.embeddings, f.in)}
	if f.embeddings != "" {
		if t.Table, err = formats().Read(f.embeddings); err == nil {
			err = origin.Check(t.Table, f.embeddings, m, "the network "+f.by())
		}
		if err == nil && m != nil {
			err = origin.Meet(origin.OfTable(t.Table, f.embeddings), p.party("the photos"), f.forceNetwork, a.err)
		}
		if err == nil {
			t.Table, err = a.perhapsLabelled(t.Table, f.labels, oneColumn(f.column))
		}
		if err == nil && labelled && len(t.Table.Columns) > 0 {
			t.Table, _, err = a.known(t.Table, f.embeddings, f.strict)
		}
		if err != nil {
			return nil, err
		}
	}
	if f.in != "" {
		photos := photoFlags{f.in, f.dataDir, f.outside}
		if t.Data, t.Root, err = photos.openFor(ctx, m, f.strict); err != nil {
			return nil, err
		}
	}
	if f.embeddings != "" {
		return t, nil
	}
	a.sayNotes(t.Data)
	fmt.Fprintf(a.err, "embedding %d photos of %s\n", t.Data.Len(), escape.Name(f.in))
	m.Config.Data.Strict = f.strict
	if err := a.embedSet(ctx, m, t.Set); err != nil {
		return nil, err
	}
	a.sayLeftOut(t.LeftOut)
	if len(t.Table.Columns) > 0 {
		t.Table, err = t.Table.Select(oneColumn(f.column)...)
	}
	return t, err
}

// allLabels is perhapsLabelled for the usual columns and the one of all labels of an item.
func (a *app) allLabels(t *embedding.Table, labels string) (*embedding.Table, error) {
	with, err := a.perhapsLabelled(t, labels, nil)
	if c := t.Column("labels"); err == nil && labels == "" && c != nil && with.Column("labels") == nil {
		with.Columns = append(slices.Clone(with.Columns), *c)
	}
	return with, err
}

// perhapsLabelled returns embeddings with labels, if there are any, of the given columns or else the usual ones.
func (a *app) perhapsLabelled(t *embedding.Table, labels string, columns []string) (*embedding.Table, error) {
	with, err := a.label(t, labels)
	switch {
	case labels == "" && columns == nil && errors.Is(err, fs.ErrNotExist):
		return t, nil
	case err != nil:
		return nil, err
	}
	return with.Select(columns...)
}
