package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"image/jpeg"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

func TestSearchFindsKin(t *testing.T) {
	do := &caller{t: t, s: newServer(t, Options{})}
	var f api.Found
	do.form("POST", "/v1/search", encodeJPEG(t, plainPicture(50, 30, green)), "k", "3").want(t, 200).into(t, &f)
	if len(f.Neighbours) != 3 || f.Neighbours[0].ID != "green/000" || f.Neighbours[0].Columns["label"] != "green" ||
		f.Neighbours[0].Vector != nil || f.Vector != nil {
		t.Errorf("%+v", f)
	}
	f = api.Found{}
	do.json("POST", "/v1/search", api.Search{ID: "red/003", K: 2, Filter: `label = "blue"`, Columns: []string{"price"},
		Vectors: true}).want(t, 200).into(t, &f)
	if len(f.Neighbours) != 2 || !strings.HasPrefix(f.Neighbours[0].ID, "blue/") || len(f.Vector) != 3 ||
		len(f.Neighbours[0].Vector) != 3 || len(f.Neighbours[0].Columns) != 1 {
		t.Errorf("%+v", f)
	}
	f = api.Found{}
	do.json("POST", "/v1/search", api.Search{ID: "red/003"}).want(t, 200).into(t, &f)
	if len(f.Neighbours) != 10 || slices.ContainsFunc(f.Neighbours,
		func(h api.Neighbour) bool { return h.ID == "red/003" }) {
		t.Errorf("an item that is asked with is found, or not ten: %+v", f)
	}
}

// TestCoalescing: pictures that come while the network is busy are embedded together,
// and one that it fails on does not spoil the others.
func TestCoalescing(t *testing.T) {
	var mu sync.Mutex
	var sizes []int
	first := make(chan struct{})
	e := &colourEmbedder{before: func(n int) error {
		mu.Lock()
		sizes = append(sizes, n)
		wait := len(sizes) == 1
		mu.Unlock()
		if wait {
			<-first
		}
		return nil
	}}
	var log bytes.Buffer
	s := newServer(t, Options{Collections: []Collection{{Name: "things", Store: newFilledStore(t, 5), Embedder: e}},
		Log: slog.New(slog.NewJSONHandler(&log, nil))})
	do := &caller{t: t, s: s}
	picture := encodePNG(t, plainPicture(8, 8, red))
	var wg sync.WaitGroup
	send := func() {
		wg.Go(func() {
			if a := do.form("POST", "/v1/search", picture); a.StatusCode != 200 {
				t.Errorf("%d: %s", a.StatusCode, a.body)
			}
		})
	}
	send()
	waitFor(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(sizes) == 1 })
	for range 9 {
		send()
	}
	waitFor(t, func() bool { return s.memory.bytesInUse() > 9*int64(len(picture)) && len(s.requestSlots) == 10 })
	waitFor(t, func() bool { // all of them in the queue
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return bytes.Count(stacks, []byte("(*embedQueue).embed(")) == 10
	})
	close(first)
	wg.Wait()
	mu.Lock()
	if len(sizes) > 5 || sizes[0] != 1 { // 1 and 9, where the machine has nothing else to do
		t.Errorf("batches of %v", sizes)
	}
	mu.Unlock()
	bad := errors.New("an odd picture")
	e.before = func(n int) error {
		if n > 1 {
			return bad
		}
		return nil
	}
	for range 5 {
		send()
	}
	wg.Wait()
	e.before = func(int) error { panic("a defect") }
	do.form("POST", "/v1/search", picture).want(t, 500, "internal")
	if !strings.Contains(log.String(), "serve.TestCoalescing") {
		t.Errorf("the log has no stack of the network's panic: %s", log.String())
	}
}

func waitFor(t testing.TB, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
	}
}

// TestGracefulStop: what has begun is finished, what comes then is not taken, and what
// takes too long is cut off.
func TestGracefulStop(t *testing.T) {
	began, finish := make(chan struct{}, 4), make(chan struct{})
	m := newFilledStore(t, 2)
	m.Fault(func(method string) error {
		if method == "Search" {
			began <- struct{}{}
			<-finish
		}
		return nil
	})
	s := newServer(t, Options{Collections: []Collection{{Name: "things", Store: m}}})
	ln, err := Listen("127.0.0.1:0", Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Serve(ctx, ln, nil) }()
	url := "http://" + ln.Addr().String()
	answered := make(chan int, 1)
	go func() {
		res, err := http.Post(url+"/v1/search", "application/json", strings.NewReader(`{"vector":[1,2,3]}`))
		if err != nil {
			answered <- 0
			return
		}
		res.Body.Close()
		answered <- res.StatusCode
	}()
	<-began
	cancel()
	waitFor(t, func() bool { return s.draining.Load() })
	(&caller{t: t, s: s}).get("/readyz").want(t, 503, "not_ready")
	waitFor(t, func() bool {
		_, err := http.Get(url + "/healthz")
		return err != nil
	})
	close(finish)
	if status := <-answered; status != 200 {
		t.Errorf("the request under way was answered with %d", status)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestStopCutsOff(t *testing.T) {
	s := newServer(t, Options{Limits: Limits{Drain: 100 * time.Millisecond}})
	ln, err := Listen("127.0.0.1:0", Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Serve(ctx, ln, nil) }()
	body, more := io.Pipe()
	defer more.Close()
	go http.Post("http://"+ln.Addr().String()+"/v1/search", "application/json", body)
	if _, err := more.Write([]byte("{")); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case err := <-stopped:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("a client that goes on keeps the server from stopping")
	}
}

// TestConnections: no more are open than allowed, and those that wait are served.
func TestConnections(t *testing.T) {
	s := newServer(t, Options{Limits: Limits{Connections: 4}})
	address := startServer(t, s)
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			res, err := client.Get("http://" + address + "/v1/info")
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
		})
	}
	wg.Wait()
}

// TestUploads: a picture that is added is kept, shown, replaced and removed with its
// item, under a name that has nothing of what the client says.
func TestUploads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "uploads")
	m := &storetest.Memory{Dim: 3}
	s := newServer(t, Options{Collections: []Collection{{Name: "things", Store: m, Embedder: &colourEmbedder{},
		Uploads: dir}}})
	do := &caller{t: t, s: s}
	files := func(want int) {
		t.Helper()
		list, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if len(list) != want {
			t.Errorf("%d files, want %d", len(list), want)
		}
		for _, f := range list {
			if strings.ContainsAny(f.Name(), "./<") {
				t.Errorf("file %s", f.Name())
			}
		}
	}
	first, second := encodePNG(t, plainPicture(300, 100, red)), encodePNG(t, plainPicture(10, 10, blue))
	do.form("POST", "/v1/items", first, "id", "../../<b>").want(t, 201)
	files(1)
	do.form("POST", "/v1/items", first, "id", "../../<b>").want(t, 409, "conflict")
	do.form("POST", "/v1/items", second, "id", "../../<b>").want(t, 409, "conflict")
	files(1)
	const at = "/v1/items/..%2F..%2F%3Cb%3E"
	if a := do.get(at+"/picture").want(t, 200); !bytes.Equal(a.body, first) ||
		a.Header.Get("Content-Type") != "image/png" {
		t.Error("another picture came back")
	}
	do.form("PUT", at, second).want(t, 200)
	files(1)
	if a := do.get(at+"/picture").want(t, 200); !bytes.Equal(a.body, second) {
		t.Error("the picture was not replaced")
	}
	do.form("PUT", at, second).want(t, 200) // by itself
	files(1)
	do.get(at+"/picture").want(t, 200)
	do.json("PUT", at, api.Change{Columns: map[string]any{"a": 1}}).want(t, 200)
	do.get(at+"/picture").want(t, 200)
	do.do("DELETE", at, "", nil).want(t, 200)
	files(0)
	m.Fault(func(method string) error {
		if method == "Put" {
			return syscall.ENOSPC
		}
		return nil
	})
	do.form("POST", "/v1/items", first).want(t, 507, "disk_full")
	files(0)
}

// TestPictures: no request reads a file that the items do not name, and none gives an
// item a path that it may not have.
func TestPictures(t *testing.T) {
	dir := t.TempDir()
	secret, shown := filepath.Join(dir, "secret"), filepath.Join(dir, "shown")
	for _, d := range []string{secret, shown} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "a.png"), encodePNG(t, plainPicture(20, 10, red)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(shown, "notes.txt"), []byte("no picture"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(secret, "a.png"), filepath.Join(shown, "link.png")); err != nil {
		t.Log(err)
	}
	paths := map[string]string{"ok": filepath.Join(shown, "a.png"), "relative": "a.png",
		"secret": filepath.Join(secret, "a.png"), "up": filepath.Join(shown, "..", "secret", "a.png"),
		"up2":  "../secret/a.png",
		"link": filepath.Join(shown, "link.png"), "text": filepath.Join(shown, "notes.txt"), "folder": shown,
		"missing": filepath.Join(shown, "b.png")}
	for _, folders := range [][]string{{shown}, nil} {
		m := &storetest.Memory{Dim: 3}
		for id, path := range paths {
			if err := m.Put(t.Context(), []store.Item{{ID: id, Path: path, Vector: []float32{1, 2, 3}}},
				store.Insert); err != nil {
				t.Fatal(err)
			}
		}
		s := newServer(t, Options{Collections: []Collection{{Name: "things", Store: m, Folders: folders}}})
		do := &caller{t: t, s: s}
		for id := range paths {
			want := 404
			switch {
			case id == "ok", id == "relative" && folders != nil, folders == nil && (id == "secret" || id == "up" ||
				id == "link"):
				want = 200
			}
			for _, what := range []string{"picture", "thumbnail"} {
				if a := do.get("/v1/items/" + id + "/" + what); a.StatusCode != want {
					t.Errorf("%s of %s with folders %v: %d, want %d", what, id, folders, a.StatusCode, want)
				}
			}
		}
		for path, want := range map[string]int{filepath.Join(secret, "a.png"): 403, "/etc/passwd": 403,
			filepath.Join(shown, "..", "secret", "a.png"): 403, filepath.Join(shown, "a.png"): 200} {
			if folders == nil {
				want = 403
			}
			item := store.Item{ID: "new", Path: path, Vector: []float32{1, 2, 3}}
			do.json("PUT", "/v1/items", api.Items{Items: []store.Item{item}}).want(t, want)
			do.json("PUT", "/v1/items/new", api.Change{Path: path, Vector: item.Vector}).want(t, want)
		}
		same := store.Item{ID: "secret", Path: paths["secret"], Vector: []float32{3, 2, 1}}
		do.json("PUT", "/v1/items", api.Items{Items: []store.Item{same}}).want(t, 200) // as it was
	}
}

func TestExplain(t *testing.T) {
	do := &caller{t: t, s: newServer(t, Options{Collections: []Collection{{Name: "things", Store: newFilledStore(t, 60),
		Embedder: &colourEmbedder{}}}})}
	var e api.Explanation
	do.json("POST", "/v1/explain", api.Search{ID: "red/003", K: 5}).want(t, 200).into(t, &e)
	if e.Class != "red" || e.Label != "label" || len(e.Neighbours) != 5 || len(e.Shares) != 1 ||
		e.Shares[0].Share != 1 ||
		e.Neighbourhood == nil || len(e.Neighbourhood.Classes) < 2 || len(e.Notes) < 1 ||
		e.Neighbours[0].Vector != nil {
		t.Errorf("%+v", e)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	// All classes are points: that is what it has to say.
	m := &storetest.Memory{Dim: 3}
	var items []store.Item
	for i := range 120 {
		v := []float32{0, 0, 0}
		for j := range v {
			v[j] = 1e-5 * float32(rng.NormFloat64())
		}
		v[i%2]++
		items = append(items, store.Item{ID: fmt.Sprint(i), Vector: v, Columns: map[string]any{"kind": i%2 == 0}})
	}
	if err := m.Put(t.Context(), items, store.Insert); err != nil {
		t.Fatal(err)
	}
	do.s = newServer(t, Options{Collections: []Collection{{Name: "points", Store: m, Label: "kind"}}})
	e = api.Explanation{}
	do.json("POST", "/v1/explain", api.Search{ID: "4"}).want(t, 200).into(t, &e)
	if e.Neighbourhood == nil || e.Neighbourhood.State != "collapsed" || e.Neighbourhood.Compactness > 0.01 {
		t.Errorf("a collapsed neighbourhood: %+v, notes %q", e.Neighbourhood, e.Notes)
	}
	if strings.Contains(strings.Join(e.Notes, " "), "collapsed") {
		t.Errorf("notes on the neighbours tell of others: %q", e.Notes)
	}
	// Without classes there is no diagnosis.
	do.s = newServer(t, Options{Collections: []Collection{{Name: "points", Store: m}}})
	e = api.Explanation{}
	do.json("POST", "/v1/explain", api.Search{ID: "4"}).want(t, 200).into(t, &e)
	if e.Neighbourhood != nil {
		t.Errorf("%+v", e)
	}
}

// TestMap: a map has a point for every item, is computed anew when items change, and
// PCA's axes place items as PCA itself does.
func TestMap(t *testing.T) {
	m := newFilledStore(t, 30)
	s := newServer(t, Options{Collections: []Collection{{Name: "things", Store: m}}})
	do := &caller{t: t, s: s}
	state := waitForMap(t, do, "things")
	if state.Items != 90 || state.Method != "tsne" || state.Placed != 90 || state.Stale || state.X[0] >= state.X[1] {
		t.Errorf("%+v", state)
	}
	version := fmt.Sprintf("version=%d", state.Version)
	if n := len(do.get("/v1/map/points?"+version).want(t, 200).body); n != 90*8 {
		t.Errorf("%d bytes of points", n)
	}
	var ids api.MapIDs
	do.get("/v1/map/ids?from=80&"+version).want(t, 200).into(t, &ids)
	if len(ids.IDs) != 10 {
		t.Errorf("%d ids from the 80th on", len(ids.IDs))
	}
	do.get("/v1/map/ids?count=90&"+version).want(t, 200).into(t, &ids)
	var label, price api.MapColumn
	do.get("/v1/map/column?name=label&"+version).want(t, 200).into(t, &label)
	do.get("/v1/map/column?name=price&"+version).want(t, 200).into(t, &price)
	for i, id := range ids.IDs {
		if class := label.Classes[label.ClassOf[i]]; !strings.HasPrefix(id, class+"/") {
			t.Errorf("point %d is of %s, and of the class %s", i, id, class)
		}
		if want := fmt.Sprintf("/%03.0f", *price.Numbers[i]); !strings.HasSuffix(id, want) {
			t.Errorf("point %d is of %s, and has the price %s", i, id, want)
		}
	}
	do.json("PUT", "/v1/items", api.Items{Items: []store.Item{{ID: "new", Vector: []float32{1, 1, 1}}}}).want(t, 200)
	do.get("/v1/map").want(t, 200).into(t, &state)
	if !state.Stale {
		t.Error("a map of an earlier state does not say so")
	}
}

// Where items are many, a sample is placed by t-SNE, and every item has its own place, id and columns;
// those of a class lie together.
func TestMapOfSample(t *testing.T) {
	m := newFilledStore(t, 30)
	all, err := layOutItems(t.Context(), m, 90)
	if err != nil || all.numPlaced != 90 || len(all.points) != 180 {
		t.Fatalf("%d placed, %v", all.numPlaced, err)
	}
	p, err := layOutItems(t.Context(), m, 40)
	if err != nil {
		t.Fatal(err)
	}
	if p.numPlaced != 40 || p.method != "tsne" || len(p.points) != 180 ||
		!slices.Equal(slices.Sorted(slices.Values(p.ids)), slices.Sorted(slices.Values(all.ids))) {
		t.Fatalf("%d placed by %s, %d coordinates, %d ids", p.numPlaced, p.method, len(p.points), len(p.ids))
	}
	label, price := p.columns["label"], p.columns["price"]
	for i, id := range p.ids {
		if want := fmt.Sprintf("%s/%03.0f", label.Classes[label.ClassOf[i]], *price.Numbers[i]); id != want {
			t.Errorf("item %d is %s and has the columns of %s", i, id, want)
		}
		best, at := math.Inf(1), -1
		for j := range 90 {
			d := math.Hypot(float64(p.points[2*i]-p.points[2*j]), float64(p.points[2*i+1]-p.points[2*j+1]))
			if j != i && d < best {
				best, at = d, j
			}
		}
		if label.ClassOf[at] != label.ClassOf[i] {
			t.Errorf("beside %s lies %s", p.ids[i], p.ids[at])
		}
		for c, v := range p.points[2*i : 2*i+2] {
			if bounds := [2][2]float64{p.x, p.y}[c]; float64(v) < bounds[0] || float64(v) > bounds[1] {
				t.Errorf("%s lies outside %v", p.ids[i], bounds)
			}
		}
	}
}

// TestLog: every request is a line of JSON with its id, which is the client's if it
// has a form that cannot be mistaken.
func TestLog(t *testing.T) {
	var b lockedBuffer
	s := newServer(t, Options{Log: slog.New(slog.NewJSONHandler(&b, nil))})
	for sent, kept := range map[string]bool{"abc-1": true, "": false, "a b": false, "a\nb": false, strings.Repeat("x",
		65): false} {
		b.Reset()
		do := &caller{t: t, s: s, header: http.Header{"X-Request-Id": {sent}}}
		a := do.get("/v1/items/nothing\u202e").want(t, 404)
		id := a.Header.Get("X-Request-Id")
		if (id == sent) != kept || !requestID.MatchString(id) {
			t.Errorf("id %q of %q", id, sent)
		}
		var line struct {
			Level     string `json:"level"`
			RequestID string `json:"request_id"`
			Status    int    `json:"status"`
			Route     string `json:"route"`
			Error     string `json:"error"`
		}
		if err := json.Unmarshal([]byte(b.String()), &line); err != nil {
			t.Fatalf("%v in %q", err, b.String())
		}
		if line.RequestID != id || line.Status != 404 || line.Route != "GET /v1/items/{id}" || line.Level != "INFO" ||
			line.Error == "" {
			t.Errorf("%+v", line)
		}
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }
func (l *lockedBuffer) Reset()         { l.mu.Lock(); defer l.mu.Unlock(); l.b.Reset() }

// TestPage: a page has what no route has, and nothing below /v1/.
func TestPage(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "page of "+r.URL.Path) })
	do := &caller{t: t, s: newServer(t, Options{Page: page})}
	for path, want := range map[string]string{"/": "page of /", "/assets/app.js": "page of /assets/app.js"} {
		if a := do.get(path).want(t, 200); string(a.body) != want {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	do.get("/v1/nothing").want(t, 404, "not_found")
	do.do("POST", "/", "", nil).want(t, 404, "not_found")
	do.do("POST", "/v1/info", "", nil).want(t, 405, "method_not_allowed")
	do.get("/healthz").want(t, 200)
}

func TestBadOptions(t *testing.T) {
	m := &storetest.Memory{Dim: 1}
	for want, opt := range map[string]Options{
		"no collection":     {},
		"collection name":   {Collections: []Collection{{Name: "a/b", Store: m}}},
		"two collections":   {Collections: []Collection{{Name: "a", Store: m}, {Name: "a", Store: m}}},
		"has no store":      {Collections: []Collection{{Name: "a"}}},
		"limit K is -1":     {Collections: []Collection{{Name: "a", Store: m}}, Limits: Limits{K: -1}},
		"limit Time is -10": {Collections: []Collection{{Name: "a", Store: m}}, Limits: Limits{Time: -10}},
	} {
		if _, err := New(opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestThumbnail: it is as small as asked for, upright in shape, and never larger than
// the picture.
func TestThumbnail(t *testing.T) {
	dir := t.TempDir()
	m := &storetest.Memory{Dim: 3}
	for id, im := range map[string][]byte{"wide": encodeJPEG(t, plainPicture(400, 100, red)),
		"grey": encodePNG(t, plainPicture(20, 20,
			color.White))} {
		path := filepath.Join(dir, id)
		if err := os.WriteFile(path, im, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := m.Put(t.Context(), []store.Item{{ID: id, Path: path, Vector: []float32{1, 2, 3}}},
			store.Insert); err != nil {
			t.Fatal(err)
		}
	}
	do := &caller{t: t, s: newServer(t, Options{Collections: []Collection{{Name: "a", Store: m}}})}
	for target, want := range map[string][2]int{"wide/thumbnail?size=100": {100, 25}, "wide/thumbnail": {192, 48},
		"grey/thumbnail?size=64": {20, 20}} {
		for range 2 { // made, then kept
			a := do.get("/v1/items/"+target).want(t, 200)
			if w, h := sizeOf(t, a.body); w != want[0] || h != want[1] {
				t.Errorf("%s has %d x %d pixels", target, w, h)
			}
		}
	}
	th := newPictureCache(thumbnailBytes)
	for i := range 300 {
		th.put(&cachedPicture{tag: fmt.Sprint(i), file: make([]byte, 1<<20)})
	}
	if th.bytes > thumbnailBytes || len(th.byTag) != th.order.Len() || th.get("299") == nil || th.get("0") != nil {
		t.Errorf("%d bytes in %d thumbnails", th.bytes, len(th.byTag))
	}
}

func sizeOf(t *testing.T, file []byte) (w, h int) {
	t.Helper()
	im, err := jpeg.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return im.Bounds().Dx(), im.Bounds().Dy()
}

// A column is as long as the map even if the last items have no value in it.
func TestMapColumnsWithGaps(t *testing.T) {
	m := newFilledStore(t, 10)
	some := []store.Item{{ID: "a", Vector: []float32{1, 2, 3}, Columns: map[string]any{"kind": "x", "weight": 2.0}}}
	if err := m.Put(t.Context(), some, store.Insert); err != nil {
		t.Fatal(err)
	}
	do := &caller{t: t, s: newServer(t, Options{Collections: []Collection{{Name: "things", Store: m}}})}
	version := fmt.Sprintf("version=%d", waitForMap(t, do, "things").Version)
	var ids api.MapIDs
	do.get("/v1/map/ids?count=31&"+version).want(t, 200).into(t, &ids)
	var kind, weight api.MapColumn
	do.get("/v1/map/column?name=kind&"+version).want(t, 200).into(t, &kind)
	do.get("/v1/map/column?name=weight&"+version).want(t, 200).into(t, &weight)
	if len(ids.IDs) != 31 || len(kind.ClassOf) != 31 || kind.Numbers != nil ||
		len(weight.Numbers) != 31 || weight.ClassOf != nil {
		t.Fatalf("%d items, %+v, %+v", len(ids.IDs), kind, weight)
	}
	for i, id := range ids.IDs {
		has := id == "a"
		if has != (kind.ClassOf[i] >= 0) || has != (weight.Numbers[i] != nil) ||
			has && (kind.Classes[kind.ClassOf[i]] != "x" || *weight.Numbers[i] != 2) {
			t.Errorf("%s: class %d, %v", id, kind.ClassOf[i], weight.Numbers[i])
		}
	}
}
