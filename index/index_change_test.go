package index

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/store"
)

// beforeAfter is what an index holds before a change and after it. The change
// removes some items, replaces some and adds some; n says how many of each.
func beforeAfter(n int) (before, after model, c Change) {
	before = model{}
	for i := range 3 * n {
		id := fmt.Sprintf("old %03d", i)
		before[id] = generation(id, 1)
	}
	after = maps.Clone(before)
	for i := range n {
		id := fmt.Sprintf("old %03d", 3*i)
		c.Remove = append(c.Remove, id)
		delete(after, id)
		for _, id := range []string{fmt.Sprintf("old %03d", 3*i+1), fmt.Sprintf("new %03d", i)} {
			c.Put = append(c.Put, generation(id, 2))
			after[id] = generation(id, 2)
		}
	}
	return before, after, c
}

// TestChanging is the program that TestChangeIsWhole kills, before a step of its writing.
func TestChanging(t *testing.T) {
	dir := os.Getenv(crashDir + "_CHANGE")
	if dir == "" {
		t.Skip("run by TestChangeIsWhole")
	}
	step, err1 := strconv.Atoi(os.Getenv(crashDir + "_STEP"))
	n, err2 := strconv.Atoi(os.Getenv(crashDir + "_ITEMS"))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	ready := false
	x, err := (&Index{dir: dir, sizes: smallLimits(), files: atomic.Files{Fault: func(string, string) error {
		if !ready {
			return nil
		}
		if step--; step < 0 {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			if err != nil {
				return err
			}
			select {}
		}
		return nil
	}}}).open()
	if err != nil {
		t.Fatal(err)
	}
	ready = true
	_, _, c := beforeAfter(n)
	if _, _, err := x.Change(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	fmt.Println("changed")
}

// A process that is killed before any step of the writing of a change leaves all of it or
// nothing, by the log and by a segment.
func TestChangeIsWhole(t *testing.T) {
	for _, n := range []int{5, 40} {
		before, after, _ := beforeAfter(n)
		half := 0
		for step := 0; ; step++ {
			x := createSmall(t, Config{Dim: 8})
			dir := x.dir
			add(t, x, items(before), AddOptions{})
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0], "-test.run", "^TestChanging$")
			cmd.Env = append(os.Environ(), crashDir+"_CHANGE="+dir, fmt.Sprintf("%s_STEP=%d", crashDir, step),
				fmt.Sprintf("%s_ITEMS=%d", crashDir, n))
			out, err := cmd.Output()
			told := strings.Contains(string(out), "changed")
			x, e := (&Index{dir: dir, sizes: smallLimits()}).open()
			if e != nil {
				t.Fatalf("step %d: %v", step, e)
			}
			want := after
			if _, isNew, err := x.Get("new 000"); err != nil || !isNew {
				want = before
			}
			if told && err == nil && len(want) != len(after) {
				t.Fatalf("step %d: what was acknowledged is not there", step)
			}
			compareModel(t, x, want, rand.New(rand.NewPCG(1, uint64(step))))
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			if told && err == nil {
				break
			}
			if half++; half > 100 {
				t.Fatalf("the change has more than 100 steps, or fails: %v, %s", err, out)
			}
		}
		if half < 2 {
			t.Errorf("killed at %d steps only", half)
		}
	}
}

// A change that is refused changes nothing, and an item that is removed and put is there.
func TestChangeRefused(t *testing.T) {
	x := createSmall(t, Config{Dim: 8})
	m := model{"a": generation("a", 1), "b": generation("b", 1)}
	add(t, x, items(m), AddOptions{})
	wrong := generation("c", 1)
	wrong.Columns = map[string]any{"n": "text, where numbers are"}
	var item *store.ItemError
	if _, _, err := x.Change(t.Context(), Change{Remove: []string{"a"}, Put: []store.Item{wrong}}); !errors.As(err,
		&item) {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	compareModel(t, x, m, rng)
	removed, added, err := x.Change(t.Context(), Change{Remove: []string{"a", "nothing", "b"},
		Put: []store.Item{generation("a", 2)}})
	if err != nil || removed != 2 || added != (Added{Added: 1}) {
		t.Fatal(removed, added, err)
	}
	compareModel(t, x, model{"a": generation("a", 2)}, rng)
	r, err := Open(x.dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, _, err := r.Change(t.Context(), Change{Remove: []string{"a"}}); !errors.Is(err, store.ErrReadOnly) {
		t.Error(err)
	}
}

// Bare gives what All does, without the vectors.
func TestBare(t *testing.T) {
	x := createSmall(t, Config{Dim: 8})
	before, after, c := beforeAfter(40)
	add(t, x, items(before), AddOptions{})
	if _, _, err := x.Change(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	add(t, x, []store.Item{generation("last", 1)}, AddOptions{})
	after["last"] = generation("last", 1)
	n := 0
	for it, err := range x.AllWithoutVectors() {
		want := after[it.ID]
		want.Vector = nil
		if err != nil || !isSameItem(it, want) {
			t.Fatal(it, err)
		}
		n++
	}
	if n != len(after) {
		t.Errorf("%d items of %d", n, len(after))
	}
	for range x.AllWithoutVectors() {
		break
	}
}

// items lists a model.
func items(m model) []store.Item {
	var out []store.Item
	for _, it := range m {
		out = append(out, it)
	}
	return out
}
