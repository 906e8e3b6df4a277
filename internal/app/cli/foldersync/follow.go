package foldersync

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/internal/collection/mirror/changes"
	"github.com/kindred-ml/kindred/internal/collection/mirror/watch"
	"github.com/kindred-ml/kindred/serve"
)

// follower makes a served index match a folder, and logs what it does.
type follower struct {
	Sync
	most float64 // share of the items that may be removed without a decision
	// What the log has told last: an error, what waits for a decision, and what was left out.
	said, waits, leftOut string
}

// Follow makes a served index match a folder, now and after each change in the folder. Removals of
// more than a share most of the items wait for a decision. It logs changes and errors. stop waits until it
// has ended; the index must not be closed before.
func Follow(ctx context.Context, a *console.Console, x *index.Index, dir string, every time.Duration,
	most float64, state *serve.FolderSync, removals *mirror.Removals, log *slog.Logger) (stop func()) {
	f := &follower{Sync: Sync{Progress: state.ReportEmbedding, Removals: removals, Yes: true}, most: most}
	f.Photos.Data = dir
	log = log.With("folder", dir)
	opt := watch.Options{Every: every, Except: x.Dir(), Now: state.CompareRequests(), OnChange: func(err error) {
		log.Warn("the folder is compared at intervals", "every", every, "why", err.Error())
	}}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		_ = watch.Watch(ctx, f.Photos.Place(), opt, func(ctx context.Context) error { // it never fails itself
			result, err := f.compareLogged(ctx, a, x, log)
			switch {
			case err == nil:
				f.said = ""
				state.ReportCompared(result)
			case ctx.Err() == nil:
				state.ReportFailed(err)
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

// compareLogged compares once, logs the result and returns it.
func (f *follower) compareLogged(ctx context.Context, a *console.Console, x *index.Index, log *slog.Logger) (
	out serve.SyncResult, err error) {
	set, p, err := f.Compare(ctx, a, x)
	if err != nil {
		return out, err
	}
	defer set.Close()
	p.Hold(f.most)
	res := NewResult(p, x, f.Photos.Data)
	err = f.Apply(ctx, a, x, p, res)
	for _, note := range res.Notes {
		log.Warn("a list in the folder of the index", "why", note.Error())
	}
	if err != nil {
		return out, err
	}
	out = serve.SyncResult{Changes: map[string]int{}, Pending: (*serve.PendingRemovals)(res.done.Waits),
		Kept:    res.done.Stay,
		LeftOut: slices.DeleteFunc(res.done.Unreadable, func(l data.LeftOut) bool { return l.Used })}
	changed := 0
	for _, k := range []changes.Kind{changes.Added, changes.Changed, changes.Moved, changes.Relabelled,
		changes.Removed} {
		n := res.Counts[k.String()]
		out.Changes[k.String()] = n
		changed += n
	}
	f.logChanges(log, &out)
	if changed == 0 && len(res.LeftOut) == 0 { // at most times were noted
		return out, nil
	}
	attrs := []any{"items", res.Items, "embedded", res.Embedded}
	for _, k := range kinds() {
		if n := res.Counts[k.kind.String()]; n > 0 && k.kind != changes.Same {
			attrs = append(attrs, k.kind.String(), n)
		}
	}
	if n := res.Counts[NotDoneKey]; n > 0 {
		attrs = append(attrs, NotDoneKey, n)
	}
	if n := len(res.Kept); n > 0 {
		log.Warn("changed photos could not be read, so the index keeps their older content", "count", n,
			"first", res.Kept[:min(console.MaxPrinted, n)])
	}
	log.Info("the index follows the folder", attrs...)
	return out, nil
}

// logChanges logs once what waits for a decision, and which files are left out.
func (f *follower) logChanges(log *slog.Logger, out *serve.SyncResult) {
	waits := ""
	if p := out.Pending; p != nil {
		waits = p.ID
		if waits != f.waits {
			log.Warn("many photos are missing: their items stay until somebody decides, on the page or by POST "+
				"/v1/sync/pending", "removed", len(p.Removed), "items", p.Items, "first",
				p.Removed[:min(console.MaxPrinted, len(p.Removed))])
		}
	}
	f.waits = waits
	text := ""
	for _, l := range out.LeftOut {
		text += fmt.Sprintf("%d %s\n", l.Count, l.Reason)
	}
	if text != f.leftOut {
		for _, l := range out.LeftOut {
			log.Warn("photos were left out", "why", l.Reason, "count", l.Count, "first", l.First)
		}
	}
	f.leftOut = text
}
