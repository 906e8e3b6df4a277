package serve

import (
	"net/http/httptest"
	"testing"
	"time"
)

// A problem says after how many whole seconds to try again, if that can help, and asks for
// a key only where one is missing.
func TestProblemHeaders(t *testing.T) {
	for _, c := range []struct {
		kind  problemKind
		after time.Duration
		retry string
		key   string
	}{
		{unauthorized, 0, "", `Bearer realm="kindred"`}, {forbidden, 0, "", ""}, {notFound, 0, "", ""},
		{rateLimited, time.Nanosecond, "1", ""}, {rateLimited, time.Second, "1", ""},
		{timeLimit, 1200 * time.Millisecond, "2", ""},
		{diskFull, time.Minute, "60", ""},
	} {
		w := httptest.NewRecorder()
		w.Header().Set("Etag", "of another answer")
		p := c.kind.newProblem("Do.", "a detail")
		p.retry = c.after
		p.write(w, "id")
		h := w.Result().Header
		if w.Code != c.kind.status || h.Get("Retry-After") != c.retry || h.Get("WWW-Authenticate") != c.key ||
			h.Get("Etag") != "" || h.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s after %v: %d, %v", c.kind.code, c.after, w.Code, h)
		}
	}
}
