package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// sidesEmbedder embeds a picture by the lengths of its sides.
type sidesEmbedder struct{}

func (sidesEmbedder) Decode(ctx context.Context, p *imaging.Picture, maxPixels int) (*imaging.Image, error) {
	im := new(imaging.Image)
	return im, p.Decode(ctx, &imaging.Decoder{MaxPixels: maxPixels}, im)
}

func (sidesEmbedder) Embed(_ context.Context, pictures []*imaging.Image) (*matrix.Dense, error) {
	x := matrix.New(len(pictures), 2)
	for i, im := range pictures {
		x.Row(i)[0], x.Row(i)[1] = float32(im.W), float32(im.H)
	}
	return x, nil
}

func encodePicture(w, h int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		panic(err) // a buffer takes all
	}
	return b.Bytes()
}

// newServedClient starts a server of an empty collection.
func newServedClient(t testing.TB, opt api.ClientOptions) *api.Client {
	t.Helper()
	s, err := serve.New(serve.Options{Collections: []serve.Collection{{Name: "boxes", Store: &storetest.Memory{Dim: 2},
		Embedder: sidesEmbedder{}, Uploads: t.TempDir()}}})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() { h.Close(); s.Close() })
	c, err := api.NewClient(h.URL+"/", opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestClient uses every method on a server.
func TestClient(t *testing.T) {
	ctx := t.Context()
	c := newServedClient(t, api.ClientOptions{Collection: "boxes"})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.Ready(ctx))
	items := []store.Item{{ID: "a/b c?", Vector: []float32{1, 2}, Columns: map[string]any{"label": "small"}},
		{ID: "large", Vector: []float32{100, 200}, Columns: map[string]any{"label": "large"}}}
	must(c.Add(ctx, items))
	var refused *api.Error
	if err := c.Add(ctx, items); !errors.As(err, &refused) || refused.Code != "conflict" || refused.Status != 409 {
		t.Errorf("added twice: %v", err)
	}
	must(c.Put(ctx, items))
	id, err := c.PutPicture(ctx, "", encodePicture(90, 190), map[string]any{"label": "large"})
	must(err)
	_, err = c.PutPicture(ctx, "flat", encodePicture(300, 1), nil)
	must(err)
	info, err := c.Info(ctx)
	must(err)
	if info.Collections[0].Items != 4 || !info.Collections[0].Uploads {
		t.Errorf("%+v", info)
	}
	found, err := c.SearchPicture(ctx, encodePicture(98, 198), api.Search{K: 2, Filter: `label = "large"`,
		Columns: []string{"label"}, Vectors: true})
	must(err)
	if len(found.Neighbours) != 2 || found.Neighbours[0].ID != "large" || found.Neighbours[1].ID != id ||
		len(found.Vector) != 2 {
		t.Errorf("%+v", found)
	}
	found, err = c.Search(ctx, api.Search{ID: "a/b c?", K: 1})
	must(err)
	if found.Neighbours[0].ID != id {
		t.Errorf("%+v", found)
	}
	e, err := c.Explain(ctx, api.Search{Vector: []float32{0, 0}})
	must(err)
	if len(e.Shares) != 2 || len(e.Notes) == 0 {
		t.Errorf("%+v", e)
	}
	_, err = c.ExplainPicture(ctx, encodePicture(5, 5), api.Search{})
	must(err)
	if _, err := c.SearchPicture(ctx, encodePicture(5, 5), api.Search{ID: "x"}); err == nil {
		t.Error("a picture and an id")
	}
	checkUncalibrated(t, c)
	must(c.Change(ctx, "a/b c?", api.Change{Columns: map[string]any{"label": "tiny"}}))
	it, err := c.Get(ctx, "a/b c?")
	must(err)
	if it.Columns["label"] != "tiny" || !slices.Equal(it.Vector, []float32{1, 2}) {
		t.Errorf("%+v", it)
	}
	list, err := c.List(ctx, store.Page{Limit: 1, Filter: `label = "large"`, Vectors: true})
	must(err)
	if len(list.Items) != 1 || list.Next == "" {
		t.Errorf("%+v", list)
	}
	checkBrowse(t, c)
	file, err := c.Picture(ctx, "flat")
	must(err)
	if !bytes.Equal(file, encodePicture(300, 1)) {
		t.Error("another picture")
	}
	_, err = c.Thumbnail(ctx, "flat", 64)
	must(err)
	testMap(t, c)
	n, err := c.Delete(ctx, "flat", "nothing")
	must(err)
	if n != 1 {
		t.Errorf("%d removed", n)
	}
}

// checkBrowse looks around.
func checkBrowse(t *testing.T, c *api.Client) {
	t.Helper()
	list, err := c.Sample(t.Context(), store.Page{Limit: 1, Filter: `label = "large"`}, 3)
	if err != nil || len(list.Items) != 1 || list.Passed == nil || *list.Passed < 1 {
		t.Errorf("%+v, %v", list, err)
	}
	list, err = c.ListSimilar(t.Context(), "fla", 5)
	if err != nil || len(list.Items) != 1 || list.Items[0].ID != "flat" {
		t.Errorf("%+v, %v", list, err)
	}
	found, err := c.SearchPicture(t.Context(), encodePicture(300, 1), api.Search{ExcludeQuery: true})
	if err != nil || !slices.Equal(found.QueryIDs, []string{"flat"}) {
		t.Errorf("%+v, %v", found, err)
	}
}

// checkUncalibrated asks for what takes a calibration.
func checkUncalibrated(t *testing.T, c *api.Client) {
	t.Helper()
	ctx := t.Context()
	var refused *api.Error
	if _, err := c.Identify(ctx, api.Identify{IDs: []string{"large"}}); !errors.As(err, &refused) ||
		refused.Code != "invalid" || !strings.Contains(refused.Detail, "no calibration") {
		t.Errorf("identified without a calibration: %v", err)
	}
	if _, err := c.IdentifyPictures(ctx, [][]byte{encodePicture(5, 5), encodePicture(6, 6)},
		api.Identify{FPIR: 0.1}); err == nil ||
		!strings.Contains(err.Error(), "no calibration") {
		t.Errorf("two pictures: %v", err)
	}
	if _, err := c.SearchPicture(ctx, encodePicture(5, 5), api.Search{MinProbability: 0.5}); err == nil {
		t.Error("least without a calibration")
	}
}

func testMap(t *testing.T, c *api.Client) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		m, err := c.Map(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if m.State != "ready" {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		points, err := c.MapPoints(t.Context(), m.Version)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := c.MapIDs(t.Context(), m.Version, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		col, err := c.MapColumn(t.Context(), m.Version, "label")
		if err != nil {
			t.Fatal(err)
		}
		if len(points) != 4 || len(ids) != 4 || len(col.ClassOf) != 4 {
			t.Errorf("%v %v %v", points, ids, col)
		}
		return
	}
	t.Fatal("no map")
}

// TestRetries: what a server has no time for is sent again, what may not arrive twice
// only if it did not arrive.
func TestRetries(t *testing.T) {
	for _, c := range []struct {
		name  string
		codes []string // of the answers before one that is right; "" breaks the connection
		call  func(*api.Client) error
		sent  int
		want  string // the code of the error
	}{
		{"busy", []string{"overloaded", "rate_limited"}, checkSearch, 3, ""},
		{"gone", []string{"", ""}, checkSearch, 3, ""},
		{"wrong", []string{"invalid"}, checkSearch, 1, "invalid"},
		{"always", slices.Repeat([]string{"overloaded"}, 9), checkSearch, 4, "overloaded"},
		{"add, busy", []string{"overloaded"}, checkAdd, 2, ""},
		{"add, late", []string{"late"}, checkAdd, 1, "late"},
		{"add, gone", []string{""}, checkAdd, 1, "?"},
		{"slow", []string{"overloaded 3600"}, checkSearch, 1, "overloaded"},
	} {
		var sent atomic.Int64
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			n := int(sent.Add(1))
			if n > len(c.codes) {
				io.WriteString(w, `{"ids":["x"],"schema":1,"gallery":"c","items":0,"distance":"dot","neighbours":[]}`)
				return
			}
			code, after := c.codes[n-1], 0
			fmt.Sscan(code, &code, &after)
			status := map[string]int{"overloaded": 503, "late": 503, "rate_limited": 429, "invalid": 422}[code]
			if code == "" {
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("Content-Type", "application/problem+json")
			if after > 0 {
				w.Header().Set("Retry-After", fmt.Sprint(after))
			}
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"type":"t","title":"T","status":%d,"code":%q,"detail":"d","fix":"f","request_id":"r"}`,
				status,
				code)
		}))
		cl, err := api.NewClient(h.URL, api.ClientOptions{Retries: 3, MaxWait: 2 * time.Millisecond, HTTP: h.Client()})
		if err != nil {
			t.Fatal(err)
		}
		err = c.call(cl)
		var refused *api.Error
		errors.As(err, &refused)
		switch {
		case int(sent.Load()) != c.sent:
			t.Errorf("%s: sent %d times, want %d", c.name, sent.Load(), c.sent)
		case (err == nil) != (c.want == ""), c.want != "" && c.want != "?" && (refused == nil ||
			refused.Code != c.want):
			t.Errorf("%s: %v", c.name, err)
		}
		h.Close()
	}
}

func checkSearch(c *api.Client) error {
	_, err := c.Search(context.Background(), api.Search{ID: "x"})
	return err
}

func checkAdd(c *api.Client) error {
	return c.Add(context.Background(), []store.Item{{ID: "x", Vector: []float32{1}}})
}

func TestContextEndsRetries(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "a proxy's page", http.StatusServiceUnavailable)
	}))
	defer h.Close()
	c, err := api.NewClient(h.URL, api.ClientOptions{Retries: 1000})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = c.Info(ctx)
	var refused *api.Error
	if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &refused) && refused.Code != "unknown" {
		t.Errorf("%v", err)
	}
}

func TestBadAddresses(t *testing.T) {
	for _, a := range []string{"", "127.0.0.1:7700", "ftp://x", "http://", "http://a b"} {
		if _, err := api.NewClient(a, api.ClientOptions{}); err == nil {
			t.Errorf("address %q was taken", a)
		}
	}
}
