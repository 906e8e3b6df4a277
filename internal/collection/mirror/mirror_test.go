package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/collection/mirror/changes"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// writeFile makes a file of an age.
func writeFile(t testing.TB, path, content string, age time.Duration) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-age)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

// openDataset is the data set in a folder, whose files are told by their names alone.
func openDataset(t testing.TB, dir string) *data.Dataset {
	t.Helper()
	set, err := data.Open(t.Context(), dir, data.OpenOptions{Unlabelled: true})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// classLabels are the classes of a set of folders.
func classLabels(set *data.Dataset) []map[string]any {
	c, err := set.Column("fine")
	if err != nil {
		return nil
	}
	out := make([]map[string]any, set.Len())
	for i := range out {
		out[i] = map[string]any{"label": c.Classes[c.IDs[i]]}
	}
	return out
}

// newFilledIndex is an index of a set, with vectors that count its samples.
func newFilledIndex(t testing.TB, set *data.Dataset, dir string, dim int) *index.Index {
	t.Helper()
	x, err := index.Create(filepath.Join(t.TempDir(), "x.index"), index.Config{Dim: dim})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	facts, err := ReadFileRecords(t.Context(), set.All(), dir)
	if err != nil {
		t.Fatal(err)
	}
	labels := classLabels(set)
	items := make([]store.Item, set.Len())
	for i := range items {
		items[i] = store.Item{ID: set.Names[i], Path: facts[i].Path, Vector: make([]float32, dim)}
		items[i].Vector[0] = float32(i)
		if labels != nil {
			items[i].Columns = labels[i]
		}
		facts[i].Put(&items[i])
	}
	if _, err := x.Add(t.Context(), items, index.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	return x
}

// planFor is the plan for an index and the set in a folder.
func planFor(t *testing.T, x *index.Index, dir string, opt Options) *Plan {
	t.Helper()
	set := openDataset(t, dir)
	opt.Set, opt.Labels = dir, classLabels(set)
	p, err := NewPlan(t.Context(), x, set, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// noNetwork is a network that must not be asked for.
func noNetwork(t *testing.T) func() (*run.Model, error) {
	return func() (*run.Model, error) {
		t.Error("the network is asked for")
		return nil, errors.New("no network")
	}
}

// Times decide for files that are old enough; a file that has just been written is looked
// into, and its time noted once it says something.
func TestTimes(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a", "1.png"), "one", time.Hour)
	writeFile(t, filepath.Join(dir, "a", "2.png"), "two", time.Second/10)
	x := newFilledIndex(t, openDataset(t, dir), dir, 2)
	look := func() *Plan { return planFor(t, x, dir, Options{}) }
	// Other content of the same size and time is not seen where the time is old...
	writeFile(t, filepath.Join(dir, "a", "1.png"), "eno", time.Hour)
	st, err := os.Stat(filepath.Join(dir, "a", "2.png"))
	if err != nil {
		t.Fatal(err)
	}
	old, _, err := x.Get("a/1.png")
	if err != nil {
		t.Fatal(err)
	}
	when, err := time.Parse(timeFormat, old.Columns[Modified].(string))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, "a", "1.png"), when, when); err != nil {
		t.Fatal(err)
	}
	if p := look(); !p.IsEmpty() {
		t.Errorf("%+v", p.Plan)
	}
	// ...and is where it is not.
	writeFile(t, filepath.Join(dir, "a", "2.png"), "owt", 0)
	if err := os.Chtimes(filepath.Join(dir, "a", "2.png"), st.ModTime(), st.ModTime()); err != nil {
		t.Fatal(err)
	}
	if p := look(); p.Counts[changes.Changed] != 1 {
		t.Errorf("%+v", p.Plan)
	}
	writeFile(t, filepath.Join(dir, "a", "2.png"), "two", time.Hour)
	p := look()
	if p.Counts[changes.Touched] != 1 || p.Embed != 0 {
		t.Fatalf("%+v", p.Plan)
	}
	if _, err := p.Apply(t.Context(), x, noNetwork(t), nil); err != nil {
		t.Fatal(err)
	}
	if p := look(); !p.IsEmpty() {
		t.Errorf("%+v", p.Plan)
	}
	if gone, changed, err := CountStale(t.Context(), x, openDataset(t, dir),
		Options{Set: dir}); gone+changed != 0 || err != nil {
		t.Error(gone, changed, err)
	}
}

// What moved keeps its vector and what a person wrote; what is gone is gone; nothing else of
// the index changes.
func TestApply(t *testing.T) {
	dir := t.TempDir()
	for i := range 30 {
		writeFile(t, filepath.Join(dir, fmt.Sprint("c", i%3), fmt.Sprint(i, ".png")), fmt.Sprint("content ", i),
			time.Hour)
	}
	x := newFilledIndex(t, openDataset(t, dir), dir, 3)
	it, _, err := x.Get("c1/4.png")
	if err != nil {
		t.Fatal(err)
	}
	it.Columns["price"] = 3.5
	foreign := store.Item{ID: "elsewhere", Path: "/another/place/1.png", Vector: make([]float32, 3)}
	upload := store.Item{ID: "sent", Vector: make([]float32, 3)}
	items := []store.Item{it, foreign, upload}
	if _, err := x.Add(t.Context(), items, index.AddOptions{Existing: index.Replace}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "c1"), filepath.Join(dir, "k1")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "c2", "5.png")); err != nil {
		t.Fatal(err)
	}
	set := openDataset(t, dir)
	p, err := NewPlan(t.Context(), x, set, Options{Set: dir, Labels: classLabels(set)})
	if err != nil || p.Counts[changes.Moved] != 10 || p.Counts[changes.Removed] != 1 || p.Counts[changes.Same] != 19 ||
		p.Others != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	done, err := p.Apply(t.Context(), x, noNetwork(t), nil)
	if err != nil || done.Embedded != 0 {
		t.Fatal(done, err)
	}
	got, ok, err := x.Get("k1/4.png")
	if err != nil || !ok || got.Columns["price"] != 3.5 || got.Columns["label"] != "k1" ||
		!slices.Equal(got.Vector, it.Vector) || got.Path != filepath.Join(dir, "k1", "4.png") {
		t.Errorf("%+v, %v", got, err)
	}
	if n := x.Info().Items; n != 31 {
		t.Errorf("%d items", n)
	}
	for _, id := range []string{"elsewhere", "sent"} {
		if _, ok, err := x.Get(id); !ok || err != nil {
			t.Errorf("%s: %v, %v", id, ok, err)
		}
	}
	// Somebody removes an item between the comparison and the change: it stays away.
	if err := os.Rename(filepath.Join(dir, "k1"), filepath.Join(dir, "c1")); err != nil {
		t.Fatal(err)
	}
	set = openDataset(t, dir)
	if p, err = NewPlan(t.Context(), x, set, Options{Set: dir, Labels: classLabels(set)}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Remove(t.Context(), "k1/4.png"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(t.Context(), x, noNetwork(t), nil); err != nil || x.Info().Items != 30 {
		t.Errorf("%d items, %v", x.Info().Items, err)
	}
}

// What cannot be compared is refused, and a context that ends ends it.
func TestLookRefuses(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a", "1.png"), "one", 0)
	set := openDataset(t, dir)
	x := newFilledIndex(t, set, dir, 2)
	rows := &data.Dataset{Name: "rows", Names: []string{"train/0"}}
	if _, err := NewPlan(t.Context(), x, rows, Options{}); err == nil || !strings.Contains(err.Error(), "not separate "+
		"files") {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewPlan(ended, x, set, Options{Set: dir}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	writeFile(t, filepath.Join(copied, "a", "1.png"), "two", 0)
	if _, err := NewPlan(t.Context(), x, openDataset(t, copied), Options{Set: copied}); err == nil ||
		!strings.Contains(err.Error(), "still exists") {
		t.Error(err)
	}
	// A copy with the same content is the same photo.
	writeFile(t, filepath.Join(copied, "a", "1.png"), "one", 0)
	if p, err := NewPlan(t.Context(), x, openDataset(t, copied), Options{Set: copied}); err != nil ||
		p.Counts[changes.Moved] != 1 {
		t.Error(p, err)
	}
}

// A folder that was moved with all in it, and an archive that was, are the same set.
func TestMovedSet(t *testing.T) {
	home := t.TempDir()
	was, is := filepath.Join(home, "was"), filepath.Join(home, "is")
	for i := range 20 {
		writeFile(t, filepath.Join(was, fmt.Sprint("c", i%2), fmt.Sprint(i, ".png")), fmt.Sprint(i), time.Hour)
	}
	x := newFilledIndex(t, openDataset(t, was), was, 2)
	if err := os.Rename(was, is); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(is, "c0", "0.png")); err != nil {
		t.Fatal(err)
	}
	set := openDataset(t, is)
	p, err := NewPlan(t.Context(), x, set, Options{Set: is, Labels: classLabels(set)})
	if err != nil || p.Counts[changes.Moved] != 19 || p.Counts[changes.Removed] != 1 || p.Others != 0 {
		t.Fatalf("%+v, %v", p.Plan, err)
	}
	// By a link, it is where it was.
	link := filepath.Join(home, "link")
	if err := os.Symlink(is, link); err != nil {
		t.Skip(err)
	}
	if _, err := p.Apply(t.Context(), x, noNetwork(t), nil); err != nil {
		t.Fatal(err)
	}
	set = openDataset(t, link)
	if p, err = NewPlan(t.Context(), x, set, Options{Set: link, Labels: classLabels(set)}); err != nil ||
		p.Others != 0 ||
		p.Counts[changes.Moved] != 19 {
		t.Errorf("%+v, %v", p.Plan, err)
	}
}

// TestDecoderLost: items of HEIC files stay while the decoder for HEIC is missing, for which the files are not listed,
// and go with their files.
func TestDecoderLost(t *testing.T) {
	decoders, dir := t.TempDir(), t.TempDir()
	t.Setenv("KINDRED_DECODERS", decoders)
	module := filepath.Join(decoders, "heif.wasm")
	writeFile(t, module, "", 0)
	for _, name := range []string{"a/1.png", "a/2.heic", "b/3.HEIC", "b/4.png"} {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), name, time.Hour)
	}
	x := newFilledIndex(t, openDataset(t, dir), dir, 2)
	look := func() *Plan { return planFor(t, x, dir, Options{}) }
	if p := look(); p.Counts[changes.Same] != 4 || p.Others != 0 {
		t.Fatalf("with a decoder: %+v", p.Plan)
	}
	if err := os.Remove(module); err != nil {
		t.Fatal(err)
	}
	if p := look(); p.Counts[changes.Same] != 2 || p.Counts[changes.Removed] != 0 || p.Others != 2 {
		t.Errorf("without: %+v, %d others", p.Plan, p.Others)
	}
	if err := os.Remove(filepath.Join(dir, "a", "2.heic")); err != nil {
		t.Fatal(err)
	}
	if p := look(); p.Counts[changes.Removed] != 1 || p.Others != 1 {
		t.Errorf("without the file: %+v, %d others", p.Plan, p.Others)
	}
}
