package serve

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kindred-ml/kindred/serve/api"
)

// Following is the state of a collection that follows a folder. The program that changes the collection
// reports to it; /v1/info, the page and /metrics show it. Its methods may be called by several goroutines.
type Following struct {
	folder string

	mu          sync.Mutex
	done, total int
	current     time.Time // of the last comparison that succeeded; zero before it
	failed      string
	changes     map[string]int
}

// NewFollowing returns the state before the first comparison with a folder.
func NewFollowing(folder string) *Following {
	return &Following{folder: folder, changes: map[string]int{}}
}

// Embedding reports that done of total new photos are embedded.
func (f *Following) Embedding(done, total int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done, f.total = done, total
}

// Compared reports the end of a comparison, after which the collection is as the folder is. It has the number of
// changes of each kind.
func (f *Following) Compared(changes map[string]int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done, f.total, f.failed, f.current = 0, 0, "", time.Now()
	for kind, n := range changes {
		f.changes[kind] += n
	}
}

// Failed reports that a comparison failed. The collection is as before.
func (f *Following) Failed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done, f.total, f.failed = 0, 0, err.Error()
}

// state returns the answer of /v1/info; nil without a folder.
func (f *Following) state() *api.Following {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
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
	return out
}

// followed measures a Following.
type followed struct {
	f                                *Following
	photos, success, failed, changes *prometheus.Desc
}

func newFollowed(collection string, f *Following) *followed {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("kindred_sync_"+name, help, labels, prometheus.Labels{"collection": collection})
	}
	return &followed{f: f,
		photos: desc("photos", "New photos of the running change of a followed folder: to embed, and embedded.",
			"state"),
		success: desc("last_success_timestamp_seconds",
			"Time of the last comparison after which the collection was as its folder; 0 before it."),
		failed:  desc("failed", "1 if the last comparison with the folder failed, else 0."),
		changes: desc("changes_total", "Changes of the followed folder that the collection took over.", "kind")}
}

// Describe implements prometheus.Collector.
func (c *followed) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.photos, c.success, c.failed, c.changes} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *followed) Collect(to chan<- prometheus.Metric) {
	c.f.mu.Lock()
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
	for kind, n := range changes {
		to <- prometheus.MustNewConstMetric(c.changes, prometheus.CounterValue, float64(n), kind)
	}
}
