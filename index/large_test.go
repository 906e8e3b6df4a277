package index

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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

	"github.com/kindred-ml/kindred/store"
)

// TestLarge measures an index of the vectors that bench/index_peer.py made, beside its
// peers, which that script times: it runs this test too, and says how. The folder that
// KINDRED_INDEX_BENCH names holds the vectors, and keeps the index for the next time.
//
// It prints a line of JSON and asserts nothing but that what is found is what faiss's
// flat index says is nearest.
func TestLarge(t *testing.T) {
	dir := os.Getenv("KINDRED_INDEX_BENCH")
	if dir == "" {
		t.Skip("set KINDRED_INDEX_BENCH to a folder that bench/index_peer.py filled")
	}
	const d = 128
	figures := make(map[string]any)
	path := filepath.Join(dir, "kindred.index")
	if _, err := os.Stat(path); err != nil {
		buildLarge(t, path, floats(t, filepath.Join(dir, "base.f32")), d, figures)
		runtime.GC()
	}
	queries := floats(t, filepath.Join(dir, "queries.f32"))
	nq := len(queries) / d
	begun := time.Now()
	x, err := Open(path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	figures["open_ms"] = ms(time.Since(begun))
	figures["items"] = x.Info().Items
	query := func(i int) []float32 { return queries[i%nq*d : (i%nq+1)*d] }
	found := make(map[int]string)
	long := benchSeconds(t)
	clients(t, x, 1, long/4, query, nil) // pages are read
	figures["one"] = clients(t, x, 1, long, query, func(i int, r *Result) { found[i] = r.Hits[0].ID })
	figures["clients64"] = clients(t, x, 64, long, query, nil)
	figures["memory"] = residentMiB()
	if truth, err := os.ReadFile(filepath.Join(dir, "nearest.txt")); err == nil {
		want := strings.Fields(string(truth))
		for i, id := range found {
			if got, err := strconv.Atoi(id); err != nil || strconv.Itoa(got) != want[i%nq] {
				t.Errorf("query %d: %s, and faiss finds %s", i, id, want[i%nq])
			}
		}
	}
	line, err := json.Marshal(figures)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("figures %s\n", line)
}

// buildLarge makes the index that is timed.
func buildLarge(t *testing.T, path string, base []float32, d int, figures map[string]any) {
	x, err := Create(path, Config{Dim: d})
	if err != nil {
		t.Fatal(err)
	}
	n := len(base) / d
	begun := time.Now()
	const chunk = 100_000
	for lo := 0; lo < n; lo += chunk {
		e := make([]store.Item, min(chunk, n-lo))
		for i := range e {
			r := lo + i
			e[i] = store.Item{ID: fmt.Sprintf("%08d", r), Columns: map[string]any{"kind": float64(r % 10)},
				Vector: base[r*d : (r+1)*d]}
		}
		add(t, x, e, AddOptions{})
	}
	figures["bulk_adds_per_s"] = float64(n) / time.Since(begun).Seconds()
	figures["adds64_per_s"] = smallAdds(t, x, base[:d])
	f, err := store.ParseFilter(`id > "one"`)
	if err == nil {
		_, err = x.RemoveWhere(t.Context(), f)
	}
	if err != nil {
		t.Fatal(err)
	}
	begun = time.Now()
	if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	figures["compact_s"] = time.Since(begun).Seconds()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

// benchSeconds is how long each measurement takes.
func benchSeconds(t *testing.T) time.Duration {
	s := os.Getenv("KINDRED_INDEX_SECONDS")
	if s == "" {
		return 10 * time.Second
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(v * float64(time.Second))
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
				e := []store.Item{{ID: fmt.Sprintf("one %d-%d", c, n), Vector: y}}
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

// timed is how searches went; cpu is the time of all processors.
type timed struct {
	PerSecond float64 `json:"per_s"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	CPU       float64 `json:"cpu_ms"`
}

// clients searches from several goroutines for a while.
func clients(t *testing.T, x *Index, n int, long time.Duration, query func(int) []float32,
	see func(int, *Result)) timed {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var took []float64
	begun, used := time.Now(), processorTime()
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
	count := float64(len(took))
	return timed{count / time.Since(begun).Seconds(), took[len(took)/2], took[len(took)*99/100],
		ms(processorTime()-used) / count}
}

// processorTime is what the processors gave this process, 0 where the system does not
// say it as Linux does.
func processorTime() time.Duration {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// residentMiB is what the system says of the memory of this process, in MiB: its own and
// that of mapped files.
func residentMiB() map[string]int {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return nil
	}
	defer f.Close()
	out := make(map[string]int)
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, v, _ := strings.Cut(s.Text(), ":"); name == "RssAnon" || name == "RssFile" {
			kib, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(v), " kB"))
			out[name] = kib >> 10
		}
	}
	return out
}
