package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/app/mirror/changes"
	"github.com/kindred-ml/kindred/app/mirror/watch"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/serve"
)

// follow makes a served index match a folder, now and after each change in the folder. It logs
// changes and errors. stop waits until it has ended; the index must not be closed before.
func (a *app) follow(ctx context.Context, x *index.Index, dir string, every time.Duration, state *serve.Following,
	log *slog.Logger) (stop func()) {
	f := &syncFlags{index: x.Dir(), every: every, progress: state.Embedding}
	f.photos.data = dir
	log = log.With("folder", dir)
	opt := watch.Options{Every: every, Except: x.Dir(), Told: func(err error) {
		log.Warn("the folder is compared at intervals", "every", every, "why", err.Error())
	}}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		_ = watch.Follow(ctx, f.photos.place(), opt, func(ctx context.Context) error { // it never fails itself
			counts, err := f.logged(ctx, a, x, log)
			switch {
			case err == nil:
				f.said = ""
				state.Compared(counts)
			case ctx.Err() == nil:
				state.Failed(err)
				if f.said != err.Error() {
					f.said = err.Error()
					log.Error("the index does not follow the folder", "why", f.said)
				}
			}
			return nil
		})
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// logged compares once, logs the result and returns the number of changes of each kind.
func (f *syncFlags) logged(ctx context.Context, a *app, x *index.Index, log *slog.Logger) (map[string]int, error) {
	set, p, err := f.compare(ctx, a, x)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	res := newSynced(p, x, f.photos.data)
	err = f.apply(ctx, a, x, p, res)
	for _, note := range res.notes {
		log.Warn("the list of unreadable files", "why", note.Error())
	}
	counts, changed := map[string]int{}, 0
	for _, k := range []changes.Kind{changes.Added, changes.Changed, changes.Moved, changes.Relabelled,
		changes.Removed} {
		n := p.Counts[k] - res.undone[k]
		counts[k.String()] = n
		changed += n
	}
	if err != nil || changed == 0 && len(res.LeftOut) == 0 { // at most times were noted
		return counts, err
	}
	attrs := []any{"items", res.Items, "embedded", res.Embedded}
	for _, k := range syncedKinds() {
		if n := p.Counts[k.kind]; n > 0 && k.kind != changes.Same {
			attrs = append(attrs, k.kind.String(), n)
		}
	}
	for _, l := range res.LeftOut {
		log.Warn("photos were left out", "why", l.Reason, "count", l.Count, "first", l.First)
	}
	if n := len(res.Kept); n > 0 {
		log.Warn("changed photos could not be read, so the index keeps their older content", "count", n,
			"first", res.Kept[:min(few, n)])
	}
	log.Info("the index follows the folder", attrs...)
	return counts, nil
}
