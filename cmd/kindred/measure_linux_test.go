package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/jobs/natsserver"
	"github.com/kindred-ml/kindred/internal/jobs/queue"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/store"
)

// TestConstants measures what package plan multiplies, with $KINDRED_ITEMS items of 128
// numbers in each engine that is there. It prints processors' time, which other programs
// on the machine change less than a clock's.
func TestConstants(t *testing.T) {
	if os.Getenv("KINDRED_LONG") == "" {
		t.Skip("takes minutes: set KINDRED_LONG")
	}
	n := numLongItems(t)
	t.Run("Folder", func(t *testing.T) {
		begun, used := time.Now(), processorTime(t, os.Getpid())
		dir := writeManyItems(t, n, 128)
		t.Logf("made and written: %v, %v of the processor an item", time.Since(begun).Round(time.Millisecond),
			(processorTime(t, os.Getpid())-used)/time.Duration(n))
		x, err := index.Open(dir, index.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		s := x.Store(true)
		t.Logf("%.1f bytes an item on disk", float64(folderSize(t, dir))/float64(n))
		timeSearches(t, s, readAllItems(t, s), os.Getpid())
	})
	t.Run("Postgres", func(t *testing.T) {
		p := storetest.StartTrixie(t)
		right, s := pushTimed(t, n, p.URL()+"&hnsw.ef_search=100#many", p.PID())
		c, err := pgx.Connect(t.Context(), p.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		var all, graph int64
		if err := c.QueryRow(t.Context(), "SELECT pg_total_relation_size('kindred_many'), pg_relation_size(c.oid) "+
			"FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'hnsw'").Scan(&all, &graph); err != nil {
			t.Fatal(err)
		}
		t.Logf("%.1f bytes an item on disk, %.1f of them in the graph", float64(all)/float64(n),
			float64(graph)/float64(n))
		timeSearches(t, s, readAllItems(t, right), p.PID())
	})
	t.Run("Weaviate", func(t *testing.T) {
		c := storetest.StartWeaviate(t, 1)
		right, s := pushTimed(t, n, c.URL("ef=128")+"#many", c.PID(0))
		timeSearches(t, s, readAllItems(t, right), c.PID(0))
		t.Logf("%.1f bytes an item on disk, %.1f in memory", float64(folderSize(t, c.Dir(0)))/float64(n),
			float64(resident(t, c.PID(0)))/float64(n))
	})
	t.Run("ObjectStore", measureObjects)
}

// pushTimed pushes n items and opens the index they are from and the store they went to.
func pushTimed(t *testing.T, n int, url string, pid int) (right store.Store, s *inputs.RemoteStore) {
	t.Helper()
	dir := writeManyItems(t, n, 128)
	begun, used := time.Now(), processorTime(t, pid)
	runProgram(t, "index push "+dir+" --to "+url+" --hnsw --batch 1000")
	t.Logf("pushed %d: %.0f items a second, %v of the server's processor an item", n,
		float64(n)/time.Since(begun).Seconds(), (processorTime(t, pid)-used)/time.Duration(n))
	return openPushed(t, dir, url)
}

// timeSearches logs what searches take, one at a time and from 64 clients.
func timeSearches(t *testing.T, s store.Store, items []store.Item, pid int) {
	t.Helper()
	search := func(i int) {
		if _, err := s.Search(t.Context(), store.Query{Vector: items[i*7%len(items)].Vector, K: 10}); err != nil {
			t.Error(err)
		}
	}
	for i := range 100 { // what is read for the first time
		search(i)
	}
	for _, clients := range []int{1, 64} {
		const all = 640
		begun, used := time.Now(), processorTime(t, pid)
		var w sync.WaitGroup
		for c := range clients {
			w.Go(func() {
				for i := range all / clients {
					search(c*1000 + i)
				}
			})
		}
		w.Wait()
		t.Logf("%d clients: %v a search, %v of the processor", clients, time.Since(begun)/all,
			(processorTime(t, pid)-used)/all)
	}
}

// measureObjects logs how fast the queue's object store takes and gives a file.
func measureObjects(t *testing.T) {
	dir := t.TempDir()
	server, err := natsserver.Serve(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	url, err := natsserver.URL(dir)
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Connect(t.Context(), queue.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	const mebibytes = 64
	for range 5 {
		b := make([]byte, mebibytes<<20)
		rand.Read(b)
		begun := time.Now()
		name, err := q.Store(t.Context(), func(w io.Writer) error { _, err := w.Write(b); return err })
		if err != nil {
			t.Fatal(err)
		}
		put := time.Since(begun)
		begun = time.Now()
		r, err := q.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, r); err != nil || n != mebibytes<<20 {
			t.Fatalf("%d bytes, %v", n, err)
		}
		t.Logf("put %.0f MiB/s, get %.0f MiB/s", mebibytes/put.Seconds(), mebibytes/time.Since(begun).Seconds())
	}
}

// processorTime is what a process has used so far, with its children that ended and those
// that run: PostgreSQL has one for each connection.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	const tick = 10 * time.Millisecond
	var sum time.Duration
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(b), ") ") // a name may hold spaces
		fields := strings.Fields(rest)             // from the third on
		own := name == fmt.Sprintf("/proc/%d/stat", pid)
		if len(fields) < 15 || !own && (fields[1] != strconv.Itoa(pid) || pid == os.Getpid()) {
			continue
		}
		last := 13 // user, system, and for the process itself those of children that ended
		if own && pid != os.Getpid() {
			last = 15
		}
		for _, f := range fields[11:last] {
			v, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			sum += time.Duration(v) * tick
		}
	}
	return sum
}

// resident is the memory of a process in bytes.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// folderSize is what the files of a folder take.
func folderSize(t *testing.T, dir string) int64 {
	t.Helper()
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		in, err := d.Info()
		if err == nil {
			sum += in.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
