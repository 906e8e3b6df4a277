// Package watch calls a function whenever a folder has changed and is quiet again. The system reports
// changes, but not all (a folder on another machine, more folders than may be watched), so the function
// is also called at intervals.
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

// Options control when the function is called.
type Options struct {
	// Quiet is the time without changes before a round, so that a file that is being copied is
	// complete; default 1 s. If changes do not end, the round comes after 20 times
	// this time.
	Quiet time.Duration
	// Every is the longest time between rounds; default a minute.
	Every time.Duration
	// Except is a folder whose changes are ignored.
	Except string
	// Now, if set, asks for a round at once.
	Now <-chan struct{}
	// OnChange, if set, is called with the reason why the system does not report changes.
	OnChange func(error)
}

// Watch calls round, and again after each change in a folder, until ctx ends (which is not an error) or round
// returns an error. If place is a file, it follows the file's folder.
func Watch(ctx context.Context, place string, opt Options, round func(context.Context) error) error {
	if opt.Quiet <= 0 {
		opt.Quiet = time.Second
	}
	if opt.Every <= 0 {
		opt.Every = time.Minute
	}
	events, stop, err := startNotify(place, opt.Except) // start before the first round, so that no change is missed
	if err != nil && opt.OnChange != nil {
		opt.OnChange(err)
	}
	defer stop()
	for {
		if err := round(ctx); err != nil {
			return err
		}
		if !waitForRound(ctx, events, opt) {
			return nil
		}
	}
}

// waitForRound returns true when it is time for a round, false when ctx has ended.
func waitForRound(ctx context.Context, events <-chan struct{}, opt Options) bool {
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
		case <-opt.Now:
		case <-quiet:
		case <-late:
		case <-every.C:
		}
		return ctx.Err() == nil
	}
}

// startNotify asks the system to report changes. The channel is nil with an error.
func startNotify(place, except string) (events <-chan struct{}, stop func(), err error) {
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

// follower passes on the reports of the system.
type follower struct {
	w      *fsnotify.Watcher
	except string
	events chan struct{} // has at most one entry
}

// add watches a folder and its subfolders. It ignores folders that were removed in the meantime.
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
					_ = f.add(e.Name) // a folder that cannot be watched is compared at intervals
				}
			}
		case _, ok := <-f.w.Errors: // some events were lost, so assume a change
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
