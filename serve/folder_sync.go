package serve

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// FolderSync is the state of a collection that follows a folder. The program that changes the collection
// reports to it; /v1/info, the page and /metrics show it. Its methods may be called by several goroutines.
type FolderSync struct {
	folder, place string // as the user names it, and its absolute path

	decision   func(p *PendingRemovals, remove bool) error // records a decision
	compareNow chan struct{}                               // a comparison is requested

	mu          sync.Mutex
	done, total int
	current     time.Time // of the last comparison that succeeded; zero before it
	failed      string
	changes     map[string]int
	pending     *PendingRemovals // nil if no removals wait for a decision
	kept        int              // items that stay by a decision
	missing     map[string]bool  // ids of items whose photos are missing
	leftOut     []data.LeftOut
}

// PendingRemovals are removals of items that wait for a decision, because many photos are missing in a followed
// folder.
type PendingRemovals struct {
	ID      string // a digest of Removed
	Since   time.Time
	Items   int      // number of items of the collection that belong to the folder
	Removed []string // ids of the items, in their order
}

// SyncResult is the result of a comparison with a folder.
type SyncResult struct {
	Changes map[string]int   // number of changes of each kind
	Pending *PendingRemovals // removals that wait for a decision; nil if none do
	Kept    []string         // ids of items that stay by a decision, although their photos are missing
	LeftOut []data.LeftOut   // files of the folder that are not in the collection
}

// NewFolderSync returns the state before the first comparison with a folder. place is the folder's absolute path, which
// items of its photos record. decide records a decision about removals that wait: remove them at the next comparison,
// or keep their items. nil is for a collection whose removals never wait.
func NewFolderSync(folder, place string, decide func(p *PendingRemovals, remove bool) error) *FolderSync {
	return &FolderSync{folder: folder, place: place, decision: decide, compareNow: make(chan struct{}, 1),
		changes: map[string]int{}}
}

// Owns reports whether an item is of a photo of the folder, so that only the folder adds and removes it. It reports
// false for nil, which follows no folder.
func (f *FolderSync) Owns(it *store.Item) bool {
	if f == nil || !mirror.IsFromSet(it, f.place) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.missing[it.ID]
}

// CompareRequests receives a value when a comparison is to begin at once.
func (f *FolderSync) CompareRequests() <-chan struct{} { return f.compareNow }

// pendingRemovals returns the removals that wait for a decision; nil if none do.
func (f *FolderSync) pendingRemovals() *PendingRemovals {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pending
}

// decide records a decision about the removals that wait, and requests a comparison.
func (f *FolderSync) decide(id string, remove bool) error {
	p := f.pendingRemovals()
	if p == nil || p.ID != id {
		return mirror.ErrOutdated
	}
	if err := f.decision(p, remove); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending == p {
		f.pending = nil
		if !remove {
			f.kept += len(p.Removed)
		}
	}
	select {
	case f.compareNow <- struct{}{}:
	default:
	}
	return nil
}

// ReportEmbedding reports that done of total new photos are embedded.
func (f *FolderSync) ReportEmbedding(done, total int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done, f.total = done, total
}

// ReportCompared reports the end of a comparison, after which the collection is as the folder is, except for
// photos whose items stay.
func (f *FolderSync) ReportCompared(result SyncResult) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done, f.total, f.failed, f.current = 0, 0, "", time.Now()
	f.pending, f.kept, f.leftOut, f.missing = result.Pending, len(result.Kept), result.LeftOut, map[string]bool{}
	for _, id := range result.Kept {
		f.missing[id] = true
	}
	if f.pending != nil {
		for _, id := range f.pending.Removed {
			f.missing[id] = true
		}
	}
	for kind, n := range result.Changes {
		f.changes[kind] += n
	}
}

// ReportFailed reports that a comparison failed. The collection is as before.
func (f *FolderSync) ReportFailed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done, f.total, f.failed = 0, 0, err.Error()
}

// state returns the answer of /v1/info to a caller with a right; nil without a folder. Folders, files and errors are
// matters of those who may write.
func (f *FolderSync) state(may Permission) *api.Following {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if may < Write {
		out := &api.Following{State: api.Comparing}
		if f.total == 0 && !f.current.IsZero() {
			out.State = api.Current
		}
		return out
	}
	out := &api.Following{Folder: f.folder, State: api.Comparing, Embedded: f.done, ToEmbed: f.total, Error: f.failed}
	switch {
	case f.total > 0:
		out.State = api.Embedding
	case f.failed != "":
		out.State = api.Failed
	case !f.current.IsZero():
		out.State = api.Current
	}
	if !f.current.IsZero() {
		out.Current = f.current.UTC().Format(time.RFC3339)
	}
	if p := f.pending; p != nil {
		out.Pending = &api.PendingCount{ID: p.ID, Removed: len(p.Removed), Items: p.Items}
	}
	out.Kept = f.kept
	for _, l := range f.leftOut {
		out.LeftOut = append(out.LeftOut, api.LeftOut{Reason: l.Reason, Count: l.Count, First: l.First})
	}
	return out
}

// syncCollector measures a Following.
type syncCollector struct {
	f                                         *FolderSync
	photos, success, failed, changes, pending *prometheus.Desc
}

func newSyncCollector(collection string, f *FolderSync) *syncCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("kindred_sync_"+name, help, labels, prometheus.Labels{"collection": collection})
	}
	return &syncCollector{f: f,
		photos: desc("photos", "New photos of the running change of a followed folder: to embed, and embedded.",
			"state"),
		success: desc("last_success_timestamp_seconds",
			"Time of the last comparison after which the collection was as its folder; 0 before it."),
		failed:  desc("failed", "1 if the last comparison with the folder failed, else 0."),
		changes: desc("changes_total", "Changes of the followed folder that the collection took over.", "kind"),
		pending: desc("pending_removals", "Items with missing photos that wait for a decision.")}
}

// Describe implements prometheus.Collector.
func (c *syncCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.photos, c.success, c.failed, c.changes, c.pending} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *syncCollector) Collect(to chan<- prometheus.Metric) {
	c.f.mu.Lock()
	waiting := 0
	if c.f.pending != nil {
		waiting = len(c.f.pending.Removed)
	}
	done, total, current, failed, changes := c.f.done, c.f.total, c.f.current, c.f.failed, maps.Clone(c.f.changes)
	c.f.mu.Unlock()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(c.photos, float64(total), "to embed")
	gauge(c.photos, float64(done), "embedded")
	seconds, bad := 0.0, 0.0
	if !current.IsZero() {
		seconds = float64(current.UnixMilli()) / 1000
	}
	if failed != "" {
		bad = 1
	}
	gauge(c.success, seconds)
	gauge(c.failed, bad)
	gauge(c.pending, float64(waiting))
	for kind, n := range changes {
		to <- prometheus.MustNewConstMetric(c.changes, prometheus.CounterValue, float64(n), kind)
	}
}
