package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A change, also in a folder that is new, brings a round in which it is seen; the end of
// the context is no error.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "a"), 0o777); err != nil {
		t.Fatal(err)
	}
	steps := []string{"a/1", "b/2", "b/c/3", "4"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	next := 0
	write := func() {
		path := filepath.Join(dir, filepath.FromSlash(steps[next]))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Error(err)
		}
	}
	opt := Options{Quiet: 5 * time.Millisecond, Every: 20 * time.Second, OnChange: func(err error) { t.Skip(err) }}
	err := Watch(ctx, dir, opt, func(context.Context) error {
		if next < len(steps) {
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(steps[next]))); err == nil {
				next++
			}
		}
		if next == len(steps) {
			cancel()
			return nil
		}
		write()
		return nil
	})
	if err != nil || next != len(steps) {
		t.Fatal(next, err)
	}
}

// Without word from the system it looks now and then; an error of a round ends it.
func TestLooks(t *testing.T) {
	told := 0
	enough := errors.New("enough")
	rounds := 0
	err := Watch(t.Context(), filepath.Join(t.TempDir(), "nothing"), Options{Every: time.Millisecond,
		OnChange: func(error) { told++ }}, func(context.Context) error {
		if rounds++; rounds == 3 {
			return enough
		}
		return nil
	})
	if err != enough || told != 1 {
		t.Error(err, told, rounds)
	}
}

// Changes that do not end do not keep a round away, and those that have ended are one.
func TestQuiet(t *testing.T) {
	events := make(chan struct{})
	opt := Options{Quiet: 20 * time.Millisecond, Every: time.Hour}
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case events <- struct{}{}:
				time.Sleep(time.Millisecond)
			case <-stop:
				return
			}
		}
	}()
	if !waitForRound(t.Context(), events, opt) {
		t.Error("no round")
	}
	close(stop)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if waitForRound(ended, nil, opt) {
		t.Error("a round after the end")
	}
}

// Changes in the folder that is left out bring no round.
func TestExcept(t *testing.T) {
	dir := t.TempDir()
	ix := filepath.Join(dir, "photos.index")
	if err := os.Mkdir(ix, 0o777); err != nil {
		t.Fatal(err)
	}
	events, stop, err := startNotify(dir, ix)
	if err != nil {
		t.Skip(err)
	}
	defer stop()
	for i := range 10 {
		if err := os.WriteFile(filepath.Join(ix, fmt.Sprint(i)), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "photo"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	<-events
	f := &follower{except: ix, events: make(chan struct{}, 1)}
	if f.w, err = fsWatcher(t); err != nil {
		t.Skip(err)
	}
	if err := f.add(dir); err != nil {
		t.Fatal(err)
	}
	if list := f.w.WatchList(); len(list) != 1 || list[0] != dir {
		t.Errorf("%q is watched", list)
	}
}

func fsWatcher(t *testing.T) (*fsnotify.Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		t.Cleanup(func() { w.Close() })
	}
	return w, err
}
