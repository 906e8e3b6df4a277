// Package serving opens the indexes and stores that kindred serve has, and lets other programs replace them meanwhile.
package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/foldersync"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/serve"
)

// Options says what a server serves, beside its indexes, and how.
type Options struct {
	Stores   []string // addresses of stores of databases
	Run      string   // run whose network made the embeddings of Stores
	Pictures []string // folders of pictures to show
	Uploads  string   // folder for added pictures; "" is uploads in the index
	Label    string   // column of the items' classes; "" is label
	ReadOnly bool
	Sync     string        // folder that the one index follows; "" follows none
	Every    time.Duration // longest time between two comparisons with it
	Most     float64       // share of the items that Sync may remove without a decision
}

// Index is an index that a server has open. 'kindred index reembed' replaces its contents and its network
// while the server runs.
type Index struct {
	a         *console.Console
	o         *Options
	dir       string
	log       *slog.Logger
	x         *index.Index
	following *serve.FolderSync // nil unless it follows a folder
	removals  *mirror.Removals  // the decisions about its missing photos; nil unless it follows a folder
	unfollow  func()
}

// openIndex opens an index to serve.
func (o *Options) openIndex(a *console.Console, dir string, log *slog.Logger) (*Index, error) {
	x, err := index.Open(dir, index.Options{ReadOnly: o.ReadOnly})
	if err != nil {
		var held *lock.HeldError
		if errors.As(err, &held) {
			err = fmt.Errorf("%w; --read-only serves the index as it is now", err)
		}
		return nil, err
	}
	inputs.WarnShortfall(a, x)
	h := &Index{a: a, o: o, dir: dir, log: log, x: x, unfollow: func() {}}
	if o.Sync != "" {
		photos := inputs.PhotoFlags{Data: o.Sync}
		removals, err := mirror.OpenRemovals(dir)
		if err != nil {
			return nil, errors.Join(err, x.Close())
		}
		h.removals = removals
		h.following = serve.NewFolderSync(o.Sync, photos.Place(), func(p *serve.PendingRemovals, remove bool) error {
			return removals.Decide((*mirror.Pending)(p), remove)
		})
	}
	return h, nil
}

func (h *Index) close() error { return h.x.Close() }

// collection returns an open index as a collection, with its network.
func (h *Index) collection(ctx context.Context, x *index.Index) (c serve.Collection, err error) {
	c = serve.Collection{Name: serve.CollectionName(h.dir), Store: x.Store(h.o.ReadOnly), FolderSync: h.following}
	if !h.o.ReadOnly {
		if c.Uploads, err = filepath.Abs(cmp.Or(h.o.Uploads, filepath.Join(h.dir, "uploads"))); err != nil {
			return c, err
		}
	}
	source, err := lookup.SourceOfIndex(x, h.dir, h.o.Label, h.a.Err)
	if err != nil {
		return c, err
	}
	return c, h.o.setNetwork(ctx, &c, source, h.log)
}

// PollInterval is the time between two looks whether another process asks for the index, or has replaced it.
const PollInterval = 100 * time.Millisecond

// StartKeeping follows the folder of --sync, and lets other processes replace the contents of the index, until stop.
func (h *Index) StartKeeping(ctx context.Context, s *serve.Server) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	h.follow(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for Sleep(ctx, PollInterval) {
			if !h.o.ReadOnly {
				if lock.IsReleaseRequested(h.dir) {
					h.handOver(ctx, s)
				}
			} else if is, err := h.x.IsOutdated(); is && err == nil {
				h.retry(ctx, func() error { return h.reopen(ctx, s) })
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
		h.unfollow()
	}
}

// Sleep waits, and reports whether ctx goes on.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (h *Index) follow(ctx context.Context) {
	if h.following != nil {
		h.unfollow = foldersync.Follow(ctx, h.a, h.x, h.o.Sync, h.o.Every, h.o.Most, h.following, h.removals, h.log)
	}
}

// handOver lets another process have the index for a while. Searches go on with the old contents, and changes wait.
func (h *Index) handOver(ctx context.Context, s *serve.Server) {
	defer s.Pause(serve.CollectionName(h.dir))()
	h.unfollow()
	if err := h.x.Yield(); err != nil {
		h.log.Error("the log of the index", "index", h.dir, "error", err) // what was acknowledged is on the disk
	}
	h.retry(ctx, func() error { return h.reopen(ctx, s) })
	h.follow(ctx)
}

// retry calls f until it succeeds. It logs an error once.
func (h *Index) retry(ctx context.Context, f func() error) {
	said := ""
	for {
		err := f()
		if err == nil || ctx.Err() != nil {
			return
		}
		var held *lock.HeldError
		if errors.As(err, &held) { // for less than a second, as a rule
			if !Sleep(ctx, PollInterval/4) {
				return
			}
			continue
		}
		if err.Error() != said {
			said = err.Error()
			h.log.Error("the index cannot be opened again; its earlier contents are served, and no changes are "+
				"accepted",
				"index", h.dir, "error", said)
		}
		if !Sleep(ctx, time.Second) {
			return
		}
	}
}

// errIndexWanted is the error while another process asks for the index.
var errIndexWanted = &lock.HeldError{}

// reopen opens the index again and serves its contents with its network. Requests under way finish with the old ones.
func (h *Index) reopen(ctx context.Context, s *serve.Server) error {
	if !h.o.ReadOnly && lock.IsReleaseRequested(h.dir) {
		return errIndexWanted
	}
	x, err := index.Open(h.dir, index.Options{ReadOnly: h.o.ReadOnly})
	if err != nil {
		return err
	}
	was, is := h.x.Info().Network, x.Info().Network
	c, err := h.collection(ctx, x)
	var unfit *serve.CalibrationMismatchError
	if errors.As(err, &unfit) { // it is of the old network
		h.log.Warn("the calibration is not used", "index", h.dir, "why", unfit.Error(),
			"next", escape.Command("kindred", "calibrate", h.dir))
		err = nil
	}
	if err == nil {
		err = s.Replace(c)
	}
	if err != nil {
		return errors.Join(err, x.Close())
	}
	old := h.x
	h.x = x
	if was != is {
		h.log.Info("the index has another network", "index", h.dir, "network", is.Name, "before", was.Name)
	}
	return old.Close()
}

// Open opens all indexes and stores to serve. It returns the indexes, and a function that closes all.
func (o *Options) Open(ctx context.Context, a *console.Console, dirs []string,
	opt *serve.Options) (all []*Index,
	_ func() error, err error) {
	var open []func() error
	end := func() (err error) {
		for _, c := range slices.Backward(open) {
			err = errors.Join(err, c())
		}
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, end())
		}
	}()
	for _, dir := range dirs {
		h, err := o.openIndex(a, dir, opt.Log)
		if err != nil {
			return nil, nil, err
		}
		all, open = append(all, h), append(open, h.close)
		c, err := h.collection(ctx, h.x)
		if err != nil {
			return nil, nil, err
		}
		opt.Collections = append(opt.Collections, c)
	}
	for _, url := range o.Stores {
		source, err := lookup.Open(ctx, &lookup.Spec{Store: url, Run: o.Run, Column: o.Label},
			&inputs.LookupFlags{Console: a})
		if err != nil {
			return nil, nil, err
		}
		open = append(open, source.Close)
		c := serve.Collection{Name: source.Items.Name, Store: source.Items.Store, Uploads: o.Uploads}
		if err := o.setNetwork(ctx, &c, source, opt.Log); err != nil {
			return nil, nil, err
		}
		opt.Collections = append(opt.Collections, c)
	}
	return all, end, nil
}

// setNetwork gives a collection its network and calibration, if it has them, and the settings of the flags.
// What only the owner of the server can mend is in the log.
func (o *Options) setNetwork(ctx context.Context, c *serve.Collection, source *lookup.Source,
	log *slog.Logger) error {
	c.Folders, c.Label = o.Pictures, o.Label
	m, err := source.Model()
	if m != nil {
		c.Embedder = serve.NetworkEmbedder(m)
	}
	if err != nil {
		return err
	}
	in, err := source.Items.Info(ctx)
	if err != nil {
		return err
	}
	c.HasUnitLength = m != nil && lookup.IsUnitLength(m.Net.Spec())
	tower, why, err := source.OpenIndexTower(in.Distance)
	if c.NoTextReason = why; tower != nil {
		c.TextEmbedder = tower
	}
	if err != nil {
		log.Warn("no words", "collection", c.Name, "error", err)
	}
	if source.Calibration.File == "" {
		return nil
	}
	of := *source.Calibration // the server reads new calibrations while it writes its log
	of.Notes = nil
	c.CalibrationFile, err = serve.OpenCalibration(of.File, func(says *decide.Calibration) (embedding.Network, error) {
		return of.SourceFor(says, of.File)
	}, in.Distance.String(), in.Dim)
	return err
}
