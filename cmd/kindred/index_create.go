package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/indexing"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/collection/calibrations"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/run"
)

type indexCreateFlags struct {
	inputs.ModelFlags
	indexing.Flags
	inputs.StoreFlags
	out, distance, store string
	words                string
}

func newIndexCreate(a *console.Console) *cobra.Command {
	var f indexCreateFlags
	cmd := &cobra.Command{
		Use:               "create RUN PHOTOS --out INDEX | --store URL",
		ValidArgsFunction: complete.Two(complete.RunOrFile, complete.Datasets),
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
			return f.ReadArgs(args, &f.Photos.Data, "the folder of photos", "--data")
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return createIndex(a, cmd, &f) },
	}
	flags.New(cmd).Text(&f.out, "out", "", "folder of the index to make", complete.Folders)
	flags.New(cmd).Text(&f.store, "store", "", "store of a database to make, instead of --out: "+inputs.StoreForm,
		complete.Nothing)
	f.StoreFlags.Add(cmd)
	flags.New(cmd).Distance(&f.distance, "",
		"that of the run's scores; cosine for a network that was not trained here; "+
			"euclidean for embeddings", flags.AnyDistance...)
	inputs.AddTower(cmd, &f.words, "folder of the text tower that was trained together with --network (CLIP, "+
		"SigLIP), to "+
		"search by words")
	f.ModelFlags.Add(cmd)
	f.Flags.Add(cmd)
	return cmd
}

// createIndex makes an index and fills it.
func createIndex(a *console.Console, cmd *cobra.Command, f *indexCreateFlags) (err error) {
	ctx, to := cmd.Context(), "an index"
	switch {
	case f.out == "" && f.store == "":
		return cli.Usagef("missing --out: the folder of the index, or --store: a store of a database")
	case f.out != "" && f.store != "":
		return cli.Usagef("give --out or --store, not both")
	}
	if f.store != "" {
		to = "a store of a database (--store)"
		if _, _, err := inputs.SplitStore(f.store); err != nil {
			return err
		}
	}
	rules := append(f.StoreFlags.Rules(f.store != ""),
		flags.When("words", f.store == "", "", "a store remembers no text tower: give --words to the search"))
	if err := cmp.Or(f.Check(cmd), flags.Check(cmd, to, rules...)); err != nil {
		return err
	}
	if f.words != "" && f.Network == "" {
		return cli.Usagef("--words %s applies to --network: a text tower belongs to a network that was trained "+
			"together "+
			"with it and no further", f.words)
	}
	if f.Run+f.Network == "" {
		if f.Embeddings == "" {
			return cli.Usagef("missing argument RUN, or --network: the network that embeds the photos")
		}
		if err := flags.Check(cmd, "a file of embeddings",
			flags.When(inputs.NetworkFlagNames, false, "", "it applies to --network, which is missing"),
			flags.When(provenance.ForceFlag, false, "", "the index takes the network that the file "+
				"names")); err != nil {
			return err
		}
	}
	f.Joint = f.words != ""
	cfg := index.Config{}
	if f.distance != "" {
		if cfg.Distance, err = eval.ParseDistance(f.distance); err != nil {
			return cli.UsageError{Err: err}
		}
	}
	if f.out != "" && inputs.IsIndex(f.out) {
		return f.existsError()
	}
	s, err := f.Open(ctx, a, func() (*run.Model, error) {
		if f.Run+f.Network == "" {
			return nil, nil
		}
		return f.Load(ctx, a)
	}, f.networkSource)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.Model != nil {
		cfg.Dim = s.Model.Net.Spec().OutDim()
	} else {
		cfg.Dim = s.Table.X.Cols
		cfg.Network = index.Network{Network: s.Table.Network, External: s.Table.Network.Fingerprint != ""}
	}
	if f.distance == "" {
		if s.Model != nil {
			if cfg.Distance, err = s.Model.Distance(); err != nil {
				return err
			}
		}
		f.distance = cfg.Distance.String()
	}
	if f.store != "" {
		return createStore(ctx, a, f, s, cfg.Dim)
	}
	return makeIndex(ctx, a, f, s, cfg)
}

// networkSource returns the embeddings of the network that the index gets; nil without one.
func (f *indexCreateFlags) networkSource(m *run.Model) (*provenance.EmbeddingSource, error) {
	if m == nil {
		return nil, nil
	}
	n, err := m.Identity(f.Title())
	return &provenance.EmbeddingSource{Name: f.NetworkText(), Network: n}, err
}

// indexFilePattern matches the names of an index's files.
var indexFilePattern = regexp.MustCompile(`^(MANIFEST|SPARE|network|calibration\.json|\d{6}\.[a-z]+|\.kindred.*)$`)

// makeIndex makes the folder of an index and fills it. An error removes it; an
// interruption leaves the items so far, if the index exists by then. The index of another process in the
// same folder stays, because only the process with the lock makes or removes files.
func makeIndex(ctx context.Context, a *console.Console, f *indexCreateFlags, s *indexing.Source,
	cfg index.Config) (err error) {
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
	if err := copyNetwork(a, f, s.Model, &cfg); err != nil {
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
	return indexing.Fill(ctx, a, lookup.ItemsOfIndex(x), s, &f.Flags)
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
	if inputs.IsIndex(f.out) {
		return nil, errors.Join(f.existsError(), held.Release())
	}
	return held, nil
}

// existsError returns the error for an index that exists already.
func (f *indexCreateFlags) existsError() error {
	return fmt.Errorf("%s is an index already: add to it with kindred index add, or choose another --out", f.out)
}

// copyNetwork copies the network of an index, if it has one, and the network's calibration into the folder.
func copyNetwork(a *console.Console, f *indexCreateFlags, m *run.Model, cfg *index.Config) (err error) {
	if m == nil {
		return nil
	}
	if cfg.Network, err = provenance.SaveNetwork(m, f.out, f.NetworkText()); err != nil {
		return err
	}
	if err := inputs.RecordTower(a, f.words, m, f.Network, &cfg.Network); err != nil {
		return err
	}
	of, err := calibrations.FromNetwork(m, f.Run, f.Network)
	if err != nil {
		return err
	}
	of.Distance = f.distance
	_, err = copyCalibration(a, of, calibrations.Path(f.out, true), cfg.Network.Network)
	return err
}

// createStore makes or opens a store of a database and fills it.
func createStore(ctx context.Context, a *console.Console, f *indexCreateFlags, s *indexing.Source, dim int) error {
	to, err := f.Ensure(ctx, a, f.store, dim, f.distance, cmp.Or(f.Run, f.Network))
	if err != nil {
		return err
	}
	model := func() (*run.Model, error) { return s.Model, nil }
	err = indexing.Fill(ctx, a, &lookup.Items{Store: to, Name: to.Name, Model: model}, s, &f.Flags)
	return errors.Join(err, to.Close())
}

func newIndexAdd(a *console.Console) *cobra.Command {
	var f indexing.Flags
	cmd := &cobra.Command{
		Use:               "add INDEX --data PHOTOS | INDEX --embeddings FILE",
		ValidArgsFunction: complete.One(complete.Folders),
		Short:             "Add photos or embeddings to an index",
		Long: `add embeds photos with the network of the index and adds them, or adds embeddings
by the same network. It skips items whose ids are in the index already, and does not
embed their photos again; --update replaces them. Items whose photos were deleted stay
in the index; kindred index sync removes them.`,
		Example: `  kindred index add photos.index --data more-photos/ --prefix more/
  kindred index add photos.index --data photos/ --update`,
		Args: exactArgs("index"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.Check(cmd); err != nil {
				return err
			}
			return inputs.ChangeIndex(args[0], func(x *index.Index) error {
				s, err := f.Open(cmd.Context(), a, func() (*run.Model, error) { return provenance.LoadNetwork(x) },
					func(*run.Model) (*provenance.EmbeddingSource, error) {
						of, err := provenance.IndexNetwork(x)
						return &provenance.EmbeddingSource{Name: args[0], Network: of, Dim: x.Info().Dim}, err
					})
				if err != nil {
					return err
				}
				defer s.Close()
				return indexing.Fill(cmd.Context(), a, lookup.ItemsOfIndex(x), s, &f)
			})
		},
	}
	f.Add(cmd)
	cmd.Flags().BoolVar(&f.Update, "update", false, "replace items whose ids are in the index already")
	return cmd
}
