package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// What a request holds comes back cut, however long it is.
func TestAnswersAreShort(t *testing.T) {
	s := newServer(t, Options{Limits: Limits{Body: 8 << 20}})
	do := &caller{t: t, s: s}
	for _, long := range []string{strings.Repeat("x", 1<<20), strings.Repeat("\x01", 1<<20)} {
		for _, a := range []*answer{
			do.json("POST", "/v1/search", map[string]any{"id": "red/001", "filter": long}),
			do.json("POST", "/v1/search", map[string]any{"id": long}),
			do.json("PUT", "/v1/items", map[string]any{"items": []any{map[string]any{"id": long,
				"vector": []int{1, 2, 3}}}}),
			do.json("PUT", "/v1/items", map[string]any{"items": []any{map[string]any{"id": "x",
				"vector": []int{1, 2, 3}, "columns": map[string]any{long: []int{1}}}}}),
			do.json("POST", "/v1/search", map[string]any{long: 1}),
		} {
			if a.StatusCode < 400 || a.StatusCode >= 500 || len(a.body) > 32<<10 {
				t.Errorf("%.20q: %d and %d bytes", long, a.StatusCode, len(a.body))
			}
		}
	}
	p := badRequest.newProblem("Do else.", "%s", strings.Repeat("x", 1<<20))
	if n := len(p.Error()); n < 1000 || n > 5000 {
		t.Errorf("a detail of %d bytes", n)
	}
}

// leakyEmbedder is an embedder that says too much of a picture.
type leakyEmbedder struct{ colourEmbedder }

func (*leakyEmbedder) Decode(context.Context, *imaging.Picture, int) (*imaging.Image, error) {
	return nil, errors.New(strings.Repeat("bad", 1<<16))
}

// leakyStore is a store that says too much of why it fails.
type leakyStore struct{ store.Store }

func (leakyStore) Info(context.Context) (store.Info, error) {
	return store.Info{}, errors.New(strings.Repeat("broken", 1<<16))
}

func (leakyStore) Get(context.Context, string) (store.Item, error) {
	return store.Item{}, errors.New(strings.Repeat("broken", 1<<16))
}

// Each place that repeats a part of a request repeats no more of it than tells which.
func TestEveryEchoIsCut(t *testing.T) {
	var log lockedBuffer
	m := newFilledStore(t, 20)
	s := newServer(t, Options{Review: reviewFolder(t), Log: slog.New(slog.NewJSONHandler(&log, nil)),
		Limits: Limits{Body: 1 << 20},
		Collections: []Collection{{Name: "things", Store: m, Embedder: &leakyEmbedder{}},
			{Name: "wordy", Store: leakyStore{m}}}})
	do := &caller{t: t, s: s}
	version := waitForMap(t, do, "things").Version
	long := strings.Repeat("x", 1<<16)
	png := encodePNG(t, plainPicture(10, 10, red))
	with := func(name, value string, of func() *answer) *answer {
		do.header = http.Header{name: {value}}
		defer func() { do.header = nil }()
		return of()
	}
	search := func() *answer { return do.do("POST", "/v1/search", "application/json", []byte(`{}`)) }
	decide := func(change func(d *api.Decisions)) *answer {
		d := decisionsAfter(0)
		change(&d)
		return do.json("PUT", "/v1/review/decisions", d)
	}
	digits, header := `{"id":"red/001","k":1.`+strings.Repeat("0", 1<<16)+`}`, "--b\r\n"+long+"\r\n\r\n"
	kind, form := encodeForm(t, png, long, "1")
	burnt := api.Decision{Action: long, At: decidedAt}
	for what, a := range map[string]*answer{
		"an encoding":        with("Content-Encoding", long, search),
		"a type":             do.do("POST", "/v1/items", "text/"+long, []byte(`{}`)),
		"a number":           do.do("POST", "/v1/search", "application/json", []byte(digits)),
		"an unknown field":   do.json("POST", "/v1/search", map[string]any{long: 1}),
		"a field of a form":  do.do("POST", "/v1/search", kind, form),
		"a header of a form": do.do("POST", "/v1/search", "multipart/form-data; boundary=b", []byte(header)),
		"k of a form":        do.form("POST", "/v1/search", png, "k", strings.Repeat("1", 4000)),
		"vectors of a form":  do.form("POST", "/v1/search", png, "vectors", strings.Repeat("t", 4000)),
		"a picture":          do.form("POST", "/v1/search", png),
		"a column of a map":  do.get(fmt.Sprintf("/v1/map/column?version=%d&name=%s", version, long)),
		"a method":           do.do(long, "/v1/info", "", nil),
		"an action":          decide(func(d *api.Decisions) { d.Done["1"] = burnt }),
		"a card":             decide(func(d *api.Decisions) { d.Done[long] = d.Done["1"] }),
		"a time":             decide(func(d *api.Decisions) { d.Done["1"] = api.Decision{Action: "drop", At: long} }),
	} {
		if a.StatusCode < 400 || a.StatusCode >= 500 || len(a.body) > 900 {
			t.Errorf("%s: %d and %d bytes: %.300s", what, a.StatusCode, len(a.body), a.body)
		}
	}
	log.Reset()
	do.get("/v1/" + long)
	do.get("/v1/items/x?collection=wordy").want(t, 500)
	do.do(long, "/v1/info", "", nil)
	do.json("POST", "/v1/search", map[string]any{"id": "red/001", "filter": "price = " + url.PathEscape(long)})
	for line := range strings.SplitSeq(log.String(), "\n") {
		if strings.Contains(line, `"status":500`) != strings.Contains(line, `"level":"ERROR"`) {
			t.Errorf("the log calls it so: %.300s", line)
		}
		if len(line) > 2000 {
			t.Errorf("a line of the log has %d bytes: %.300s", len(line), line)
		}
	}
}

// A body may be as long as the limit, and no byte longer, whether or not its length is
// told beforehand.
func TestBodiesAtTheLimit(t *testing.T) {
	const limit = 200 << 10 // more than a body's first room, and no power of two
	s := newServer(t, Options{Limits: Limits{Body: limit}})
	for _, told := range []bool{true, false} {
		for extra, want := range map[int]int{-1: 200, 0: 200, 1: 413} {
			body := []byte(`{"id":"red/001"}`)
			body = append(body, bytes.Repeat([]byte(" "), limit+extra-len(body))...)
			var from io.Reader = bytes.NewReader(body)
			if !told {
				from = io.MultiReader(from)
			}
			r := httptest.NewRequest("POST", "/v1/search", from)
			r.Host = "localhost:7700"
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != want || (r.ContentLength >= 0) != told {
				t.Errorf("%d bytes of %d, told %v: %d %s", limit+extra, limit, told, w.Code, w.Body)
			}
		}
	}
}

// The number of items of a store is told, -1 of one that cannot be asked.
func TestItemsAreCounted(t *testing.T) {
	m := newFilledStore(t, 20)
	s := newServer(t, Options{Collections: []Collection{{Name: "good", Store: m}}})
	s.opt.Collections = append(s.opt.Collections, Collection{Name: "bad", Store: leakyStore{m}}) // as if it broke later
	w := httptest.NewRecorder()
	newMetrics(s).handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{`kindred_items{collection="good"} 60`, `kindred_items{collection="bad"} -1`} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("no %s in %.2000s", line, w.Body)
		}
	}
}

// A value of a form may be as long as its limit.
func TestValuesAtTheLimit(t *testing.T) {
	do := &caller{t: t, s: newServer(t, Options{})}
	png := encodePNG(t, plainPicture(10, 10, red))
	for n, want := range map[int]int{maxValue - 1: 400, maxValue: 400, maxValue + 1: 413} {
		do.form("POST", "/v1/search", png, "k", strings.Repeat("x", n)).want(t, want) // no number
	}
}

// The pictures of removed items go, and what stays of them is told.
func TestPicturesThatStayAreTold(t *testing.T) {
	var log lockedBuffer
	dir := t.TempDir()
	s := newServer(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	c := &servedCollection{Collection: Collection{Uploads: dir}}
	gone, full := filepath.Join(dir, "gone.png"), filepath.Join(dir, "full")
	if err := errors.Join(os.WriteFile(gone, nil, 0o600), os.MkdirAll(filepath.Join(full, "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	s.removeUploads(c, gone, filepath.Join(dir, "never.png"), filepath.Join(full, "x"))
	if _, err := os.Stat(gone); err == nil || log.String() != "" {
		t.Errorf("%v, log %q", err, log.String())
	}
	s.removeUploads(c, full)
	if _, err := os.Stat(filepath.Join(full, "x")); err != nil || !strings.Contains(log.String(), "was not deleted") {
		t.Errorf("%v, log %q", err, log.String())
	}
}
