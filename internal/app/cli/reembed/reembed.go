// Package reembed gives an index the vectors of another network: the same items and columns, in one change.
//
//	done, err := reembed.Run(ctx, "photos.index", reembed.Options{Model: m, Name: "runs/new"})
//
// Run builds an index of the new vectors in a folder of the index, while the index is searched and changed as before.
// Then it takes over what has changed meanwhile and switches. It holds the lock of the index only for that; a server
// that holds the lock is asked for it (lock.RequestRelease). A call that is interrupted leaves the folder,
// and the next call goes on with it.
package reembed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/run"
)

// Options has the new network, and what is done with photos that it cannot embed.
type Options struct {
	Model *run.Model
	// Name is the network's name for people.
	Name string
	// Describe, if set, adds to the description of the network that the index keeps.
	Describe func(*index.Network) error
	Distance eval.Distance
	// DropMissing leaves out items whose photos are gone or cannot be read. Otherwise they are an *ItemsError.
	DropMissing bool
	// Progress, if set, is called with the number of items done.
	Progress func(what string, done, total int)
	// Remark, if set, is called with a sentence for people.
	Remark func(text string)

	piece int // photos embedded between two writes; 0: the default
}

// Result is the result of Run.
type Result struct {
	Items int `json:"items"`
	// Embedded counts the photos that this call embedded, Reused the other items: their vectors are of an earlier call
	// or of a photo with the same content.
	Embedded int `json:"embedded"`
	Reused   int `json:"reused"`
	// Dropped lists the ids that were left out.
	Dropped []string `json:"dropped"`
	// Unchanged means that the index had the vectors of this network already.
	Unchanged bool `json:"unchanged"`
	// Network describes the network.
	Network index.Network `json:"network"`
}

// Folder is the folder in an index in which the new vectors are built.
func Folder(dir string) string { return filepath.Join(dir, "reembed") }

// maxRounds is how often changes of the index are taken over before its lock is asked for. Fewer are then left.
const maxRounds = 3

// Run replaces the vectors of the index in dir. With an error or if the process is killed, the index has its old
// vectors and network, or all of the new ones.
func Run(ctx context.Context, dir string, opt Options) (done *Result, err error) {
	old, err := index.Open(dir, index.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	in := old.Info()
	if err := old.Close(); err != nil {
		return nil, err
	}
	opt.Model.Config.Data.Strict = false // unreadable photos are listed together
	w := &rebuild{dir: dir, opt: opt, done: &Result{Dropped: []string{}}}
	if err := w.begin(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.staged.Close()) }()
	if n := in.Network; n.IsSame(w.network.Network) &&
		n.TextTowerSum == w.network.TextTowerSum && in.Distance == opt.Distance {
		w.done.Unchanged, w.done.Items, w.done.Network = true, in.Items, n
		return w.done, w.remove()
	}
	for range maxRounds {
		embedded := w.done.Embedded
		if err := w.readAndFollow(ctx); err != nil {
			return nil, err
		}
		if embedded == w.done.Embedded {
			break
		}
	}
	if err := w.rebuildLists(ctx, in.Lists); err != nil {
		return nil, err
	}
	if err := w.replace(ctx); err != nil {
		return nil, err
	}
	w.done.Items, w.done.Network = w.staged.Info().Items, w.network
	w.done.Reused = max(0, w.done.Items-w.done.Embedded)
	return w.done, w.remove()
}

// rebuild is a Run.
type rebuild struct {
	dir     string
	opt     Options
	network index.Network
	staged  *index.Index // the new vectors
	done    *Result
}

// readAndFollow follows the index as it is now.
func (w *rebuild) readAndFollow(ctx context.Context) error {
	x, err := index.Open(w.dir, index.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(w.syncItems(ctx, x), x.Close())
}

// rebuildLists sorts the new vectors into as many lists as the old ones.
func (w *rebuild) rebuildLists(ctx context.Context, old *index.Lists) error {
	if now := w.staged.Info().Lists; old == nil || now != nil && now.NumLists == old.NumLists {
		return nil
	}
	opt := index.CompactOptions{NumLists: old.NumLists, Progress: func(stage string, share float64) {
		w.progress(stage, int(1000*share), 1000)
	}}
	return w.staged.Compact(ctx, opt)
}

// replace takes the lock of the index, takes over the last changes, and switches.
func (w *rebuild) replace(ctx context.Context) error {
	asked, err := waitForLock(ctx, w, func() (*lock.Held, error) { return lock.RequestRelease(w.dir) })
	if err != nil {
		return err
	}
	defer asked.Release()
	x, err := waitForLock(ctx, w, func() (*index.Index, error) { return index.Open(w.dir, index.Options{}) })
	if err != nil {
		return err
	}
	if err = w.syncItems(ctx, x); err == nil {
		err = x.ReplaceContents(ctx, w.staged, w.network)
	}
	return errors.Join(err, x.Close())
}

// remarkAfter is how long another process may have the lock before that is said.
const remarkAfter = 3 * time.Second

// waitForLock calls take until no other process has the lock.
func waitForLock[T any](ctx context.Context, w *rebuild, take func() (T, error)) (T, error) {
	said, start := false, time.Now()
	for {
		v, err := take()
		var held *lock.HeldError
		if !errors.As(err, &held) {
			return v, err
		}
		if !said && time.Since(start) > remarkAfter {
			said = true
			w.remark(fmt.Sprintf("all vectors are computed; waiting until the index is free: %v", err))
		}
		select {
		case <-ctx.Done():
			return v, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (w *rebuild) progress(what string, done, total int) {
	if w.opt.Progress != nil {
		w.opt.Progress(what, done, total)
	}
}

func (w *rebuild) remark(text string) {
	if w.opt.Remark != nil {
		w.opt.Remark(text)
	}
}

// remove removes the folder of the new vectors.
func (w *rebuild) remove() error {
	if err := w.staged.Close(); err != nil {
		return err
	}
	return os.RemoveAll(Folder(w.dir))
}

// begin opens the index of the new vectors: the one that an interrupted call left if it is of the same network, else a
// new one.
func (w *rebuild) begin() error {
	if err := w.describe(); err != nil {
		return err
	}
	dir := Folder(w.dir)
	x, err := index.Open(dir, index.Options{})
	var held *lock.HeldError
	if errors.As(err, &held) {
		return err
	}
	if err == nil {
		in := x.Info()
		if in.Network.IsSame(w.network.Network) && in.Distance == w.opt.Distance {
			w.staged = x
			if n := in.Items; n > 0 {
				w.remark(fmt.Sprintf("going on: %d vectors were computed by an earlier call", n))
			}
			return nil
		}
		w.remark(fmt.Sprintf("an earlier call computed %d vectors by another network or for another distance "+
			"(%s, %v): they are removed, and all are computed", in.Items, in.Network.Name, in.Distance))
		if err := x.Close(); err != nil {
			return err
		}
	}
	return w.create(dir)
}

// describe identifies the network.
func (w *rebuild) describe() (err error) {
	if w.network.Network, err = w.opt.Model.Identity(w.opt.Name); err != nil || w.opt.Describe == nil {
		return err
	}
	return w.opt.Describe(&w.network)
}

// create makes the index of the new vectors in a folder, and removes what is there.
func (w *rebuild) create(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	held, err := lock.Folder(dir)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != lock.FileName && err == nil {
			err = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
	if err == nil {
		_, err = provenance.SaveNetwork(w.opt.Model, dir, w.opt.Name)
	}
	if err = errors.Join(err, held.Release()); err != nil { // index.Create takes the lock itself
		return err
	}
	w.staged, err = index.Create(dir, index.Config{Dim: w.opt.Model.Net.Spec().OutDim(), Distance: w.opt.Distance,
		Network: w.network})
	return err
}
