package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/collection/calibrations"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/internal/network/textencoder"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// Host is the program that looks things up. It loads what a Spec names, and shows progress and remarks.
type Host interface {
	// Notes is the writer of remarks.
	Notes() io.Writer
	// LoadNetwork loads the network of Spec.Run or Spec.Network, or the default one.
	LoadNetwork(ctx context.Context) (*run.Model, error)
	OpenIndex(dir string) (*index.Index, error)
	// OpenStore opens the store at an address, and returns its name.
	OpenStore(ctx context.Context, address string) (s store.Store, name string, close func() error, err error)
	// OpenPhotos opens a data set for a network; without one (nil), for its pictures alone. It also returns the folder
	// of the names.
	OpenPhotos(ctx context.Context, path string, m *run.Model, strict bool) (*data.Dataset, string, error)
	Embed(ctx context.Context, m *run.Model, p *data.Part) (*run.Embeddings, error)
	ReadTable(path string) (*embedding.Table, error)
	// LabelTable returns embeddings with their labels, of the given columns or else the usual ones, if there are any.
	LabelTable(t *embedding.Table, labels string, columns []string) (*embedding.Table, error)
	// KeepLabelled leaves out the rows without a label.
	KeepLabelled(t *embedding.Table, name string, strict bool) (*embedding.Table, error)
}

// Source is a gallery that is open, or whose network is loaded: a table is made by Gallery, so that queries are
// embedded first, and an unreadable photo is an error before the gallery is embedded.
type Source struct {
	*Spec
	// Calibration says where the calibration is.
	Calibration *calibrations.Distances
	Items       *Items // an index or a store; nil of a table

	kind  Kind
	host  Host
	model func() (*run.Model, error) // returns the network that embeds queries
	close func() error
}

// Close closes the gallery.
func (s *Source) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

// Open opens the index or the store of a Spec, or loads the network for a table.
func Open(ctx context.Context, spec *Spec, host Host) (*Source, error) {
	s := &Source{Spec: spec, kind: spec.Kind(), host: host}
	var err error
	switch s.kind {
	case Labels:
		if spec.Index == "" {
			return s, s.loadNetwork(ctx)
		}
		fallthrough
	case Index:
		var x *index.Index
		if x, err = host.OpenIndex(spec.Index); err != nil {
			return nil, err
		}
		if err = s.useIndex(x); err != nil {
			return nil, errors.Join(err, x.Close())
		}
		s.close = x.Close
	case Store:
		err = s.openStore(ctx)
	case Rows:
		s.Calibration = &calibrations.Distances{Notes: host.Notes()}
	default:
		err = s.loadNetwork(ctx)
	}
	return s, err
}

// SourceOfIndex returns the Source of an open index in a folder, which the caller closes. column is Spec.Column.
func SourceOfIndex(x *index.Index, dir, column string, notes io.Writer) (*Source, error) {
	s := &Source{Spec: &Spec{Index: dir, Column: column}, kind: Index, host: notesHost{w: notes}}
	return s, s.useIndex(x)
}

// notesHost is the Host of a Source that only writes remarks.
type notesHost struct {
	Host
	w io.Writer
}

func (n notesHost) Notes() io.Writer { return n.w }

func (s *Source) useIndex(x *index.Index) (err error) {
	if s.Calibration, err = calibrations.FromIndex(x, s.Index); err != nil {
		return err
	}
	notes := s.host.Notes()
	s.Calibration.Notes = notes
	s.Items = ItemsOfIndex(x)
	s.Items.Way, s.Items.Label = s.Way, store.ClassColumn(x.Info().Columns, s.Column)
	s.Items.Unkept = func(err error) {
		fmt.Fprintf(notes, "the next call measures the distances between items again: %s\n", escape.Text(err.Error()))
	}
	s.model = s.Items.Network
	return nil
}

// ItemsOfIndex returns an open index, with its network, as a gallery.
func ItemsOfIndex(x *index.Index) *Items {
	return &Items{Store: x.Store(false), Name: x.Dir(), Index: x,
		Model: func() (*run.Model, error) { return provenance.LoadNetwork(x) }}
}

// openStore opens a store, with the network of a run if one is given.
func (s *Source) openStore(ctx context.Context) error {
	db, name, end, err := s.host.OpenStore(ctx, s.Store)
	if err != nil {
		return err
	}
	var m *run.Model
	in, err := db.Info(ctx)
	s.Calibration = &calibrations.Distances{Dim: in.Dim}
	if err == nil && s.Run != "" {
		if m, err = provenance.LoadNetworkFor(s.Run, name, in.Dim); err == nil {
			s.Calibration, err = calibrations.FromNetwork(m, s.Run, "")
		}
	}
	if err != nil {
		return errors.Join(err, end())
	}
	s.Calibration.Notes = s.host.Notes()
	s.Items = &Items{Store: db, Name: name, Label: store.ClassColumn(in.Columns, s.Column),
		Model: func() (*run.Model, error) { return m, nil },
		Way:   s.Way + ", or name with --run the run that made its embeddings"}
	s.model, s.close = s.Items.Network, end
	return nil
}

// loadNetwork loads the network of a table.
func (s *Source) loadNetwork(ctx context.Context) error {
	m, err := s.host.LoadNetwork(ctx)
	if err != nil {
		return err
	}
	if s.Calibration, err = calibrations.FromNetwork(m, s.Run, s.Spec.Network); err != nil {
		return err
	}
	s.Calibration.Notes = s.host.Notes()
	s.model = func() (*run.Model, error) { return m, nil }
	return nil
}

// Model returns the network that embeds queries; nil if it is not known.
func (s *Source) Model() (*run.Model, error) {
	switch {
	case s.Items != nil:
		return s.Items.Model()
	case s.model == nil:
		return nil, nil
	}
	return s.model()
}

// Party returns the embeddings of the network, with their name for messages.
func (s *Source) Party(name string) provenance.EmbeddingSource {
	return provenance.EmbeddingSource{Name: name, Network: s.Calibration.Source, Dim: s.Calibration.Dim}
}

// OpenTower opens the text tower.
func (s *Source) OpenTower() (*textencoder.Tower, error) {
	m, err := s.Model()
	switch {
	case err != nil:
		return nil, err
	case s.Items != nil && s.Items.Index != nil:
		return provenance.OpenIndexTower(s.Items.Index, m, s.Words)
	case m == nil:
		return nil, &option.MissingError{Setting: "run", Reason: "the network that made the embeddings of the store"}
	case s.Words == "":
		return nil, &option.MissingError{Setting: "words", Reason: "the folder of the text tower that was trained " +
			"together with the network"}
	}
	return provenance.OpenTower(m, s.NetworkName(), s.Words)
}

// OpenIndexTower opens the text tower that an index remembers. Without one, why says for people why words cannot be
// looked up; err has what the owner of the index can mend.
func (s *Source) OpenIndexTower(by eval.Distance) (t *textencoder.Tower, why string, err error) {
	m, err := s.Model()
	trained := (*provenance.TrainedError)(nil)
	switch {
	case err != nil:
		return nil, "its network cannot be read", err
	case s.Items == nil || s.Items.Index == nil:
		return nil, "a store of a database remembers no text tower", nil
	case m == nil:
		return nil, "it has no network", nil
	case !CanSum(m, by):
		return nil, fmt.Sprintf("its distance is %s, not cosine", by), nil
	}
	switch t, err = s.OpenTower(); {
	case err == nil:
		return t, "", nil
	case errors.As(err, &trained):
		return nil, "its network was trained here, which moved photos away from where their words are", nil
	case s.Items.Index.Info().Network.TextTower == "":
		return nil, "it remembers no text tower", nil
	}
	return nil, "its text tower cannot be opened; the log of the server says why", err
}

// Metric returns the distance of the gallery, before it is made.
func (s *Source) Metric(ctx context.Context) (eval.Distance, error) {
	if s.Items != nil {
		in, err := s.Items.Info(ctx)
		return in.Distance, err
	}
	if s.Distance != "" {
		return eval.ParseDistance(s.Distance)
	}
	m, err := s.model()
	if err != nil {
		return 0, err
	}
	return m.Distance()
}

// Gallery returns the open index or store, or makes the table, which compares by a distance. With labelled, items
// without a label are left out, and a gallery without labels is an error.
func (s *Source) Gallery(ctx context.Context, by eval.Distance, labelled bool) (Gallery, error) {
	const noLabels = "identify needs a gallery with labels"
	if s.Items != nil {
		if !labelled {
			return s.Items, nil
		}
		count, err := s.Items.LabelCounts(ctx)
		if err == nil && len(count) == 0 {
			err = fmt.Errorf("no item of %s has a value of %s: %s", s.Items.Name, s.Items.labelColumn(), noLabels)
		}
		return s.Items, err
	}
	t, err := s.Table(ctx, labelled)
	if err != nil {
		return nil, err
	}
	if labelled && len(t.Table.Columns) == 0 {
		return nil, fmt.Errorf("%s has no labels: %s", t.Name, noLabels)
	}
	t.Distance, t.Memory = by, s.Memory
	return t, nil
}

// Table embeds the photos of In, or reads Embeddings, whose photos In names. labelled leaves out items without a label.
func (s *Source) Table(ctx context.Context, labelled bool) (t *Table, err error) {
	var m *run.Model
	if s.model != nil {
		if m, err = s.model(); err != nil {
			return nil, err
		}
	}
	t = &Table{Set: &Set{}, Name: cmp.Or(s.Embeddings, s.In)}
	if s.Embeddings != "" {
		if t.Table, err = s.readEmbeddings(m, labelled); err != nil {
			return nil, err
		}
	}
	if s.In != "" {
		if t.Data, t.Root, err = s.host.OpenPhotos(ctx, s.In, m, s.Strict); err != nil {
			return nil, err
		}
	}
	if s.Embeddings != "" {
		return t, nil
	}
	notes := s.host.Notes()
	for _, n := range t.Data.Notes {
		fmt.Fprintln(notes, "note: "+escape.Text(n))
	}
	fmt.Fprintf(notes, "embedding %d photos of %s\n", t.Data.Len(), escape.Name(s.In))
	m.Config.Data.Strict = s.Strict
	if err := s.embed(ctx, m, t.Set); err != nil {
		return nil, err
	}
	s.noteLeftOut(t.LeftOut)
	if len(t.Table.Columns) > 0 {
		t.Table, err = s.selectColumns(t.Table, func(columns []string) (*embedding.Table, error) {
			return t.Table.Select(columns...)
		})
	}
	return t, err
}

// readEmbeddings reads the file of embeddings, which must be of the network.
func (s *Source) readEmbeddings(m *run.Model, labelled bool) (*embedding.Table, error) {
	t, err := s.host.ReadTable(s.Embeddings)
	if err != nil {
		return nil, err
	}
	if err := provenance.CheckTable(t, s.Embeddings, m, "the network "+s.NetworkName()); err != nil {
		return nil, err
	}
	if m != nil {
		if err := provenance.CheckSameNetwork(provenance.SourceOfTable(t, s.Embeddings), s.Party("the photos"),
			s.ForceNetwork, s.host.Notes()); err != nil {
			return nil, err
		}
	}
	t, err = s.selectColumns(t, func(columns []string) (*embedding.Table, error) {
		return s.host.LabelTable(t, s.Labels, columns)
	})
	if err == nil && labelled && len(t.Columns) > 0 {
		t, err = s.host.KeepLabelled(t, s.Embeddings, s.Strict)
	}
	return t, err
}

// selectColumns selects the column of classes and the one to group by.
func (s *Source) selectColumns(t *embedding.Table, choose func(columns []string) (*embedding.Table, error)) (
	*embedding.Table, error) {
	var columns []string
	if s.Column != "" {
		columns = []string{s.Column}
	}
	out, err := choose(columns)
	if err != nil || s.GroupBy == "" || s.GroupBy == "path" || out.Column(s.GroupBy) != nil {
		return out, err
	}
	c := t.Column(s.GroupBy)
	if c == nil && s.Labels != "" {
		more, err := choose([]string{s.GroupBy})
		if err != nil {
			return nil, err
		}
		c = more.Column(s.GroupBy)
	}
	if c != nil {
		out.Columns = append(slices.Clone(out.Columns), *c)
	}
	return out, nil
}

func (s *Source) noteLeftOut(list []data.LeftOut) {
	for _, l := range list {
		fmt.Fprintln(s.host.Notes(), l)
	}
}

// embed embeds the photos of a set.
func (s *Source) embed(ctx context.Context, m *run.Model, set *Set) error {
	e, err := s.host.Embed(ctx, m, set.Data.All())
	if err != nil {
		set.Close()
		return err
	}
	set.Table, set.LeftOut = e.ItemTable(), e.LeftOut
	return nil
}
