package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/items"
	"github.com/kindred-ml/kindred/internal/app/cli/shards"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/collection/calibrations"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/run"
)

// itemFlags name the items to add to an index.
type itemFlags struct {
	photos             photoFlags
	embeddings, labels string
	columns, prefix    string
	update, strict     bool
	forceNetwork       bool
	queued             shareFlags
}

func (f *itemFlags) add(cmd *cobra.Command) {
	fs := newFlags(cmd)
	f.photos.add(cmd)
	cli.AddStrict(fs.FlagSet, &f.strict)
	fs.text(&f.embeddings, "embeddings", "", "embeddings by the same network, instead of photos "+
		"("+strings.Join(embeddingFormats().Extensions(), ", ")+"); --data may name the folder of their photos",
		completeFiles)
	fs.forceNetwork(&f.forceNetwork)
	fs.labels(&f.labels, "labels of --embeddings")
	fs.text(&f.columns, "columns", "", "file of further columns (.csv or .parquet); its column id or path "+
		"has the items' ids", completeFiles)
	fs.text(&f.prefix, "prefix", "", "beginning of the ids, before the photos' names", completeNothing)
	f.queued.add(cmd)
}

// check refuses flags that do not apply to the items to add.
func (f *itemFlags) check(cmd *cobra.Command) error {
	what := "a file of embeddings (--embeddings)"
	if f.photos.data == "" {
		what = "a file of embeddings"
		if f.embeddings == "" {
			return usagef("missing photos (--data), or --embeddings: the items to add")
		}
	}
	return checkRules(cmd, what,
		flagRule{"labels", true, "embeddings", reasonOwnLabels},
		flagRule{provenance.ForceFlag, true, "embeddings", reasonFile},
		flagRule{"allow-outside strict queue", f.embeddings == "", "", "photos are not read"},
		flagRule{"data-dir", f.photos.data != "", "", reasonDataset})
}

type indexCreateFlags struct {
	modelFlags
	itemFlags
	storeFlags
	out, distance, store string
	words                string
}

func newIndexCreate(a *app) *cobra.Command {
	var f indexCreateFlags
	cmd := &cobra.Command{
		Use:               "create RUN PHOTOS --out INDEX | --store URL",
		ValidArgsFunction: completeTwo(completeRunOrFile, completeDatasets),
		Short:             "Make an index of photos, or of embeddings",
		Long: `create makes the folder of an index, copies the network of the run RUN into it, embeds
PHOTOS and adds them. --run and --data mean the same as the arguments. --embeddings
adds embeddings from a file instead of photos. RUN or --network may then be left out,
but without a network the index cannot be searched by photo. --store makes a store of
a database instead of a folder, or adds to an existing store; it does not copy the
network.

An item's id is its name below PHOTOS, or the column id of --embeddings. Classes
become the columns label and coarse. --columns adds other columns. A column whose
values are all numbers, or all true or false, keeps that type; any other is text.

With --words, or if the folder of --network has a text tower too, the index remembers the
tower, and can be searched by words.

Photos are saved after about every thousand, or every 64 jobs of --queue. If create is
interrupted, kindred index add goes on; if it fails, it removes what it made.`,
		Example: `  kindred index create runs/photos photos/ --out photos.index
  kindred index create runs/photos photos/ --out shared.index --queue queue/
  kindred index create --embeddings E.npy --out E.index`,
		Args: func(_ *cobra.Command, args []string) error {
			return f.readArgs(args, &f.photos.data, "the folder of photos", "--data")
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return a.createIndex(cmd, &f) },
	}
	newFlags(cmd).text(&f.out, "out", "", "folder of the index to make", completeFolders)
	newFlags(cmd).text(&f.store, "store", "", "store of a database to make, instead of --out: "+storeForm,
		completeNothing)
	f.storeFlags.add(cmd)
	newFlags(cmd).distance(&f.distance, "",
		"that of the run's scores; cosine for a network that was not trained here; "+
			"euclidean for embeddings", anyDistance...)
	addTower(cmd, &f.words, "folder of the text tower that was trained together with --network (CLIP, SigLIP), to "+
		"search by words")
	f.modelFlags.add(cmd)
	f.itemFlags.add(cmd)
	return cmd
}

// createIndex makes an index and fills it.
func (a *app) createIndex(cmd *cobra.Command, f *indexCreateFlags) (err error) {
	ctx, to := cmd.Context(), "an index"
	switch {
	case f.out == "" && f.store == "":
		return usagef("missing --out: the folder of the index, or --store: a store of a database")
	case f.out != "" && f.store != "":
		return usagef("give --out or --store, not both")
	}
	if f.store != "" {
		to = "a store of a database (--store)"
		if _, _, err := splitStore(f.store); err != nil {
			return err
		}
	}
	rules := append(f.storeFlags.rules(f.store != ""),
		flagRule{"words", f.store == "", "", "a store remembers no text tower: give --words to the search"})
	if err := cmp.Or(f.check(cmd), checkRules(cmd, to, rules...)); err != nil {
		return err
	}
	if f.words != "" && f.network == "" {
		return usagef("--words %s applies to --network: a text tower belongs to a network that was trained together "+
			"with it and no further", f.words)
	}
	if f.run+f.network == "" {
		if f.embeddings == "" {
			return usagef("missing argument RUN, or --network: the network that embeds the photos")
		}
		if err := checkRules(cmd, "a file of embeddings",
			flagRule{networkFlagNames, false, "", "it applies to --network, which is missing"},
			flagRule{provenance.ForceFlag, false, "", "the index takes the network that the file names"}); err != nil {
			return err
		}
	}
	f.joint = f.words != ""
	cfg := index.Config{}
	if f.distance != "" {
		if cfg.Distance, err = eval.ParseDistance(f.distance); err != nil {
			return usageError(err)
		}
	}
	if f.out != "" && isIndex(f.out) {
		return f.existsError()
	}
	s, err := f.open(ctx, a, func() (*run.Model, error) {
		if f.run+f.network == "" {
			return nil, nil
		}
		return f.model(ctx, a)
	}, f.networkSource)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.model != nil {
		cfg.Dim = s.model.Net.Spec().OutDim()
	} else {
		cfg.Dim = s.Table.X.Cols
		cfg.Network = index.Network{Network: s.Table.Network, External: s.Table.Network.Fingerprint != ""}
	}
	if f.distance == "" {
		if s.model != nil {
			if cfg.Distance, err = s.model.Distance(); err != nil {
				return err
			}
		}
		f.distance = cfg.Distance.String()
	}
	if f.store != "" {
		return a.createStore(ctx, f, s, cfg.Dim)
	}
	return a.makeIndex(ctx, f, s, cfg)
}

// networkSource returns the embeddings of the network that the index gets; nil without one.
func (f *indexCreateFlags) networkSource(m *run.Model) (*provenance.EmbeddingSource, error) {
	if m == nil {
		return nil, nil
	}
	n, err := m.Identity(f.title())
	return &provenance.EmbeddingSource{Name: f.networkText(), Network: n}, err
}

// indexFilePattern matches the names of an index's files.
var indexFilePattern = regexp.MustCompile(`^(MANIFEST|SPARE|network|calibration\.json|\d{6}\.[a-z]+|\.kindred.*)$`)

// makeIndex makes the folder of an index and fills it. An error removes it; an
// interruption leaves the items so far, if the index exists by then. The index of another process in the
// same folder stays, because only the process with the lock makes or removes files.
func (a *app) makeIndex(ctx context.Context, f *indexCreateFlags, s *itemSource, cfg index.Config) (err error) {
	undo, err := atomic.TrackChanges(f.out, indexFilePattern.MatchString)
	if err != nil {
		return err
	}
	mine, err := f.lockOut()
	if err != nil {
		return err
	}
	begun := false
	defer func() {
		var held *lock.HeldError
		others := errors.As(err, &held) || errors.Is(err, fs.ErrExist)
		if err != nil && !others && !(begun && errors.Is(err, context.Canceled)) {
			err = errors.Join(err, undo())
		}
	}()
	if err := a.setNetwork(f, s.model, &cfg); err != nil {
		return errors.Join(err, mine.Release())
	}
	if err := mine.Release(); err != nil { // index.Create takes the lock itself
		return err
	}
	x, err := index.Create(f.out, cfg)
	if err != nil {
		return err
	}
	begun = true
	defer func() { err = cmp.Or(err, x.Close()) }()
	return a.fill(ctx, lookup.ItemsOfIndex(x), s, &f.itemFlags)
}

// lockOut makes the folder of --out and locks it, if it holds no index.
func (f *indexCreateFlags) lockOut() (*lock.Held, error) {
	if err := os.MkdirAll(f.out, 0o777); err != nil {
		return nil, err
	}
	held, err := lock.Folder(f.out)
	if err != nil {
		return nil, err
	}
	if isIndex(f.out) {
		return nil, errors.Join(f.existsError(), held.Release())
	}
	return held, nil
}

// existsError returns the error for an index that exists already.
func (f *indexCreateFlags) existsError() error {
	return fmt.Errorf("%s is an index already: add to it with kindred index add, or choose another --out", f.out)
}

// setNetwork copies the network of an index, if it has one, and the network's calibration into the folder.
func (a *app) setNetwork(f *indexCreateFlags, m *run.Model, cfg *index.Config) (err error) {
	if m == nil {
		return nil
	}
	if cfg.Network, err = provenance.SaveNetwork(m, f.out, f.networkText()); err != nil {
		return err
	}
	if err := a.recordTower(f.words, m, f.network, &cfg.Network); err != nil {
		return err
	}
	of, err := calibrations.FromNetwork(m, f.run, f.network)
	if err != nil {
		return err
	}
	of.Distance = f.distance
	_, err = a.copyCalibration(of, calibrations.Path(f.out, true), cfg.Network.Network)
	return err
}

// createStore makes or opens a store of a database and fills it.
func (a *app) createStore(ctx context.Context, f *indexCreateFlags, s *itemSource, dim int) error {
	to, err := f.ensure(ctx, a, f.store, dim, f.distance, cmp.Or(f.run, f.network))
	if err != nil {
		return err
	}
	model := func() (*run.Model, error) { return s.model, nil }
	err = a.fill(ctx, &lookup.Items{Store: to, Name: to.name, Model: model}, s, &f.itemFlags)
	return errors.Join(err, to.Close())
}

// indexAdded is the JSON of 'kindred index create' and 'add'.
type indexAdded struct {
	Index string `json:"index"`
	index.Added
	Items   int            `json:"items"`
	LeftOut []data.LeftOut `json:"left_out,omitempty"`
}

// fill adds the items of a source and reports the result.
func (a *app) fill(ctx context.Context, to *lookup.Items, s *itemSource, f *itemFlags) error {
	meter := a.newMeter("embedding", countUnit)
	defer meter.close()
	d := &items.Adder{Gallery: to, Update: f.update, Prefix: f.prefix, Columns: s.columns, Progress: meter.showCount,
		From: f.photos.place(), Shared: s.shared}
	var left []data.LeftOut
	var err error
	if s.Table != nil {
		err = d.AddTable(ctx, s.Table, s.Root)
	} else {
		left, err = d.AddPhotos(ctx, s.model, s.Data, s.Root)
	}
	meter.close()
	if to.Index != nil && errors.Is(err, context.Canceled) {
		where := fmt.Sprintf("%d items are in %s", to.Index.Info().Items, to.Name)
		words := []string{"kindred", "index", "add", to.Name}
		for _, g := range [][2]string{{"data", f.photos.data}, {"embeddings", f.embeddings}, {"labels", f.labels},
			{"columns", f.columns}, {"prefix", f.prefix}} {
			if g[1] != "" {
				words = append(words, "--"+g[0], g[1])
			}
		}
		words = append(words, f.queued.commandWords()...)
		return resumableError{error: err, where: where, command: escape.Command(words...)}
	}
	if err != nil {
		return err
	}
	a.printLeftOut(left)
	if said := d.UnmatchedWarning(); said != "" {
		fmt.Fprintln(a.err, "kindred: "+said)
	}
	if err := a.printStale(ctx, d, s.Data, f.photos.data); err != nil {
		return err
	}
	info, err := to.Info(ctx)
	if err != nil {
		return err
	}
	res := indexAdded{to.Name, d.Result, info.Items, left}
	return a.printResultf(res, "%s: %d items; %d added, %d replaced, %d skipped as already there\n", res.Index,
		res.Items, res.Added.Added, res.Replaced, res.Skipped)
}

// itemSource is the source of items: photos and a network, or a table.
type itemSource struct {
	lookup.Set
	model   *run.Model
	columns *items.Columns
	shared  *shards.SharedDataset // nil without a queue
	leave   func()                // closes the queue
}

// Close closes the photos and the queue.
func (s *itemSource) Close() {
	if s.leave != nil {
		s.leave()
	}
	s.Set.Close()
}

// open opens the items to add. model returns the network, or nil without a network. to returns the embeddings that
// those of a file join; nil without any.
func (f *itemFlags) open(ctx context.Context, a *app, model func() (*run.Model, error),
	to func(*run.Model) (*provenance.EmbeddingSource, error)) (s *itemSource, err error) {
	s = &itemSource{}
	if s.columns, err = items.ReadColumns(f.columns); err != nil {
		return nil, err
	}
	for _, said := range s.columns.DescribeUnread() {
		fmt.Fprintln(a.err, "kindred: "+escape.Name(said))
	}
	if s.model, err = model(); err != nil {
		return nil, err
	}
	if f.embeddings != "" {
		if f.photos.data != "" {
			s.Root = f.photos.root()
		}
		t, err := embeddingFormats().Read(f.embeddings)
		if err == nil {
			err = t.CheckIDs()
		}
		if err == nil {
			t, err = a.addAllLabels(t, f.labels)
		}
		if err == nil {
			err = provenance.CheckTable(t, f.embeddings, s.model, "the network")
		}
		if err != nil {
			return nil, err
		}
		others, err := to(s.model)
		if err == nil && others != nil {
			err = provenance.CheckSameNetwork(provenance.SourceOfTable(t, f.embeddings), *others, f.forceNetwork, a.err)
		}
		if err != nil {
			return nil, err
		}
		for _, said := range items.DescribeUnread(t.Skipped, f.embeddings) {
			fmt.Fprintln(a.err, "kindred: "+escape.Name(said))
		}
		s.Table = t
		return s, nil
	}
	if s.model == nil {
		return nil, fmt.Errorf("the index has no network, so photos cannot be embedded: add --embeddings")
	}
	s.model.Config.Data.Strict = f.strict // without strict, photos that cannot be read are reported
	if s.Data, s.Root, err = f.photos.openFor(ctx, s.model, f.strict); err != nil {
		return nil, err
	}
	a.printNotes(s.Data)
	fmt.Fprintf(a.err, "%d photos in %s\n", s.Data.Len(), escape.Name(f.photos.data))
	if f.queued.queue != "" {
		s.shared, s.leave, err = f.queued.share(ctx, a, s.model, s.Data,
			shards.Source{Data: f.photos.data, Outside: f.photos.outside}, f.photos.dataDir)
		if err != nil {
			s.Set.Close()
			return nil, err
		}
	}
	return s, nil
}

func newIndexAdd(a *app) *cobra.Command {
	var f itemFlags
	cmd := &cobra.Command{
		Use:               "add INDEX --data PHOTOS | INDEX --embeddings FILE",
		ValidArgsFunction: completeOne(completeFolders),
		Short:             "Add photos or embeddings to an index",
		Long: `add embeds photos with the network of the index and adds them, or adds embeddings
by the same network. It skips items whose ids are in the index already, and does not
embed their photos again; --update replaces them. Items whose photos were deleted stay
in the index; kindred index sync removes them.`,
		Example: `  kindred index add photos.index --data more-photos/ --prefix more/
  kindred index add photos.index --data photos/ --update`,
		Args: exactArgs("index"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return changeIndex(args[0], func(x *index.Index) error {
				s, err := f.open(cmd.Context(), a, func() (*run.Model, error) { return provenance.LoadNetwork(x) },
					func(*run.Model) (*provenance.EmbeddingSource, error) {
						of, err := provenance.IndexNetwork(x)
						return &provenance.EmbeddingSource{Name: args[0], Network: of, Dim: x.Info().Dim}, err
					})
				if err != nil {
					return err
				}
				defer s.Close()
				return a.fill(cmd.Context(), lookup.ItemsOfIndex(x), s, &f)
			})
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.update, "update", false, "replace items whose ids are in the index already")
	return cmd
}
