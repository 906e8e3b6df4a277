package serve

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

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
