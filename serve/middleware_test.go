package serve

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// deadlineRecorder is a ResponseWriter that knows the deadlines it was given.
type deadlineRecorder struct {
	http.ResponseWriter
	write []time.Time
}

func (w *deadlineRecorder) SetWriteDeadline(at time.Time) error {
	w.write = append(w.write, at)
	return nil
}

// An answer has its first status, 200 unless it says another, the bytes of all its parts, and one
// deadline.
func TestRecorder(t *testing.T) {
	for want, do := range map[int]func(w http.ResponseWriter){
		0: func(http.ResponseWriter) {}, 404: func(w http.ResponseWriter) { w.WriteHeader(404) },
		202: func(w http.ResponseWriter) { w.WriteHeader(202); w.WriteHeader(500); w.Write([]byte("a")) },
		200: func(w http.ResponseWriter) { w.Write([]byte("abc")); w.Write([]byte("de")) },
	} {
		inner := &deadlineRecorder{ResponseWriter: httptest.NewRecorder()}
		w := &recorder{ResponseWriter: inner}
		before := time.Now()
		do(w)
		after := time.Now()
		if bytes := map[int]int64{202: 1, 200: 5}[want]; w.status != want || w.bytes != bytes {
			t.Errorf("status %d and %d bytes, want %d and %d", w.status, w.bytes, want, bytes)
		}
		if want == 0 != (len(inner.write) == 0) || len(inner.write) > 1 {
			t.Errorf("status %d: deadlines %v", want, inner.write)
		}
		for _, at := range inner.write {
			if at.Before(before.Add(time.Minute)) || at.After(after.Add(time.Minute)) {
				t.Errorf("status %d: until %v, want a minute after %v", want, at, before)
			}
		}
	}
}

// A handler that panics is answered for, unless it has begun to answer, and net/http's own panic
// goes on; a request keeps its id if that is one.
func TestOutermost(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, Options{Log: slog.New(slog.NewJSONHandler(&log, nil))})
	answer := func(id string, h http.HandlerFunc) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		r.Header.Set("X-Request-Id", id)
		s.wrapRequests(h).ServeHTTP(w, r)
		return w
	}
	id := strings.Repeat("a", 64)
	if w := answer(id, func(http.ResponseWriter, *http.Request) { panic("a defect") }); w.Code != 500 ||
		!strings.Contains(w.Body.String(), "the server failed") || w.Header().Get("X-Request-Id") != id {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if !strings.Contains(log.String(), "serve.TestOutermost") {
		t.Errorf("the log has no stack: %s", log.String())
	}
	w := answer("a b", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); panic("a defect") })
	if w.Code != 201 || w.Body.Len() > 0 || len(w.Header().Get("X-Request-Id")) != 16 {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // it is this value
				t.Errorf("%v where the connection is to be closed", p)
			}
		}()
		answer("", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	}()
	do := &caller{t: t, s: s}
	text := string(do.get("/metrics").body)
	if !strings.Contains(text, "\nkindred_panics_total 2\n") ||
		!strings.Contains(text, "\nkindred_http_in_flight 1\n") { // this one
		t.Error(text)
	}
}

// A request is logged with what is known of it; those that watch the server are not, unless they
// fail.
func TestLogOfRequests(t *testing.T) {
	var said bytes.Buffer
	s := newServer(t, Options{Log: slog.New(slog.NewTextHandler(&said, nil))})
	for _, c := range []struct {
		status int
		v      requestInfo
		want   []string // nil for no line
	}{
		{200, requestInfo{id: "7", route: "GET /v1/info"}, []string{"level=INFO", "request_id=7", "status=200",
			"bytes=5",
			"ms=1.5", `route="GET /v1/info"`, "path=/x"}},
		{0, requestInfo{}, []string{"level=INFO", "status=200", "route=none"}},
		{499, requestInfo{keyName: "ann", cause: errors.New("gone")}, []string{"level=INFO", "key=ann", "error=gone"}},
		{500, requestInfo{route: "GET /healthz"}, []string{"level=ERROR", "status=500"}},
		{200, requestInfo{route: "GET /healthz"}, nil}, {200, requestInfo{route: "GET /readyz"}, nil},
		{499, requestInfo{route: "GET /metrics"}, nil},
	} {
		said.Reset()
		s.logAnswer(httptest.NewRequest("GET", "/x", nil), &recorder{status: c.status, bytes: 5}, &c.v,
			1500*time.Microsecond)
		line := said.String()
		for _, part := range c.want {
			if !strings.Contains(line, part) {
				t.Errorf("%d %+v: no %s in %s", c.status, c.v, part, line)
			}
		}
		if (line != "") != (c.want != nil) || strings.Contains(line, "key=") != (c.v.keyName != "") ||
			strings.Contains(line, "error=") != (c.v.cause != nil) {
			t.Errorf("%d %+v: %s", c.status, c.v, line)
		}
	}
}
