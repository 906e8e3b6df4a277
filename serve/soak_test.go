package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// testLoad is clients of all kinds at work on one server.
type testLoad struct {
	t       *testing.T
	address string
	client  *http.Client
	attacks *attacker
	picture []byte

	mu     sync.Mutex
	counts map[int]int // of answers, by status
}

func (l *testLoad) send(method, target, kind string, body []byte) {
	req, err := http.NewRequest(method, "http://"+l.address+target, bytes.NewReader(body))
	if err != nil {
		l.t.Error(err)
		return
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	res, err := l.client.Do(req)
	if err != nil {
		l.t.Errorf("%s %s: %v", method, target, err)
		return
	}
	text, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || res.StatusCode == 500 {
		l.t.Errorf("%s %s: %d %s %v", method, target, res.StatusCode, text, err)
	}
	l.mu.Lock()
	l.counts[res.StatusCode]++
	l.mu.Unlock()
}

func (l *testLoad) json(method, target string, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		l.t.Error(err)
	}
	l.send(method, target, "application/json", body)
}

// step sends one request. Items come from 400 ids, so that the collection does not
// grow for ever.
func (l *testLoad) step(rng *rand.Rand) {
	id := fmt.Sprintf("item/%d", rng.IntN(400))
	at := "/v1/items/" + strings.ReplaceAll(id, "/", "%2F")
	v := []float32{rng.Float32(), rng.Float32(), rng.Float32()}
	switch n := rng.IntN(100); {
	case n < 35:
		l.json("POST", "/v1/search", api.Search{Vector: v, K: 1 + rng.IntN(20), Filter: `price < 50`})
	case n < 45:
		l.json("POST", "/v1/search", api.Search{ID: id})
	case n < 55:
		kind, body := encodeForm(l.t, l.picture)
		l.send("POST", "/v1/search", kind, body)
	case n < 57:
		l.json("POST", "/v1/explain", api.Search{Vector: v})
	case n < 70:
		item := store.Item{ID: id, Vector: v, Columns: map[string]any{"price": float64(rng.IntN(100)),
			"label": fmt.Sprint(rng.IntN(3))}}
		l.json("PUT", "/v1/items", api.Items{Items: []store.Item{item}})
	case n < 75:
		kind, body := encodeForm(l.t, l.picture, "columns", `{"label":"x"}`)
		l.send("PUT", at, kind, body)
	case n < 80:
		l.send("DELETE", at, "", nil)
	case n < 85:
		l.send("GET", at+"/thumbnail", "", nil)
	case n < 90:
		l.send("GET", "/v1/items?limit=50", "", nil)
	case n < 92:
		l.send("GET", "/v1/map", "", nil)
	case n < 94:
		l.send("GET", "/metrics", "", nil)
	default:
		l.mu.Lock()
		a := l.attacks.next()
		l.mu.Unlock()
		if status := a.send(l.t, l.address); status/100 == 5 {
			l.t.Errorf("%d for %.300q", status, a.raw)
		}
	}
}

// processWeight is what a process holds.
type processWeight struct {
	heap, resident  uint64
	routines, files int
}

func measureProcess() processWeight {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w := processWeight{heap: m.HeapAlloc, routines: runtime.NumGoroutine(), files: openFiles()}
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		var size, resident uint64
		if _, err := fmt.Sscan(string(b), &size, &resident); err == nil {
			w.resident = resident * uint64(os.Getpagesize())
		}
	}
	return w
}

// openFiles counts this process's descriptors, 0 where the system does not tell.
func openFiles() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

// TestDay is a day of mixed load on a server of an index folder, compressed: 10
// minutes with KINDRED_LONG=1, otherwise seconds. Memory, goroutines and descriptors
// stay where they were after the first third, and are given back at the end.
func TestDay(t *testing.T) {
	long := 3 * time.Second
	switch {
	case os.Getenv("KINDRED_LONG") == "1":
		long = 10 * time.Minute
	case testing.Short():
		long = time.Second
	}
	warm := newServer(t, Options{}) // what starts once in a process has started
	(&caller{t: t, s: warm}).json("POST", "/v1/explain", api.Search{ID: "red/001"}).want(t, 200)
	(&caller{t: t, s: warm}).get("/v1/map").want(t, 200)
	warm.Close()
	before := measureProcess()

	dir := t.TempDir()
	x, err := index.Create(filepath.Join(dir, "day"), index.Config{Dim: 3})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Limits: Limits{Rate: -1, Body: 4 << 20, Pixels: 1_000_000, Time: 30 * time.Second},
		Collections: []Collection{{Name: "day", Store: x.Store(false), Embedder: &colourEmbedder{},
			Uploads: filepath.Join(dir, "uploads")}}})
	if err != nil {
		t.Fatal(err)
	}
	address, stop := startTLS(t, s, "", "")
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	l := &testLoad{t: t, address: address, client: &http.Client{Transport: transport}, attacks: newAttacker(t),
		picture: encodePNG(t, plainPicture(60, 40, green)), counts: map[int]int{}}
	weights := l.run(long)
	t.Logf("answers %v", l.counts)
	third := weights[len(weights)/3:]
	early, late := medianWeight(third[:len(third)/2]), medianWeight(third[len(third)/2:])
	t.Logf("%d samples; then %+v, at the end %+v", len(weights), early, late)
	if late.heap > early.heap+early.heap/4+16<<20 || late.resident > early.resident+early.resident/4+64<<20 {
		t.Errorf("memory grew")
	}
	if late.routines > early.routines+10 || late.files > early.files+10 {
		t.Errorf("goroutines or descriptors grew")
	}
	transport.CloseIdleConnections()
	stop()
	s.Close()
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	waitFor(t, func() bool { return runtime.NumGoroutine() <= before.routines+1 && openFiles() <= before.files })
}

// run lets eight clients work for so long, and until there was a load, and weighs the
// process forty times or more.
func (l *testLoad) run(long time.Duration) []processWeight {
	end := time.Now().Add(long)
	over := func() bool { return l.t.Failed() || time.Now().After(end) && l.enough() }
	var wg sync.WaitGroup
	for c := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 7))
			for !over() {
				l.step(rng)
			}
		})
	}
	var weights []processWeight
	for !over() {
		time.Sleep(long / 40)
		weights = append(weights, measureProcess())
	}
	wg.Wait()
	return weights
}

// enough reports whether there was a load: a hundred answers, and items added or not found.
func (l *testLoad) enough() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[200] >= 100 && l.counts[201]+l.counts[404] > 0
}

// medianWeight is the median of each number.
func medianWeight(w []processWeight) processWeight {
	median := func(f func(processWeight) uint64) uint64 {
		var v []uint64
		for _, x := range w {
			v = append(v, f(x))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	return processWeight{heap: median(func(x processWeight) uint64 { return x.heap }),
		resident: median(func(x processWeight) uint64 { return x.resident }),
		routines: int(median(func(x processWeight) uint64 { return uint64(x.routines) })),
		files:    int(median(func(x processWeight) uint64 { return uint64(x.files) }))}
}
