package reembed

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/internal/compute/selfmatch"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// newModel is a network of random weights with dim outputs.
func newModel(t *testing.T, dim int, seed uint64) *run.Model {
	t.Helper()
	spec, err := zoo.Network("conv4", zoo.Options{Input: nn.Shape{H: 16, W: 16, C: 3}, Dim: dim, Width: 4})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	cfg := run.Default()
	cfg.Data.Size, cfg.Data.Channels = 16, 3
	return &run.Model{Config: cfg, Net: net}
}

// writePhoto writes a picture, of an age that its time can be trusted.
func writePhoto(t *testing.T, path string, seed int) {
	t.Helper()
	im := image.NewRGBA(image.Rect(0, 0, 20, 24))
	for y := range 24 {
		for x := range 20 {
			im.SetRGBA(x, y, color.RGBA{uint8(x * seed), uint8(y * 7), uint8(x * y * seed), 255})
		}
	}
	f, err := os.Create(path)
	if err == nil {
		err = errors.Join(png.Encode(f, im), f.Close())
	}
	then := time.Now().Add(-time.Hour)
	if err = errors.Join(err, os.Chtimes(path, then, then)); err != nil {
		t.Fatal(err)
	}
}

// newPhotoIndex is an index with vectors of 2 numbers of n photos in a folder, the last of them of a box.
func newPhotoIndex(t *testing.T, n int) (dir string) {
	t.Helper()
	in := t.TempDir()
	var paths []string
	boxes := make([]image.Rectangle, n)
	for i := range n {
		paths = append(paths, filepath.Join(in, fmt.Sprint(i, ".png")))
		writePhoto(t, paths[i], i+1)
	}
	boxes[n-1] = image.Rect(2, 3, 14, 20)
	dir = filepath.Join(t.TempDir(), "x.index")
	x, err := index.Create(dir, index.Config{Dim: 2, Network: index.Network{
		Network: embedding.Network{Name: "old", Fingerprint: "old"}}})
	if err != nil {
		t.Fatal(err)
	}
	var items []store.Item
	for _, part := range []*data.Dataset{data.ListFiles("whole", paths[:n-1], nil),
		data.ListFiles("boxed", paths[n-1:], boxes[n-1:])} {
		facts, err := mirror.ReadFileRecords(t.Context(), part.All(), "set")
		if err != nil {
			t.Fatal(err)
		}
		for i := range facts {
			it := store.Item{ID: filepath.Base(facts[i].Path), Path: facts[i].Path, Vector: []float32{1, 2},
				Columns: map[string]any{"price": float64(i)}}
			facts[i].Put(&it)
			items = append(items, it)
		}
	}
	if _, err := x.Add(t.Context(), items, index.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// readItems are the items of an index.
func readItems(t *testing.T, dir string) map[string]store.Item {
	t.Helper()
	x, err := index.Open(dir, index.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	out := map[string]store.Item{}
	for it, err := range x.All() {
		if err != nil {
			t.Fatal(err)
		}
		out[it.ID] = it
	}
	return out
}

// checkIndex requires that every item has the columns that it had, and the vector of its photo or box by a model.
func checkIndex(t *testing.T, dir string, m *run.Model, before map[string]store.Item) {
	t.Helper()
	after := readItems(t, dir)
	if len(after) != len(before) {
		t.Errorf("%d items, want %d", len(after), len(before))
	}
	for id, it := range after {
		var boxes []image.Rectangle
		if box, err := mirror.CheckUnchanged(t.Context(), &it); err != nil {
			t.Fatal(err)
		} else if !box.Empty() {
			boxes = []image.Rectangle{box}
		}
		e, err := m.EmbedPart(t.Context(), data.ListFiles("one", []string{it.Path}, boxes).All())
		if err != nil {
			t.Fatal(err)
		}
		if !selfmatch.IsSame(it.Vector, e.X.Row(0)) || !maps.Equal(it.Columns, before[id].Columns) {
			t.Errorf("%s: %v, want %v and %v", id, it, e.X.Row(0), before[id].Columns)
		}
	}
	if _, err := os.Stat(Folder(dir)); err == nil {
		t.Error("the folder of the new vectors is left")
	}
}

// TestRun: photos and boxes get the vectors of the new network; a second call has nothing to do.
func TestRun(t *testing.T) {
	dir, m := newPhotoIndex(t, 9), newModel(t, 5, 1)
	before := readItems(t, dir)
	done, err := Run(t.Context(), dir, Options{Model: m, Name: "new", Distance: eval.Cosine})
	if err != nil || done.Items != 9 || done.Embedded != 9 || done.Reused != 0 || done.Network.Name != "new" {
		t.Fatalf("%+v, %v", done, err)
	}
	checkIndex(t, dir, m, before)
	done, err = Run(t.Context(), dir, Options{Model: m, Name: "new", Distance: eval.Cosine})
	if err != nil || !done.Unchanged || done.Embedded != 0 || done.Items != 9 {
		t.Fatalf("%+v, %v", done, err)
	}
	checkIndex(t, dir, m, before)
	if done, err = Run(t.Context(), dir, Options{Model: m, Distance: eval.Euclidean}); err != nil ||
		done.Embedded != 9 {
		t.Errorf("another distance: %+v, %v", done, err)
	}
}

// TestRunGoesOn: an interrupted call leaves its vectors to the next one of the same network, and only to it. What
// happened to the index in between is taken over.
func TestRunGoesOn(t *testing.T) {
	dir, m := newPhotoIndex(t, 12), newModel(t, 5, 1)
	said := ""
	opt := func(m *run.Model, ctx context.Context, stopAt int) (context.Context, Options) {
		ctx, cancel := context.WithCancel(ctx)
		t.Cleanup(cancel)
		return ctx, Options{Model: m, Name: "new", piece: 3, Remark: func(text string) { said += text },
			Progress: func(what string, done, _ int) {
				if what == "embedding" && done == stopAt {
					cancel()
				}
			}}
	}
	ctx, o := opt(m, t.Context(), 9)
	if done, err := Run(ctx, dir, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("%+v, %v", done, err)
	}
	if x := readItems(t, dir)["3.png"]; len(x.Vector) != 2 {
		t.Errorf("the old vectors are gone: %v", x)
	}
	x, err := index.Open(dir, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	moved, _, err := x.Get("0.png")
	if err != nil {
		t.Fatal(err)
	}
	moved.ID, moved.Columns["price"] = "moved.png", 77.0
	if _, _, err = x.Change(t.Context(), index.Change{Remove: []string{"0.png", "1.png"},
		Put: []store.Item{moved}}); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	before := readItems(t, dir)
	_, o = opt(m, t.Context(), -1)
	done, err := Run(t.Context(), dir, o)
	if err != nil || done.Items != 11 || done.Embedded != 6 || done.Reused != 5 {
		t.Fatalf("%+v, %v", done, err)
	}
	if !strings.Contains(said, "going on: 6 vectors") {
		t.Errorf("it says %q", said)
	}
	checkIndex(t, dir, m, before)

	other := newModel(t, 5, 2)
	ctx, o = opt(other, t.Context(), 9)
	if _, err := Run(ctx, dir, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	third := newModel(t, 7, 3)
	_, o = opt(third, t.Context(), -1)
	said = ""
	if done, err = Run(t.Context(), dir, o); err != nil || done.Embedded != 11 || !strings.Contains(said, "by another "+
		"network") {
		t.Fatalf("%+v, %v, %q", done, err, said)
	}
	checkIndex(t, dir, third, before)
}

// TestRunBeside: what happens to the index while it is re-embedded is in the new one too.
func TestRunBeside(t *testing.T) {
	dir, m := newPhotoIndex(t, 9), newModel(t, 5, 1)
	extra := filepath.Join(t.TempDir(), "0123-upload") // without an ending, as uploads of a server
	writePhoto(t, extra, 50)
	changed, last := false, readItems(t, dir)["8.png"].Path
	done, err := Run(t.Context(), dir, Options{Model: m, piece: 4, Progress: func(what string, done, _ int) {
		if what != "embedding" || done < 5 || changed {
			return
		}
		changed = true
		x, err := index.Open(dir, index.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = x.Change(t.Context(), index.Change{Remove: []string{"1.png", "8.png"},
			Put: []store.Item{{ID: "late", Path: extra, Vector: []float32{5, 6},
				Columns: map[string]any{"new": true}}}})
		if err = errors.Join(err, x.Close(), os.Remove(last)); err != nil { // as a server does
			t.Fatal(err)
		}
	}})
	if err != nil || !changed || done.Items != 8 || done.Embedded != 9 {
		t.Fatalf("%+v, %v", done, err)
	}
	after := readItems(t, dir)
	if _, there := after["1.png"]; there || after["late"].Columns["new"] != true {
		t.Errorf("%v", after["late"])
	}
	checkIndex(t, dir, m, after)
}

// TestRunRefuses: a photo that is gone or changes while it is embedded is refused, and nothing is changed. With
// DropMissing the missing ones are left out.
func TestRunRefuses(t *testing.T) {
	dir, m := newPhotoIndex(t, 9), newModel(t, 5, 1)
	before := readItems(t, dir)
	if err := os.Remove(before["2.png"].Path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(before["3.png"].Path, []byte("no picture"), 0o666); err != nil {
		t.Fatal(err)
	}
	var bad *ItemsError
	_, err := Run(t.Context(), dir, Options{Model: m})
	if !errors.As(err, &bad) || len(bad.Missing) != 1 || bad.Missing[0].ID != "2.png" || len(bad.Changed) != 1 ||
		bad.Changed[0].ID != "3.png" || bad.Items != 9 {
		t.Fatalf("%+v, %v", bad, err)
	}
	writePhoto(t, before["3.png"].Path, 4)
	changed := false
	_, err = Run(t.Context(), dir, Options{Model: m, piece: 4, DropMissing: true,
		Progress: func(what string, _, _ int) {
			if what == "embedding" && !changed {
				changed = true
				writePhoto(t, before["0.png"].Path, 60)
				now := time.Now()
				if err := os.Chtimes(before["0.png"].Path, now, now); err != nil {
					t.Fatal(err)
				}
			}
		}})
	if !errors.As(err, &bad) || len(bad.Changed) != 1 || bad.Changed[0].ID != "0.png" {
		t.Fatalf("%+v, %v", bad, err)
	}
	if !maps.EqualFunc(readItems(t, dir), before,
		func(a, b store.Item) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		t.Error("something was changed")
	}
	writePhoto(t, before["0.png"].Path, 1)
	done, err := Run(t.Context(), dir, Options{Model: m, DropMissing: true})
	if err != nil || done.Items != 8 || fmt.Sprint(done.Dropped) != "[2.png]" {
		t.Fatalf("%+v, %v", done, err)
	}
	delete(before, "2.png")
	checkIndex(t, dir, m, before)
}
