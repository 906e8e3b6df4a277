package serve

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kindred-ml/kindred/decide"
)

// metrics has the metrics of one server, in its own registry.
type metrics struct {
	handler   http.Handler
	requests  *prometheus.CounterVec   // by route and status
	seconds   *prometheus.HistogramVec // by route
	problems  *prometheus.CounterVec   // by code
	panics    prometheus.Counter
	inFlight  prometheus.Gauge
	written   *prometheus.CounterVec // by collection
	removed   *prometheus.CounterVec
	batch     prometheus.Histogram
	embedding prometheus.Histogram
	search    prometheus.Histogram
	decided   *prometheus.CounterVec // by collection, and whether it is unknown
	registry  *prometheus.Registry

	mu        sync.Mutex
	distances map[string]distanceHistogram // by collection; only those with a calibration
}

// distanceHistogram has the distances of nearest items, in buckets of one calibration.
type distanceHistogram struct {
	by *decide.Calibration
	prometheus.Histogram
}

// Buckets of times in seconds, from half a millisecond to half a minute.
var timeBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// nearBuckets are shares of the calibration's photos. A bucket of nearest distances ends at the distance
// within which this share has another photo of its class.
var nearBuckets = []float64{.05, .1, .25, .5, .75, .9, .95, .99}

func newMetrics(s *Server) *metrics {
	reg := prometheus.NewRegistry()
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "kindred_" + name, Help: help}, labels)
		reg.MustRegister(c)
		return c
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "kindred_" + name, Help: help, Buckets: buckets})
		reg.MustRegister(h)
		return h
	}
	m := &metrics{
		requests: counter("http_requests_total", "Requests answered.", "route", "status"),
		problems: counter("problems_total", "Requests that were refused or failed.", "code"),
		written:  counter("items_written_total", "Items added or replaced.", "collection"),
		removed:  counter("items_removed_total", "Items removed.", "collection"),
		decided:  counter("identified_total", "Photos that were identified or unknown.", "collection", "unknown"),
		registry: reg, distances: map[string]distanceHistogram{},
		batch: histogram("embedding_batch_pictures", "Pictures that were embedded together.",
			[]float64{1, 2, 4, 8, maxBatch}),
		embedding: histogram("embedding_seconds", "Time for a batch of pictures.", timeBuckets),
		search:    histogram("search_seconds", "Time for a search, without embedding.", timeBuckets),
		panics:    prometheus.NewCounter(prometheus.CounterOpts{Name: "kindred_panics_total", Help: "Defects met."}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "kindred_http_in_flight",
			Help: "Requests that are not answered yet."}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "kindred_http_request_seconds",
			Help: "Time until a request was answered.", Buckets: timeBuckets}, []string{"route"}),
	}
	reg.MustRegister(m.panics, m.inFlight, m.seconds, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "kindred_request_memory_bytes",
			Help: "Memory used by bodies and pictures of requests."},
			func() float64 { return float64(s.memory.bytesInUse()) }))
	for _, c := range s.opt.Collections {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "kindred_items", Help: "Items.",
			ConstLabels: prometheus.Labels{"collection": c.Name}}, func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
			defer cancel()
			all, release := s.holdCollections()
			defer release()
			for _, now := range all {
				if info, err := now.Store.Info(ctx); now.Name == c.Name && err == nil {
					return float64(info.Items)
				}
			}
			return -1
		}))
		if c.FolderSync != nil {
			reg.MustRegister(newSyncCollector(c.Name, c.FolderSync))
		}
		if says := c.calibration(); says != nil {
			m.nearestHistogram(c.Name, says)
		}
	}
	m.handler = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return m
}

// nearestHistogram returns the histogram of a collection's nearest distances, for its calibration. A new calibration
// starts a new histogram with other buckets.
func (m *metrics) nearestHistogram(collection string, by *decide.Calibration) prometheus.Histogram {
	m.mu.Lock()
	defer m.mu.Unlock()
	have, there := m.distances[collection]
	if there && have.by == by {
		return have
	}
	if there {
		m.registry.Unregister(have)
	}
	for _, unknown := range []string{"false", "true"} { // so that their share is known from the start
		m.decided.WithLabelValues(collection, unknown)
	}
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "kindred_nearest_distance",
		Help:        "Distance of the nearest item of photos that were identified.",
		ConstLabels: prometheus.Labels{"collection": collection}, Buckets: by.NearestQuantiles(nearBuckets)})
	m.registry.MustRegister(h)
	m.distances[collection] = distanceHistogram{by, h}
	return h
}

// timeSearch measures the time from now until its result is called.
func (m *metrics) timeSearch() func() {
	start := time.Now()
	return func() { m.search.Observe(time.Since(start).Seconds()) }
}
