package index

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/store"
)

// crashDir is the variable that makes this test program the one that is killed: it
// changes the index in that folder and prints what was acknowledged.
const crashDir = "KINDRED_INDEX_CRASH"

// generation is an item of the crash test: all of it follows from its id and a
// number, so that half of one would be seen.
func generation(id string, n int) store.Item {
	x := make([]float32, 8)
	rng := rand.New(rand.NewPCG(hashID(id), uint64(n)))
	for i := range x {
		x[i] = rng.Float32()
	}
	fields := map[string]any{"n": float64(n), "text": strings.Repeat(id, n%7+1)}
	return store.Item{ID: id, Path: fmt.Sprintf("%s/%d", id, n), Columns: fields, Vector: x}
}

// TestCrashing is the program that TestKill kills.
func TestCrashing(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("run by TestKill")
	}
	seed, err := strconv.ParseUint(os.Getenv(crashDir+"_SEED"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	x, err := (&Index{dir: dir, sizes: smallLimits()}).open()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex // of the standard output
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	say("ready")
	ctx := context.Background()
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(seed, uint64(worker)))
			for n := 1; ; n++ {
				// A worker has ids of its own, so that their order is known.
				count := 1 + rng.IntN(4)
				if rng.IntN(10) == 0 {
					count = 70 // a segment at once
				}
				var e []store.Item
				var ids []string
				for range count {
					id := fmt.Sprintf("w%d-%d", worker, rng.IntN(100))
					stamp := int(seed)*1_000_000 + n
					e, ids = append(e, generation(id, stamp)), append(ids, id)
				}
				what, err := "put", error(nil)
				if rng.IntN(4) == 0 {
					what = "remove"
					say("begin %s %d %s", what, int(seed)*1_000_000+n, strings.Join(ids, " "))
					_, err = x.Remove(ctx, ids...)
				} else {
					say("begin %s %d %s", what, int(seed)*1_000_000+n, strings.Join(ids, " "))
					_, err = x.Add(ctx, e, AddOptions{Existing: Replace})
				}
				if err != nil {
					say("failed %v", err)
					return
				}
				say("done %s %d %s", what, int(seed)*1_000_000+n, strings.Join(ids, " "))
			}
		}()
	}
	wg.Add(1)
	go func() {
		defer wg.Done()
		for {
			if err := x.Compact(ctx, CompactOptions{}); err != nil {
				say("failed %v", err)
			}
		}
	}()
	wg.Wait()
}

// TestKill kills a program that changes an index, at random moments: whatever was
// acknowledged is there, what was begun is there whole or not at all, and the index
// opens. 20 times, 200 with KINDRED_LONG.
func TestKill(t *testing.T) {
	times := 20
	switch {
	case os.Getenv("KINDRED_LONG") != "":
		times = 200
	case testing.Short():
		times = 5
	}
	x := createSmall(t, Config{Dim: 8})
	dir := x.dir
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	known := make(map[string]int) // the generation of each id, 0 of none
	acknowledged := 0
	for round := range times {
		// What is under way when the program dies may be there or not.
		open := make(map[string][]int)
		acknowledged += crashOnce(t, dir, round+1, rng, known, open)
		x, err := (&Index{dir: dir, sizes: smallLimits()}).open()
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		compareCrashed(t, x, round, known, open)
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		c, err := Check(t.Context(), dir, CheckOptions{})
		if err != nil || len(c.Problems) > 0 {
			t.Fatalf("round %d: %+v, %v", round, c, err)
		}
	}
	t.Logf("killed %d times; %d changes acknowledged, %d items", times, acknowledged, len(known))
	if acknowledged == 0 {
		t.Error("nothing was acknowledged: the test shows nothing")
	}
}

// crashOnce runs the program, kills it after a while and notes what it acknowledged.
func crashOnce(t *testing.T, dir string, seed int, rng *rand.Rand, known map[string]int, open map[string][]int) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestCrashing$")
	cmd.Env = append(os.Environ(), crashDir+"="+dir, fmt.Sprintf("%s_SEED=%d", crashDir, seed))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := 0
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	var timer *time.Timer
	for lines.Scan() {
		word := strings.Fields(lines.Text())
		switch {
		case len(word) == 1 && word[0] == "ready":
			timer = time.AfterFunc(time.Duration(rng.IntN(400))*time.Millisecond, func() { cmd.Process.Kill() })
		case len(word) > 3 && word[0] == "begin":
			for _, id := range word[3:] {
				open[id] = append(open[id], stampOf(word))
			}
		case len(word) > 3 && word[0] == "done":
			done++
			for _, id := range word[3:] {
				known[id] = stampOf(word)
				delete(open, id)
			}
		case word[0] == "failed":
			t.Errorf("round %d: %s", seed, lines.Text())
		}
	}
	if timer == nil {
		t.Fatalf("round %d: the program did not come up: %v", seed, cmd.Wait())
	}
	timer.Stop()
	cmd.Process.Kill()
	cmd.Wait()
	return done
}

// stampOf is the generation that a line is about, 0 of a removal.
func stampOf(word []string) int {
	n, err := strconv.Atoi(word[2])
	if err != nil || word[1] == "remove" {
		return 0
	}
	return n
}

func compareCrashed(t *testing.T, x *Index, round int, known map[string]int, open map[string][]int) {
	t.Helper()
	found := make(map[string]int)
	for e, err := range x.All() {
		if err != nil {
			t.Fatal(err)
		}
		n := int(e.Columns["n"].(float64))
		if !isSameItem(e, generation(e.ID, n)) {
			t.Fatalf("round %d: %q is half there: %+v", round, e.ID, e)
		}
		found[e.ID] = n
	}
	ids := make(map[string]bool)
	for id := range known {
		ids[id] = true
	}
	for id := range open {
		ids[id] = true
	}
	for id := range found {
		ids[id] = true
	}
	for id := range ids {
		may := append([]int{known[id]}, open[id]...)
		if ok := false; true {
			for _, n := range may {
				ok = ok || n == found[id]
			}
			if !ok {
				t.Fatalf("round %d: %q is of generation %d: want one of %v", round, id, found[id], may)
			}
		}
		known[id] = found[id]
	}
}

// A disk that is full refuses changes, and searches go on; when there is room again
// so do changes. Faults at any step of any change do no harm.
func TestFaults(t *testing.T) {
	full := errors.New("no space left on device")
	for _, op := range []string{"create", "write", "sync", "rename"} {
		t.Run(op, func(t *testing.T) {
			m := model{}
			rng := rand.New(rand.NewPCG(4, 4))
			var mu sync.Mutex
			countdown := -1
			x := createFiles(t, Config{Dim: 4}, atomic.Files{Fault: func(o, path string) error {
				mu.Lock()
				defer mu.Unlock()
				if o != op || countdown < 0 {
					return nil
				}
				if countdown--; countdown < 0 {
					return full
				}
				return nil
			}})
			failed, steps := 0, 40
			if testing.Short() {
				steps = 12
			}
			for step := range steps {
				mu.Lock()
				countdown = rng.IntN(3)
				mu.Unlock()
				e := entries(1+rng.IntN(90), 4, uint64(step))
				for i := range e {
					e[i].ID = fmt.Sprintf("%d-%d", step%7, i)
				}
				var gone []string
				var err error
				if ids := slices.Sorted(maps.Keys(m)); step%2 == 1 { // some are removed and put
					gone = append(ids[:min(5, len(ids))], e[0].ID)
					_, _, err = x.Change(t.Context(), Change{Remove: gone, Put: e})
				} else {
					_, err = x.Add(t.Context(), e, AddOptions{Existing: Replace})
				}
				if err == nil {
					for _, id := range gone {
						delete(m, id)
					}
					for _, e := range e {
						m[e.ID] = e
					}
				} else if failed++; !errors.Is(err, full) {
					t.Fatal(err)
				}
				if step%5 == 0 {
					if err := x.Compact(t.Context(), CompactOptions{}); err != nil && !errors.Is(err, full) {
						t.Fatal(err)
					}
				}
				if step%4 == 0 {
					mu.Lock()
					countdown = -1
					mu.Unlock()
					compareModel(t, x, m, rng)
				}
			}
			if failed == 0 && op != "rename" {
				t.Error("no change failed: the test shows nothing")
			}
			mu.Lock()
			countdown = -1
			mu.Unlock()
			y := reopen(t, x)
			compareModel(t, y, m, rng)
			add(t, y, entries(3, 4, 99), AddOptions{})
		})
	}
}

// A real limit on the size of files stands for a full disk.
func TestFullDisk(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such limit")
	}
	if dir := os.Getenv(crashDir + "_FULL"); dir != "" {
		fillDisk(t, dir)
		return
	}
	x := create(t, Config{Dim: 64})
	dir := x.dir
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `ulimit -f 200 && exec "$0" -test.run '^TestFullDisk$' -test.v`, os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"_FULL="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "refused and served") {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, manifestFile)); err != nil {
		t.Fatal(err)
	}
	c, err := Check(t.Context(), dir, CheckOptions{})
	if err != nil || len(c.Problems) > 0 || c.Items == 0 {
		t.Fatalf("%+v, %v", c, err)
	}
}

// fillDisk adds until that is refused.
func fillDisk(t *testing.T, dir string) {
	x, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; ; n++ {
		e := entries(20, 64, uint64(n))
		for i := range e {
			e[i].ID = fmt.Sprintf("%d-%d", n, i)
		}
		if _, err = x.Add(t.Context(), e, AddOptions{}); err != nil {
			break
		}
		if n > 1000 {
			t.Fatal("the limit is not there")
		}
	}
	res, e := x.Search(t.Context(), Query{Vector: make([]float32, 64)})
	if e != nil || res.Items != 20*n {
		t.Fatal(res, e)
	}
	if _, e := x.Add(t.Context(), entries(1, 64, 1), AddOptions{}); e != nil {
		t.Log("one item more:", e)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("refused and served: %v", err)
}
