//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/reembed"
	"github.com/kindred-ml/kindred/internal/app/cli/serving"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/store"
)

// searchRequest is a search over HTTP, by a picture or by an id.
type searchRequest struct {
	kind string
	body []byte
}

// newSearches are a search by a photo and one by its id.
func newSearches(t *testing.T, photo, id string) []searchRequest {
	t.Helper()
	picture, err := os.ReadFile(photo)
	if err != nil {
		t.Fatal(err)
	}
	kind, body, err := pictureForm(picture, "vectors", "true")
	if err != nil {
		t.Fatal(err)
	}
	return []searchRequest{{kind, body},
		{"application/json", fmt.Appendf(nil, `{"id":%q,"vectors":true}`, id)}}
}

// send returns the answer of a server to a search.
func (q *searchRequest) send(ctx context.Context, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/search", bytes.NewReader(q.body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", q.kind)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, text)
	}
	return string(text), err
}

// serveChild starts a server of an index in a process of its own, until the test ends.
func serveChild(t *testing.T, args string) (url string) {
	t.Helper()
	cmd := newChild(t, "serve "+args+" --listen 127.0.0.1:0 --json --rate -1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log := new(safeBuffer)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server: %v: %.5000s", err, log.String())
		}
	})
	var s servingInfo
	if err := json.NewDecoder(bufio.NewReader(out)).Decode(&s); err != nil {
		t.Fatalf("%v; the log: %s", err, log.String())
	}
	return s.URL
}

// vectorSet is a run, the items of an index with its vectors, and the answers of a server to searches.
type vectorSet struct {
	run     string
	items   map[string]store.Item
	answers []string
}

// newVectorSet makes an index of a folder by a run, and asks it.
func newVectorSet(t *testing.T, dir, run string, searches []searchRequest) *vectorSet {
	t.Helper()
	ix := filepath.Join(t.TempDir(), "photos.index")
	mustRun(t, "index", "create", "--run", run, "--data", dir, "--out", ix)
	n := &vectorSet{run: run, items: readItems(t, ix)}
	s, stop := startServe(t, ix)
	defer stop()
	for _, q := range searches {
		text, err := q.send(t.Context(), s.URL)
		if err != nil {
			t.Fatal(err)
		}
		n.answers = append(n.answers, text)
	}
	return n
}

// checkWhole opens an index and loads its network, which must be the one that made the vectors.
func checkWhole(ix string) (err error) {
	x, err := index.Open(ix, index.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	m, err := provenance.LoadNetwork(x)
	if err != nil {
		return err
	}
	in := x.Info()
	is, err := m.Identity("")
	if err == nil && (!is.IsSame(in.Network.Network) || m.Net.Spec().OutDim() != in.Dim) {
		err = fmt.Errorf("it has the network %+v, but the vectors of %+v", is, in.Network)
	}
	return err
}

// checkOneOf requires that an index has the items, vectors and network of one of several networks, and
// returns which one.
func checkOneOf(t *testing.T, where, ix string, networks []*vectorSet) int {
	t.Helper()
	c, err := index.Check(t.Context(), ix, index.CheckOptions{})
	if err != nil || len(c.Problems) > 0 {
		t.Fatalf("%s: %+v, %v", where, c, err)
	}
	if err := checkWhole(ix); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	items := readItems(t, ix)
	for k, n := range networks {
		if maps.EqualFunc(items, n.items, func(a, b store.Item) bool {
			return a.Path == b.Path && fmt.Sprint(a.Columns, a.Vector) == fmt.Sprint(b.Columns, b.Vector)
		}) {
			return k
		}
	}
	t.Fatalf("%s: %d items, in part of one network and in part of the other", where, len(items))
	return 0
}

// askAll sends searches to a server until stop, and opens its index as other commands do. Each answer must be that of
// one of the networks. It counts them.
func askAll(t *testing.T, ix, url string, searches []searchRequest, networks []*vectorSet) (answered map[string]int,
	stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	var mu sync.Mutex
	answered = map[string]int{}
	for k := range searches {
		asking.Go(func() {
			for ctx.Err() == nil {
				text, err := searches[k].send(ctx, url)
				if ctx.Err() != nil {
					return
				}
				of := slices.IndexFunc(networks, func(n *vectorSet) bool { return text == n.answers[k] })
				if of < 0 || err != nil {
					t.Errorf("search %d is of neither network: %v, %.2000s\nwant %.2000s\nor   %.2000s", k, err, text,
						networks[0].answers[k], networks[1].answers[k])
					return
				}
				mu.Lock()
				answered[fmt.Sprint("search ", k, " of network ", of)]++
				mu.Unlock()
			}
		})
	}
	asking.Go(func() {
		for serving.Sleep(ctx, 5*time.Millisecond) {
			if err := checkWhole(ix); err != nil {
				t.Errorf("opened meanwhile: %v", err)
				return
			}
		}
	})
	return answered, func() {
		cancel()
		asking.Wait()
	}
}

// TestIndexReembedKilled kills reembed at random moments, back and forth between two networks, while a server answers
// searches by a picture and by an id: every answer is of one network, and so is the folder. 50 times.
func TestIndexReembedKilled(t *testing.T) {
	times := 50
	if testing.Short() {
		times = 5
	}
	dir, ix, runDir := newFollowedIndex(t)
	other := trainWider(t, dir, "12")
	for i := range 300 {
		writeBytes(t, filepath.Join(dir, fmt.Sprint("more", i%3), fmt.Sprint(i, ".png")),
			newNoisePicture(t, uint64(1e6+i)))
	}
	makeOld(t, dir)
	mustRun(t, "index", "sync", dir, "--index", ix)
	searches := newSearches(t, filepath.Join(dir, "c0", "1.png"), "c0/1.png")
	networks := []*vectorSet{newVectorSet(t, dir, runDir, searches), newVectorSet(t, dir, other, searches)}
	now := checkOneOf(t, "at first", ix, networks)
	url := serveChild(t, ix)
	answered, stop := askAll(t, ix, url, searches, networks)
	defer stop()
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 9))
	span, killed, switched := 400*time.Millisecond, 0, 0
	for round := 0; killed < times && round < 10*times && !t.Failed(); round++ {
		to := 1 - now
		if reembedAndKill(t, ix, networks[to].run, rng, &span) {
			killed++
		}
		is := checkOneOf(t, fmt.Sprintf("seed %d, round %d", seed, round), ix, networks)
		if is != now {
			switched++
		}
		now = is
	}
	to := 1 - now
	mustRun(t, "index", "reembed", ix, "--run", networks[to].run)
	if is := checkOneOf(t, "at last", ix, networks); is != to {
		t.Errorf("it has network %d, want %d", is, to)
	}
	waitUntil(t, "the server's new network", func() bool {
		text, err := searches[0].send(t.Context(), url)
		return err == nil && text == networks[to].answers[0]
	})
	if _, err := os.Stat(reembed.Folder(ix)); err == nil {
		t.Error("the folder of unfinished work is left")
	}
	stop()
	t.Logf("killed %d times, %d switches, answers: %v", killed, switched, answered)
	if killed < times || len(answered) < 4 {
		t.Error("the test shows nothing")
	}
}

// reembedAndKill starts reembed and kills it after at most span. It tells whether that came before its end, and makes
// span about as long as reembed takes here.
func reembedAndKill(t *testing.T, ix, run string, rng *rand.Rand, span *time.Duration) bool {
	t.Helper()
	cmd := newChild(t, fmt.Sprintf("index reembed %s --run %s", ix, run))
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(time.Duration(rng.Float64()*float64(*span)), func() { cmd.Process.Kill() })
	defer stop.Stop()
	err := cmd.Wait()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err != nil && !status.Signaled() {
		t.Fatalf("reembed: %v: %s", err, said.String())
	}
	if *span = *span * 11 / 10; !status.Signaled() {
		*span = max(time.Millisecond, *span*2/3)
	}
	return status.Signaled()
}
