package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/compute/projection"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/maps"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
	"github.com/kindred-ml/kindred/internal/page/report/retrieval"
	"github.com/kindred-ml/kindred/run"
)

// PageOptions holds the options of Look. With the zero value, data sets that are known by
// name have no photos.
type PageOptions struct {
	Home string // the folder of data sets known by name
	// Data, if set, is the present place of the runs' data set.
	Data string
	Page string // the path of the page, to which links to photos are relative
	Seed uint64 // seed of the maps and of the choice of queries
	// Names are names of rows, each RUN=NAME: RUN is the folder of one of the runs in the row.
	Names []string
}

const (
	// maxMapItems is the largest number of items on a run's map.
	maxMapItems = 3000
	// maxTSNEMaps is the largest number of maps that are placed by t-SNE, which takes
	// seconds. With more maps, all show the two directions of largest variance.
	maxTSNEMaps = 6
	// maxPhotoTime is the longest time for reading the photos of a page.
	maxPhotoTime = 15 * time.Second
	// numShownQueries is the number of queries shown before and after training.
	numShownQueries = 6
)

// ReadEmbeddings reads the embeddings that the first run of every group kept. It counts the items,
// makes maps, and finds the neighbours of a few items before and after training, if the
// run kept both embeddings. Photos come from the run's data set, if it can be opened.
func (c *Comparison) ReadEmbeddings(ctx context.Context, v PageOptions) error {
	kept := map[run.Set][]*keptSet{}
	n := 0
	for _, set := range run.Sets() {
		for i := range c.Groups {
			k, err := c.Groups[i].readKept(set)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				return err
			}
			kept[set] = append(kept[set], k)
			if set != run.GallerySet {
				n++
			}
		}
	}
	p := photos{ctx: ctx, view: v}
	defer func() {
		p.close()
		c.Unseen = p.failed
	}()
	for _, set := range run.Sets() {
		if set == run.GallerySet { // scored, and no set of its own
			continue
		}
		s := report.Section{Title: "Map of the " + describeSetName(set.String())}
		for _, k := range kept[set] {
			m, err := k.newMap(ctx, v, n <= maxTSNEMaps)
			if err != nil {
				return err
			}
			if len(c.Groups) == 1 {
				m.Title = ""
			}
			if err := p.open(k.run).AddThumbs(ctx, &m); err != nil {
				return err
			}
			m.Folder = photo.PhotoFolder(v.Page, p.root(k.run), m.Names)
			s.Blocks = append(s.Blocks, m)
		}
		if len(s.Blocks) > 0 {
			c.views = append(c.views, s)
		}
	}
	s := report.Section{}
	for _, k := range kept[run.TestSet] {
		rows, err := k.neighbourBlocks(ctx, v, &p, len(c.Groups) > 1)
		if err != nil {
			return err
		}
		s.Blocks = append(s.Blocks, rows...)
	}
	if n := len(s.Blocks); n > 0 {
		s.Title = "Neighbours after training"
		if n > 2*len(kept[run.TestSet]) {
			s.Title = "Neighbours, before and after training"
		}
		c.views = append(c.views, s)
	}
	return nil
}

// keptSet is a set of samples whose embeddings a group's first run kept.
type keptSet struct {
	group *Group
	run   *Run
	set   run.Set
	table *embedding.Table // labels that are shown
}

// readKept reads the embeddings of a set that the group's first run kept, and notes the size.
func (g *Group) readKept(set run.Set) (*keptSet, error) {
	r := g.Runs[0]
	t, err := r.Embeddings(set)
	if err != nil {
		return nil, err
	}
	if t, err = t.Select(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Dir(), err)
	}
	if g.sizes == nil {
		g.sizes, g.classes = map[string]size{}, map[string][]string{}
	}
	_, names := maps.NumberClasses(&t.Columns[0])
	g.sizes[set.String()] = size{t.X.Rows, len(names)}
	g.classes[set.String()] = g.scoredClasses(set, names)
	return &keptSet{g, r, set, t}, nil
}

// newMap places a set in the plane: by its own coordinates if it has two dimensions, by
// t-SNE, or along the directions of largest variance.
func (k *keptSet) newMap(ctx context.Context, v PageOptions, tsne bool) (report.Map, error) {
	t, step := maps.Sample(k.table, maxMapItems)
	var x, y []float64
	how := ""
	switch {
	case t.X.Cols == 2:
		for i := range t.X.Rows {
			x, y = append(x, float64(t.X.At(i, 0))), append(y, float64(t.X.At(i, 1)))
		}
		how = "the two dimensions of the embedding"
	case tsne && t.X.Rows > 3:
		m, err := projection.TSNE{Iterations: 500, Seed: v.Seed}.Run(ctx, t.X)
		if err != nil {
			return report.Map{}, fmt.Errorf("%s: %w", k.run.Dir(), err)
		}
		x, y = m.X, m.Y
		how = "by t-SNE, in which only neighbourhoods have a meaning"
	default:
		p, err := projection.PCA(ctx, t.X, 2)
		if err != nil {
			return report.Map{}, fmt.Errorf("%s: %w", k.run.Dir(), err)
		}
		for i := range t.X.Rows {
			x, y = append(x, float64(p.Scores.At(i, 0))), append(y, float64(p.Scores.At(i, 1)))
		}
		how = fmt.Sprintf("the two directions of largest variance, %.0f %% of it", 100*(p.Explained[0]+p.Explained[1]))
	}
	m := maps.NewMap(t, x, y)
	m.Title, m.Step, m.File = k.group.Name, step, k.set.String()
	shown := fmt.Sprintf("all %d", k.table.X.Rows)
	if step > 1 {
		shown = fmt.Sprintf("%d of %d", t.X.Rows, k.table.X.Rows)
	}
	m.Caption = fmt.Sprintf("%s: %s %s, %s.", capitalize(describeSetName(k.set.String())), shown, k.run.itemWord(), how)
	return m, nil
}

// neighbourBlocks shows the neighbours of a few queries before and after training, and the worst queries after it.
func (k *keptSet) neighbourBlocks(ctx context.Context, v PageOptions, p *photos, named bool) ([]report.Block, error) {
	snaps, err := k.run.Snapshots(k.set)
	if err != nil || k.table.Files == nil {
		return nil, err
	}
	d := p.open(k.run).Data
	if d == nil || d.Source == nil { // the data set is missing, or has features only
		return nil, nil
	}
	look, err := photo.NewReader(ctx, d, k.table.ItemNames())
	if err != nil {
		return nil, err
	}
	ids, names := k.table.NamedLabels()
	cfg := retrieval.Config{Queries: numShownQueries, Neighbours: 4, Seed: v.Seed, Picture: look,
		Label: func(i int) string { return names[0][ids[0][i]] },
		Name:  func(i int) string { return k.table.RowName(i) },
		Link:  photo.Links(v.Page, p.root(k.run), k.table.Files)}
	var out []report.Block
	var worst report.Retrieval
	add := func(when string, t *embedding.Table) error {
		pair, err := retrieval.ChooseQueries(ctx, t.X, ids[0], cfg)
		if err != nil {
			return fmt.Errorf("%s: %w", k.run.Dir(), err)
		}
		pair.Random.Caption = fmt.Sprintf("%s: %d random queries (first) and their nearest neighbours in the %s, "+
			"%d %s of %d classes.", when, len(pair.Random.Rows), describeSetName(k.set.String()), t.X.Rows,
			k.run.itemWord(),
			len(names[0]))
		if named {
			pair.Random.Caption = k.group.Name + ". " + pair.Random.Caption
		}
		out = append(out, pair.Random)
		worst = pair.Worst
		return nil
	}
	if len(snaps) > 0 && snaps[0].Epoch == 0 {
		before, err := snaps[0].Embeddings()
		if err != nil {
			return nil, err
		}
		if before.X.Rows == k.table.X.Rows && slices.Equal(before.Files, k.table.Files) {
			if err := add("Before training", before); err != nil {
				return nil, err
			}
		}
	}
	if err := add("After training", k.table); err != nil {
		return nil, err
	}
	worst.Caption = "After training: " + worst.Caption
	if named {
		worst.Caption = k.group.Name + ". " + worst.Caption
	}
	return append(out, worst), nil
}

// photos opens the data sets of runs, each once.
type photos struct {
	ctx    context.Context
	view   PageOptions
	opened []openedSet
	failed []error
}

type openedSet struct {
	cfg run.DataConfig
	*photo.Album
}

// open returns the photos of a run's data set, or nil if the set does not exist any more.
func (p *photos) open(r *Run) *photo.Album {
	cfg, err := r.Folder.Config()
	if err != nil {
		return &photo.Album{}
	}
	if p.view.Data != "" {
		cfg.Data.Name, cfg.Data.Path = "", p.view.Data
	}
	for _, o := range p.opened {
		if o.cfg == cfg.Data {
			return o.Album
		}
	}
	d, err := cfg.Data.Open(p.ctx, p.view.Home)
	if err != nil {
		d = nil
		if p.view.Data == "" {
			err = run.ExplainMissingData(err, r.Dir())
		}
		if cfg.Data.Path+cfg.Data.Name != "" { // a set that a program passed has no place
			p.failed = append(p.failed, err)
		}
	}
	album := &photo.Album{Data: d, Time: maxPhotoTime}
	p.opened = append(p.opened, openedSet{cfg.Data, album})
	return album
}

func (p *photos) close() {
	for _, o := range p.opened {
		o.Close()
	}
}

// root returns the folder that holds the items of a run's data set as files.
func (p *photos) root(r *Run) string {
	cfg, err := r.Folder.Config()
	if err != nil {
		return ""
	}
	return photo.RootFolder(cmp.Or(p.view.Data, cfg.Data.Path, cfg.Data.Name), p.view.Home)
}

// size is the number of items and of classes of a set.
type size struct{ items, classes int }

// cells returns the size as cells of a table, blank if it is unknown.
func (s size) cells() []report.Cell {
	if s == (size{}) {
		return []report.Cell{report.BlankCell(), report.BlankCell()}
	}
	return []report.Cell{report.NumberCell(float64(s.items), 0), report.NumberCell(float64(s.classes), 0)}
}

// describeSetName returns the description of a set of samples.
func describeSetName(set string) string {
	switch set {
	case "seen":
		return "test samples of the training classes"
	}
	return set + " set"
}

func capitalize(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
