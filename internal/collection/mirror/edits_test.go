package mirror

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/collection/mirror/changes"
	"github.com/kindred-ml/kindred/store"
)

// editColumns changes columns of an item as a server does.
func editColumns(t *testing.T, x *index.Index, id string, columns map[string]any) bool {
	t.Helper()
	there := false
	_, _, err := x.Update(t.Context(), func() (index.Change, error) {
		old, ok, err := x.Get(id)
		if there = ok; err != nil || !ok {
			return index.Change{}, err
		}
		it := old
		it.Columns = map[string]any{}
		for name, v := range old.Columns {
			it.Columns[name] = v
		}
		for name, v := range columns {
			if it.Columns[name] = v; v == nil {
				delete(it.Columns, name)
			}
		}
		CopyFileRecord(&old, &it)
		return index.Change{Put: []store.Item{it}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return there
}

// itemLabel is the class of an item.
func itemLabel(t *testing.T, x *index.Index, id string) any {
	t.Helper()
	it, ok, err := x.Get(id)
	if err != nil || !ok {
		t.Fatalf("%s: %v", id, err)
	}
	return it.Columns["label"]
}

func applyPlan(t *testing.T, x *index.Index, p *Plan) *Result {
	t.Helper()
	done, err := p.Apply(t.Context(), x, noNetwork(t), nil)
	if err != nil || done.Note != nil {
		t.Fatal(err, done)
	}
	return done
}

// A class that was changed by hand stays, through comparisons, moves within a class, touches and the removal of the
// class; a file that moves to another class afterwards decides anew.
func TestEditsLast(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/1", "a/2", "a/3", "a/4", "b/5"} {
		writeFile(t, filepath.Join(dir, name+".png"), name, time.Hour)
	}
	x := newFilledIndex(t, openDataset(t, dir), dir, 2)
	editColumns(t, x, "a/1.png", map[string]any{"label": "x", "price": 3.0})
	editColumns(t, x, "a/2.png", map[string]any{"label": nil})
	editColumns(t, x, "a/3.png", map[string]any{"label": "x"})
	editColumns(t, x, "a/3.png", map[string]any{"label": "a"}) // undone: as if it had never been
	if it, _, _ := x.Get("a/3.png"); it.Columns[Labels] != nil {
		t.Errorf("%v", it.Columns)
	}
	if p := planFor(t, x, dir, Options{}); !p.IsEmpty() {
		t.Fatalf("%+v", p.Counts)
	}
	if err := os.Rename(filepath.Join(dir, "a", "1.png"), filepath.Join(dir, "a", "new.png")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "a", "2.png"), "a/2", 2*time.Hour)
	applyPlan(t, x, planFor(t, x, dir, Options{}))
	if a, b := itemLabel(t, x, "a/new.png"), itemLabel(t, x, "a/2.png"); a != "x" || b != nil {
		t.Errorf("%v, %v", a, b)
	}
	if it, _, _ := x.Get("a/new.png"); it.Columns["price"] != 3.0 || it.Path != filepath.Join(dir, "a", "new.png") {
		t.Errorf("%v", it)
	}
	for _, name := range []string{"new", "2"} {
		if err := os.Rename(filepath.Join(dir, "a", name+".png"), filepath.Join(dir, "b", name+".png")); err != nil {
			t.Fatal(err)
		}
	}
	applyPlan(t, x, planFor(t, x, dir, Options{}))
	for _, id := range []string{"b/new.png", "b/2.png"} {
		if it, _, _ := x.Get(id); it.Columns["label"] != "b" || it.Columns[Labels] != nil {
			t.Errorf("%s: %v", id, it.Columns)
		}
	}
}

// What is edited between the comparison and the change stays: also the class of a photo that moved to another class, an
// item that was added under the id of a new photo, and columns.
func TestEditsMeanwhile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/1", "a/2", "a/3", "b/5"} {
		writeFile(t, filepath.Join(dir, name+".png"), name, time.Hour)
	}
	x := newFilledIndex(t, openDataset(t, dir), dir, 2)
	for _, name := range []string{"1", "2"} {
		if err := os.Rename(filepath.Join(dir, "a", name+".png"), filepath.Join(dir, "b", name+".png")); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(dir, "b", "copy.png"), "b/5", time.Hour)
	p := planFor(t, x, dir, Options{})
	editColumns(t, x, "a/1.png", map[string]any{"label": "hand", "price": 1.0})
	editColumns(t, x, "a/2.png", map[string]any{"price": 2.0})
	posted := store.Item{ID: "b/copy.png", Vector: []float32{7, 7}, Columns: map[string]any{"price": 5.0}}
	if _, err := x.Add(t.Context(), []store.Item{posted}, index.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	applyPlan(t, x, p)
	for id, want := range map[string][2]any{"b/1.png": {"hand", 1.0}, "b/2.png": {"b", 2.0}, "b/copy.png": {"b", 5.0}} {
		it, ok, err := x.Get(id)
		if err != nil || !ok || it.Columns["label"] != want[0] || it.Columns["price"] != want[1] {
			t.Errorf("%s: %v, want %v", id, it.Columns, want)
		}
	}
	if p := planFor(t, x, dir, Options{}); !p.IsEmpty() {
		t.Errorf("%+v", p.Counts)
	}
}

// Items are counted up by somebody else while all of them are written again and again: no count is lost.
func TestEditsAtOnce(t *testing.T) {
	dir := t.TempDir()
	const n = 400
	for i := range n {
		writeFile(t, filepath.Join(dir, "a", fmt.Sprint(i, ".png")), fmt.Sprint(i), time.Hour)
	}
	writeFile(t, filepath.Join(dir, "b", "1.png"), "other", time.Hour)
	x := newFilledIndex(t, openDataset(t, dir), dir, 2)
	var stop atomic.Bool
	counts := make([]float64, n)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; !stop.Load(); i = (i + 1) % n {
			counts[i]++
			editColumns(t, x, fmt.Sprint("a/", i, ".png"), map[string]any{"count": counts[i]})
		}
	}()
	for round := range 10 {
		for i := range n {
			writeFile(t, filepath.Join(dir, "a", fmt.Sprint(i, ".png")), fmt.Sprint(i),
				time.Duration(2+round)*time.Hour)
		}
		applyPlan(t, x, planFor(t, x, dir, Options{}))
	}
	stop.Store(true)
	<-ended
	for i := range n {
		it, _, err := x.Get(fmt.Sprint("a/", i, ".png"))
		if got, _ := it.Columns["count"].(float64); err != nil || got != counts[i] {
			t.Fatalf("%s: %v, want %v, %v", it.ID, got, counts[i], err)
		}
	}
}

// Removals of more than the share wait, by exactly their list, through restarts; the other changes are made. What is
// kept stays and is not asked about again; a photo that comes back is taken off.
//
// Long: a list of changes of one folder and of decisions, one after the other.
func TestRemovalsWait(t *testing.T) {
	dir := t.TempDir()
	name := func(i int) string { return filepath.Join(dir, "a", fmt.Sprintf("%02d.png", i)) }
	for i := range 20 {
		writeFile(t, name(i), fmt.Sprint(i), time.Hour)
	}
	writeFile(t, filepath.Join(dir, "b", "1.png"), "other", time.Hour)
	x := newFilledIndex(t, openDataset(t, dir), dir, 2)
	gone := func(is ...int) {
		for _, i := range is {
			if err := os.Remove(name(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	var r *Removals
	restart := func() {
		var err error
		if r, err = OpenRemovals(x.Dir()); err != nil {
			t.Fatal(err)
		}
	}
	compare := func(items int) *Result {
		t.Helper()
		p := planFor(t, x, dir, Options{Removals: r})
		p.Hold(changes.DefaultMaxRemovals)
		done := applyPlan(t, x, p)
		if n := x.Info().Items; n != items {
			t.Fatalf("%d items, want %d", n, items)
		}
		return done
	}
	restart()
	gone(0, 1, 2)
	if err := os.Rename(name(9), name(30)); err != nil {
		t.Fatal(err)
	}
	first := compare(21)
	if _, moved, _ := x.Get("a/30.png"); !moved || first.Waits == nil || len(first.Waits.Removed) != 3 ||
		first.Waits.Items != 21 {
		t.Fatalf("%+v", first)
	}
	restart()
	again := compare(21)
	if again.Waits == nil || again.Waits.ID != first.Waits.ID || !again.Waits.Since.Equal(first.Waits.Since) {
		t.Fatalf("%+v", again.Waits)
	}
	gone(3)
	second := compare(21)
	if err := r.Decide(first.Waits, true); err != ErrOutdated {
		t.Fatal(err)
	}
	p := planFor(t, x, dir, Options{Removals: r})
	p.Hold(changes.DefaultMaxRemovals)
	if err := r.Decide(second.Waits, false); err != nil {
		t.Fatal(err)
	}
	if done := applyPlan(t, x, p); done.Waits != nil || len(done.Stay) != 4 { // decided while it was compared
		t.Fatalf("%+v", done)
	}
	restart()
	if kept := compare(21); kept.Waits != nil || len(kept.Stay) != 4 {
		t.Fatalf("%+v", kept)
	}
	other := t.TempDir() // another set of the same index
	writeFile(t, filepath.Join(other, "z", "1.png"), "other", time.Hour)
	set := openDataset(t, other)
	facts, err := ReadFileRecords(t.Context(), set.All(), other)
	if err != nil {
		t.Fatal(err)
	}
	z := store.Item{ID: "z/z/1.png", Path: facts[0].Path, Vector: []float32{1, 1}}
	facts[0].Put(&z)
	if _, err := x.Add(t.Context(), []store.Item{z}, index.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	foreign, err := NewPlan(t.Context(), x, set, Options{Prefix: "z/", Set: other, Removals: r})
	if err != nil {
		t.Fatal(err)
	}
	applyPlan(t, x, foreign)
	if _, err := x.Remove(t.Context(), "z/z/1.png"); err != nil {
		t.Fatal(err)
	}
	writeFile(t, name(3), "3", time.Hour)
	gone(4) // less than a tenth
	if back := compare(20); back.Waits != nil || len(back.Stay) != 3 {
		t.Fatalf("%+v", back)
	}
	gone(5, 6, 7)
	third := compare(20)
	if third.Waits == nil || len(third.Waits.Removed) != 3 || len(third.Stay) != 3 {
		t.Fatalf("%+v", third)
	}
	if err := r.Decide(third.Waits, true); err != nil {
		t.Fatal(err)
	}
	writeFile(t, name(7), "7", time.Hour) // not the list that was confirmed, and no longer too many
	if done := compare(18); done.Waits != nil {
		t.Fatalf("%+v", done)
	}
	gone(7, 8, 10)
	fourth := compare(18)
	if err := r.Decide(fourth.Waits, true); err != nil {
		t.Fatal(err)
	}
	restart() // killed before the removal
	if done := compare(15); done.Waits != nil || len(done.Stay) != 3 {
		t.Fatalf("%+v", done)
	}
}

// A damaged list of decisions stops the comparison: an item that was to be kept could be removed without it.
func TestRemovalsDamaged(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a", "1.png"), "one", time.Hour)
	x := newFilledIndex(t, openDataset(t, dir), dir, 2)
	for _, text := range []string{"", "{", `{"format": 2}`, `{"format": 1, "confirmed": true}`,
		`{"format": 1, "kept": ["b", "a"]}`} {
		if err := os.WriteFile(filepath.Join(x.Dir(), RemovalsFileName), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		set, err := data.Open(t.Context(), dir, data.OpenOptions{Unlabelled: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewPlan(t.Context(), x, set, Options{Set: dir}); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}
