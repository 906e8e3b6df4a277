package index

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestLarge measures an index of vectors that bench/index_peer.py made and times its
// peers with, in the folder that KINDRED_INDEX_BENCH names:
//
//	/usr/bin/python3 bench/index_peer.py /tmp/index-bench
//	KINDRED_INDEX_BENCH=/tmp/index-bench go test ./index -run TestLarge -v
//
// It prints figures and asserts none but that what is found is what the script says
// is nearest.
func TestLarge(t *testing.T) {
	dir := os.Getenv("KINDRED_INDEX_BENCH")
	if dir == "" {
		t.Skip("set KINDRED_INDEX_BENCH to a folder that bench/index_peer.py filled")
	}
	const d = 128
	base, queries := floats(t, filepath.Join(dir, "base.f32")), floats(t, filepath.Join(dir, "queries.f32"))
	n, nq := len(base)/d, len(queries)/d
	path := filepath.Join(t.TempDir(), "large.index")
	x, err := Create(path, Config{Dim: d})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	const chunk = 100_000
	for lo := 0; lo < n; lo += chunk {
		e := make([]Entry, min(chunk, n-lo))
		for i := range e {
			r := lo + i
			e[i] = Entry{Item{ID: fmt.Sprintf("%08d", r), Fields: map[string]Value{"kind": Number(float64(r % 10))}},
				base[r*d : (r+1)*d]}
		}
		add(t, x, e, AddOptions{})
	}
	t.Logf("adds in bulk: %.0f a second", float64(n)/time.Since(begun).Seconds())
	t.Logf("adds one by one from 64 clients: %.0f a second", smallAdds(t, x, base[:d]))
	if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	base = nil
	runtime.GC()
	begun = time.Now()
	if x, err = Open(path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	t.Logf("open: %.0f ms; %d items, %d segments", ms(time.Since(begun)), x.Info().Items, x.Info().Segments)
	query := func(i int) []float32 { return queries[i%nq*d : (i%nq+1)*d] }
	found := make(map[int]string)
	one := clients(t, x, 1, 10*time.Second, query, func(i int, r *Result) { found[i] = r.Hits[0].ID })
	t.Logf("one client: %s", one)
	t.Logf("64 clients: %s", clients(t, x, 64, 20*time.Second, query, nil))
	t.Logf("resident: %s", resident())
	if truth, err := os.ReadFile(filepath.Join(dir, "nearest.txt")); err == nil {
		want := strings.Fields(string(truth))
		for i, id := range found {
			if got, err := strconv.Atoi(strings.TrimPrefix(id, "one ")); err == nil && strconv.Itoa(got) != want[i%nq] {
				t.Errorf("query %d: %s, and faiss finds %s", i, id, want[i%nq])
			}
		}
	}
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// floats reads a file of float32.
func floats(t *testing.T, path string) []float32 {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return view32f(b)
}

// smallAdds adds items one by one for some seconds.
func smallAdds(t *testing.T, x *Index, v []float32) float64 {
	var wg sync.WaitGroup
	var mu sync.Mutex
	total := 0
	begun := time.Now()
	for c := range 64 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(uint64(c), 1))
			for n := 0; time.Since(begun) < 5*time.Second; n++ {
				y := slices.Clone(v)
				for j := range y {
					y[j] += float32(rng.NormFloat64())
				}
				e := []Entry{{Item{ID: fmt.Sprintf("one %d-%d", c, n)}, y}}
				if _, err := x.Add(context.Background(), e, AddOptions{}); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				total++
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	return float64(total) / time.Since(begun).Seconds()
}

// clients searches from several goroutines for a while.
func clients(t *testing.T, x *Index, n int, long time.Duration, query func(int) []float32,
	see func(int, *Result)) string {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var took []float64
	begun := time.Now()
	for c := range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := c; time.Since(begun) < long; i += n {
				t0 := time.Now()
				r, err := x.Search(context.Background(), Query{Vector: query(i)})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				took = append(took, ms(time.Since(t0)))
				if see != nil {
					see(i, r)
				}
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	slices.Sort(took)
	return fmt.Sprintf("%.0f a second, p50 %.2f ms, p99 %.2f ms", float64(len(took))/time.Since(begun).Seconds(),
		took[len(took)/2], took[len(took)*99/100])
}

// resident is what the system says of the memory of this process.
func resident() string {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, v, _ := strings.Cut(s.Text(), ":"); name == "RssAnon" || name == "RssFile" {
			out = append(out, name+" "+strings.TrimSpace(v))
		}
	}
	return strings.Join(out, ", ")
}
