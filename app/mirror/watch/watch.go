// Package watch calls a function whenever something in a folder has changed and is quiet
// again. It asks the system to tell of changes and, because no system tells of all (a
// folder on another machine, more folders than may be watched), also looks now and then.
package watch

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Options say when to look.
type Options struct {
	// Quiet is how long nothing has to change before a round, so that a file that is being
	// copied is whole; default 1 s. Where changes do not end, a round comes after 20 times
	// as long.
	Quiet time.Duration
	// Every is the longest time between rounds; default a minute.
	Every time.Duration
	// Except is a folder whose changes are not told of.
	Except string
	// Told, if set, is given the reason why the system does not tell of changes.
	Told func(error)
}

// Follow calls round, and calls it again after each change in a folder, until ctx ends, which
// is no error, or round returns one. Of a file it follows the folder that the file is in.
func Follow(ctx context.Context, place string, opt Options, round func(context.Context) error) error {
	if opt.Quiet <= 0 {
		opt.Quiet = time.Second
	}
	if opt.Every <= 0 {
		opt.Every = time.Minute
	}
	events, stop, err := notify(place, opt.Except) // before the first round, so that it misses nothing
	if err != nil && opt.Told != nil {
		opt.Told(err)
	}
	defer stop()
	for {
		if err := round(ctx); err != nil {
			return err
		}
		if !wait(ctx, events, opt) {
			return nil
		}
	}
}

// wait returns true when it is time for a round, false when ctx has ended.
func wait(ctx context.Context, events <-chan struct{}, opt Options) bool {
	every := time.NewTimer(opt.Every)
	defer every.Stop()
	var quiet, late <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return false
		case <-events:
			quiet = time.After(opt.Quiet)
			if late == nil {
				late = time.After(20 * opt.Quiet)
			}
			continue
		case <-quiet:
		case <-late:
		case <-every.C:
		}
		return ctx.Err() == nil
	}
}

// notify asks the system to tell of changes. The channel is nil with an error.
func notify(place, except string) (events <-chan struct{}, stop func(), err error) {
	nothing := func() {}
	if st, err := os.Stat(place); err == nil && !st.IsDir() {
		place = filepath.Dir(place)
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, nothing, err
	}
	if except != "" {
		if abs, err := filepath.Abs(except); err == nil {
			except = abs
		}
	}
	f := &follower{w: w, except: except, events: make(chan struct{}, 1)}
	if err := f.add(place); err != nil {
		w.Close()
		return nil, nothing, err
	}
	go f.run()
	return f.events, func() { w.Close() }, nil
}

// follower passes on what the system tells.
type follower struct {
	w      *fsnotify.Watcher
	except string
	events chan struct{} // holds at most one
}

// add watches a folder and those in it. One that has gone meanwhile is no error.
func (f *follower) add(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case err != nil || !e.IsDir():
			return nil
		case path != dir && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		}
		if abs, err := filepath.Abs(path); err == nil && abs == f.except {
			return fs.SkipDir
		}
		if err := f.w.Add(path); err != nil {
			if _, gone := os.Lstat(path); gone != nil {
				return nil
			}
			return fmt.Errorf("%s cannot be watched: %w", path, err)
		}
		return nil
	})
}

// run ends when the watcher is closed.
func (f *follower) run() {
	for {
		select {
		case e, ok := <-f.w.Events:
			if !ok {
				return
			}
			if e.Has(fsnotify.Create) {
				if st, err := os.Lstat(e.Name); err == nil && st.IsDir() {
					_ = f.add(e.Name) // what cannot be watched is looked at now and then
				}
			}
		case _, ok := <-f.w.Errors: // some events are lost: as if there had been one
			if !ok {
				return
			}
		}
		select {
		case f.events <- struct{}{}:
		default:
		}
	}
}
