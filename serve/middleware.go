package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/base/escape"
)

// requestID matches the ids that clients may give their requests. Other characters could look like
// something else in a log.
var requestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// recorder notes what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// writeTimeout is the time limit for a client to receive an answer.
const writeTimeout = time.Minute

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
		// An error means that the ResponseWriter has no deadlines, as in tests; that does no harm.
		http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTimeout))
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap returns the writer for http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// requestInfo has what the server finds out about a request.
type requestInfo struct {
	id         string
	client     string     // address of the client
	keyName    string     // name of its key; "" without a key
	permission Permission // what the caller may do
	route      string     // pattern that it matched
	cause      error      // reason of its failure
}

type requestInfoKey struct{}

// requestInfoOf returns the visit of a request, made by outermost.
func requestInfoOf(r *http.Request) *requestInfo {
	v, _ := r.Context().Value(requestInfoKey{}).(*requestInfo)
	if v == nil {
		return &requestInfo{}
	}
	return v
}

// wrapRequests gives requests their ids, measures and logs them, and turns a panic into
// an answer.
func (s *Server) wrapRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		v := &requestInfo{id: r.Header.Get("X-Request-Id"), client: s.opt.Proxies.clientOf(r)}
		if !requestID.MatchString(v.id) {
			b := make([]byte, 8)
			rand.Read(b)
			v.id = hex.EncodeToString(b)
		}
		rec := &recorder{ResponseWriter: w}
		if r.Body != nil && r.Body != http.NoBody {
			// A body that is not read, such as that of a request without a key, has the same time
			// limit as one that is read.
			http.NewResponseController(w).SetReadDeadline(bodyDeadline(start, 0, s.limits.Time))
		}
		h := rec.Header()
		h.Set("X-Request-Id", v.id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin") // no page of another site has it as a picture or a script
		r = r.WithContext(context.WithValue(r.Context(), requestInfoKey{}, v))
		s.metrics.inFlight.Inc()
		defer func() {
			s.metrics.inFlight.Dec()
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares with this value
					panic(p)
				}
				s.metrics.panics.Inc()
				s.log.Error("panic", "request_id", v.id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				v.cause = fmt.Errorf("panic: %v", p)
				if rec.status == 0 {
					internal.newProblem("Please report this as a bug in kindred.", "the server failed").write(rec, v.id)
				}
			}
			s.logAnswer(r, rec, v, time.Since(start))
		}()
		next.ServeHTTP(rec, r)
	})
}

// logAnswer logs and counts an answer.
func (s *Server) logAnswer(r *http.Request, rec *recorder, v *requestInfo, took time.Duration) {
	status := rec.status
	status = cmp.Or(status, http.StatusOK)
	routeName := v.route
	routeName = cmp.Or(routeName, "none")
	s.metrics.requests.WithLabelValues(routeName, strconv.Itoa(status)).Inc()
	s.metrics.seconds.WithLabelValues(routeName).Observe(took.Seconds())
	level := slog.LevelInfo
	switch {
	case status >= http.StatusInternalServerError:
		level = slog.LevelError
	case v.route == "GET /healthz" || v.route == "GET /readyz" || v.route == "GET /metrics":
		level = slog.LevelDebug // probes come every few seconds
	}
	if !s.log.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{slog.String("request_id", v.id), slog.String("method", escape.ClipTo(r.Method, 16)),
		slog.String("path", escape.ClipTo(r.URL.Path, 256)), slog.String("route", routeName),
		slog.Int("status", status),
		slog.Int64("bytes", rec.bytes), slog.Float64("ms", float64(took.Microseconds())/1000),
		slog.String("remote", v.client)}
	if v.client != r.RemoteAddr {
		attrs = append(attrs, slog.String("proxy", r.RemoteAddr))
	}
	if v.keyName != "" {
		attrs = append(attrs, slog.String("key", v.keyName))
	}
	if v.cause != nil {
		attrs = append(attrs, slog.String("error", escape.ClipTo(v.cause.Error(), 1024)))
	}
	s.log.LogAttrs(r.Context(), level, "request", attrs...)
}

// writeError answers with an error.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	v := requestInfoOf(r)
	v.cause = p.cause
	if v.cause == nil {
		v.cause = p
	}
	s.metrics.problems.WithLabelValues(p.code).Inc()
	if rec, ok := w.(*recorder); ok && rec.status != 0 {
		return // an answer has begun already: the client will see a broken connection
	}
	p.write(w, v.id)
}

// dispatch sends a request to its route. It does what all routes need: it checks the form of the path, and
// answers problems instead of net/http's own texts.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request) {
	if r.Context().Value(refusedKey{}) != nil {
		w.Header().Set("Connection", "close")
		if r.URL.Path != "/healthz" { // the process runs, so this is still answered
			io.CopyN(io.Discard, r.Body, headerBytes) // otherwise net/http waits for it; the rest is cut off
			s.writeError(w, r, overloaded.newProblem("Try again as Retry-After says, and keep fewer connections.",
				"all allowed connections are in use").withRetry(time.Second))
			return
		}
	}
	if err := s.checkOrigin(w, r); err != nil {
		s.writeError(w, r, err)
		return
	}
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		s.preflight(w, r)
		return
	}
	if p := r.URL.EscapedPath(); p != cleanPath(p) {
		s.writeError(w, r,
			badRequest.newProblem(
				"Write the path without dots, empty parts and backslashes; within an id write / as %2F.",
				"the path is not in its shortest form"))
		return
	}
	h, pattern := s.mux.Handler(r)
	if pattern != "" {
		requestInfoOf(r).route = pattern
		s.mux.ServeHTTP(w, r) // sets the path's values
		return
	}
	if s.opt.Page != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		!strings.HasPrefix(r.URL.Path, "/v1/") {
		requestInfoOf(r).route = "page"
		s.opt.Page.ServeHTTP(w, r)
		return
	}
	// The status of the mux, without its text.
	var quiet headerRecorder
	h.ServeHTTP(&quiet, r)
	if quiet.status == http.StatusMethodNotAllowed {
		allow := quiet.Header().Get("Allow")
		w.Header().Set("Allow", allow)
		s.writeError(w, r, methodNotAllowed.newProblem("Use one of: "+allow+".", "method %s is not allowed",
			escape.ClipTo(r.Method, 16)))
		return
	}
	s.writeError(w, r, notFound.newProblem("GET /openapi.json describes all addresses.", "this address does not exist"))
}

// cleanPath returns the required form of an escaped path.
func cleanPath(p string) string {
	if p == "" || p[0] != '/' || strings.ContainsRune(p, '\\') {
		return ""
	}
	c := path.Clean(p)
	if strings.HasSuffix(p, "/") && c != "/" {
		c += "/"
	}
	return c
}

// headerRecorder keeps only the header of an answer.
type headerRecorder struct {
	header http.Header
	status int
}

func (q *headerRecorder) Header() http.Header {
	if q.header == nil {
		q.header = http.Header{}
	}
	return q.header
}
func (q *headerRecorder) Write(b []byte) (int, error) { return len(b), nil }
func (q *headerRecorder) WriteHeader(status int)      { q.status = status }

// admit checks a request before its handler: first its key, then its rate, then it reads its body. The request
// gets a place among those being processed only after its whole body has arrived, so that slow senders block
// nobody.
func (s *Server) admit(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := senderOf(requestInfoOf(r).client)
		name, err := s.authenticate(r, rt)
		if err == nil && name != "" {
			who = "key " + name
		}
		requestInfoOf(r).keyName = name
		if !rt.open {
			if wait := s.senders.takeToken(who, time.Now()); wait > 0 {
				s.writeError(w, r, rateLimited.newProblem("Wait for the time in Retry-After.",
					"more than %g requests per second",
					s.limits.Rate).withRetry(wait))
				return
			}
		}
		if err == nil {
			err = rt.checkParameters(r)
		}
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		l := &memoryLoan{from: s.memory}
		defer l.end()
		var body []byte
		if rt.body {
			if body, err = s.readBody(w, r, l); err != nil {
				s.writeError(w, r, err)
				return
			}
		}
		ctx, cancel := context.WithTimeout(r.Context(), s.limits.Time)
		defer cancel()
		if rt.permission == Write { // before it takes a place, which a search could have
			s.awaitChanges(r.WithContext(ctx))
		}
		if !rt.open {
			if err := s.acquireSlot(ctx); err != nil {
				s.writeError(w, r, err)
				return
			}
			defer func() { <-s.requestSlots }()
		}
		rec := &requestBody{body: body, loan: l}
		defer func() {
			for _, release := range rec.release {
				release()
			}
		}()
		ctx = context.WithValue(ctx, bodyKey{}, rec)
		if err := rt.handle(w, r.WithContext(ctx)); err != nil {
			s.writeError(w, r, err)
		}
	})
}

// maxWait is the longest wait of a request for a place.
const maxWait = 5 * time.Second

// acquireSlot waits for a place among the requests being processed.
func (s *Server) acquireSlot(ctx context.Context) error {
	select {
	case s.requestSlots <- struct{}{}:
		return nil
	default:
	}
	t := time.NewTimer(maxWait)
	defer t.Stop()
	select {
	case s.requestSlots <- struct{}{}:
		return nil
	case <-t.C:
		return overloaded.newProblem("Try again as Retry-After says.",
			"%d requests are being processed, and this one waited "+
				"%s for a place", s.limits.Concurrent, maxWait).withRetry(time.Second)
	case <-ctx.Done():
		return ctx.Err()
	}
}
