package serve

import (
	"context"
	"fmt"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// What is left out of the limits is as their comments say; what is given stays.
func TestDefaultLimits(t *testing.T) {
	standard := Limits{Body: 32 << 20, Pixels: 180_000_000, Items: 1000, K: 1000, Rate: 50, Burst: 100, Concurrent: 64,
		Connections: 1024, PerSender: 256, Memory: budget.Limit() / 2, Time: 30 * time.Second, Drain: 20 * time.Second}
	if got := (Limits{}).or(); got != standard {
		t.Errorf("%+v, want %+v", got, standard)
	}
	given := Limits{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	if got := given.or(); got != given {
		t.Errorf("%+v, want %+v", got, given)
	}
	for rate, want := range map[float64]int{0.25: 1, 0.5: 1, 1: 2, 1.5: 3, -1: 1} {
		if got := (Limits{Rate: rate}).or().Burst; got != want {
			t.Errorf("%g requests a second: %d at once, want %d", rate, got, want)
		}
	}
	for connections, want := range map[int]int{8: 8, 16: 16, 17: 16, 64: 16, 68: 17, 4096: 1024} {
		if got := (Limits{Connections: connections}).or().PerSender; got != want {
			t.Errorf("of %d connections %d of one sender, want %d", connections, got, want)
		}
	}
}

// No limit may be below 0 but the rate, which then has none.
func TestNegativeLimits(t *testing.T) {
	for i := range reflect.TypeFor[Limits]().NumField() {
		var l Limits
		name := reflect.TypeFor[Limits]().Field(i).Name
		if err := l.check(); err != nil {
			t.Error(err)
		}
		v := reflect.ValueOf(&l).Elem().Field(i)
		if v.Kind() == reflect.Float64 {
			v.SetFloat(-1)
		} else {
			v.SetInt(-1)
		}
		err := l.check()
		if name == "Rate" {
			if err != nil {
				t.Error(err)
			}
		} else if err == nil || !strings.Contains(err.Error(), "limit "+name+" is -1") {
			t.Errorf("%s of -1: %v", name, err)
		}
	}
}

// Strangers have ten seconds for a head, three times the limit on time more for a body that
// no route reads, and two minutes between requests.
func TestTimesOfStrangers(t *testing.T) {
	s := newServer(t, Options{Limits: Limits{Time: 7 * time.Second}})
	h := s.httpServer(context.Background(), nil)
	if h.ReadHeaderTimeout != 10*time.Second || h.ReadTimeout != 31*time.Second || h.IdleTimeout != 2*time.Minute ||
		h.MaxHeaderBytes <= 0 || h.Handler != s {
		t.Errorf("a head in %v, all in %v, idle for %v", h.ReadHeaderTimeout, h.ReadTimeout, h.IdleTimeout)
	}
}

// Who reads the metrics knows their buckets.
func TestBuckets(t *testing.T) {
	s := newServer(t, Options{})
	w := httptest.NewRecorder()
	newMetrics(s).handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for name, want := range map[string]string{
		"search_seconds":           "0.0005 0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 30 +Inf",
		"embedding_batch_pictures": fmt.Sprintf("1 2 4 8 %d +Inf", maxBatch)} {
		var got []string
		for line := range strings.Lines(w.Body.String()) {
			if le, ok := strings.CutPrefix(line, "kindred_"+name+`_bucket{le="`); ok {
				le, _, _ = strings.Cut(le, `"`)
				got = append(got, le)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
}

// As many senders as there are buckets have one each, and the next ones share one.
func TestMostBuckets(t *testing.T) {
	b := newBuckets(1, 1)
	now := time.Unix(1000, 0)
	b.swept = now
	for i := range maxBuckets {
		if wait := b.take(fmt.Sprint(i), now); wait != 0 {
			t.Fatalf("sender %d waits %v", i, wait)
		}
	}
	if b.take("one more", now) != 0 || b.take("another", now) == 0 || len(b.of) != maxBuckets {
		t.Errorf("%d buckets, or those who have none do not share one", len(b.of))
	}
}
