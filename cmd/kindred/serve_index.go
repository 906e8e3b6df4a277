package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/serve"
)

// servedIndex is an index that a server has open. 'kindred index reembed' replaces its contents and its network
// while the server runs.
type servedIndex struct {
	a         *app
	f         *serveFlags
	dir       string
	log       *slog.Logger
	x         *index.Index
	following *serve.FolderSync // nil unless it follows a folder
	removals  *mirror.Removals  // the decisions about its missing photos; nil unless it follows a folder
	unfollow  func()
}

// openIndex opens an index to serve.
func (f *serveFlags) openIndex(a *app, dir string, log *slog.Logger) (*servedIndex, error) {
	x, err := index.Open(dir, index.Options{ReadOnly: f.readOnly})
	if err != nil {
		var held *lock.HeldError
		if errors.As(err, &held) {
			err = fmt.Errorf("%w; --read-only serves the index as it is now", err)
		}
		return nil, err
	}
	a.warnShortfall(x)
	h := &servedIndex{a: a, f: f, dir: dir, log: log, x: x, unfollow: func() {}}
	if f.sync != "" {
		photos := photoFlags{data: f.sync}
		removals, err := mirror.OpenRemovals(dir)
		if err != nil {
			return nil, errors.Join(err, x.Close())
		}
		h.removals = removals
		h.following = serve.NewFolderSync(f.sync, photos.place(), func(p *serve.PendingRemovals, remove bool) error {
			return removals.Decide((*mirror.Pending)(p), remove)
		})
	}
	return h, nil
}

func (h *servedIndex) close() error { return h.x.Close() }

// collection returns an open index as a collection, with its network.
func (h *servedIndex) collection(ctx context.Context, x *index.Index) (c serve.Collection, err error) {
	c = serve.Collection{Name: serve.CollectionName(h.dir), Store: x.Store(h.f.readOnly), FolderSync: h.following}
	if !h.f.readOnly {
		if c.Uploads, err = filepath.Abs(cmp.Or(h.f.uploads, filepath.Join(h.dir, "uploads"))); err != nil {
			return c, err
		}
	}
	source, err := lookup.SourceOfIndex(x, h.dir, h.f.label, h.a.err)
	if err != nil {
		return c, err
	}
	return c, h.f.setNetwork(ctx, &c, source, h.log)
}

// pollInterval is the time between two looks whether another process asks for the index, or has replaced it.
const pollInterval = 100 * time.Millisecond

// startKeeping follows the folder of --sync, and lets other processes replace the contents of the index, until stop.
func (h *servedIndex) startKeeping(ctx context.Context, s *serve.Server) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	h.follow(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for sleep(ctx, pollInterval) {
			if !h.f.readOnly {
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

// sleep waits, and reports whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (h *servedIndex) follow(ctx context.Context) {
	if h.following != nil {
		h.unfollow = h.a.startFollowing(ctx, h.x, h.f.sync, h.f.every, h.f.most, h.following, h.removals, h.log)
	}
}

// handOver lets another process have the index for a while. Searches go on with the old contents, and changes wait.
func (h *servedIndex) handOver(ctx context.Context, s *serve.Server) {
	defer s.Pause(serve.CollectionName(h.dir))()
	h.unfollow()
	if err := h.x.Yield(); err != nil {
		h.log.Error("the log of the index", "index", h.dir, "error", err) // what was acknowledged is on the disk
	}
	h.retry(ctx, func() error { return h.reopen(ctx, s) })
	h.follow(ctx)
}

// retry calls f until it succeeds. It logs an error once.
func (h *servedIndex) retry(ctx context.Context, f func() error) {
	said := ""
	for {
		err := f()
		if err == nil || ctx.Err() != nil {
			return
		}
		var held *lock.HeldError
		if errors.As(err, &held) { // for less than a second, as a rule
			if !sleep(ctx, pollInterval/4) {
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
		if !sleep(ctx, time.Second) {
			return
		}
	}
}

// errIndexWanted is the error while another process asks for the index.
var errIndexWanted = &lock.HeldError{}

// reopen opens the index again and serves its contents with its network. Requests under way finish with the old ones.
func (h *servedIndex) reopen(ctx context.Context, s *serve.Server) error {
	if !h.f.readOnly && lock.IsReleaseRequested(h.dir) {
		return errIndexWanted
	}
	x, err := index.Open(h.dir, index.Options{ReadOnly: h.f.readOnly})
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
