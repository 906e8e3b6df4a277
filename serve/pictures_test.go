package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/store"
)

// A request may give an item no path, the one that it has, or one in the collection's
// folders, and no other.
func TestMayHave(t *testing.T) {
	m := newFilledStore(t, 1)
	folder := t.TempDir()
	here, there := filepath.Join(folder, "a.jpg"), filepath.Join(t.TempDir(), "b.jpg")
	if err := m.Put(t.Context(), []store.Item{{ID: "old", Path: there, Vector: []float32{1, 0, 0}},
		{ID: "bare", Vector: []float32{1, 0, 0}}}, store.Insert); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id, path string
		may      bool
	}{{"new", "", true}, {"old", "", true}, {"old", there, true}, {"old", here, true}, {"new", here, true},
		{"new", there, false}, {"bare", there, false}, {"old", there + "x", false}, {"old", "/etc/passwd", false},
		{"new", filepath.Join(folder, "..", "b.jpg"), false}} {
		of := &servedCollection{Collection: Collection{Store: m, Folders: []string{folder}}}
		if err := of.checkPath(t.Context(), &store.Item{ID: c.id, Path: c.path}); (err == nil) != c.may {
			t.Errorf("%s, which may have %s: %v, %v", c.id, c.path, c.may, err)
		}
	}
}

// The longer side has as many pixels as are asked for, and the shorter one is rounded to the
// nearest, but to no less than one.
func TestThumbnailSides(t *testing.T) {
	dir := t.TempDir()
	m := &storetest.Memory{Dim: 1}
	for _, side := range [][2]int{{399, 150}, {150, 399}, {401, 150}, {600, 1}, {1200, 600}} {
		id := fmt.Sprintf("%dx%d", side[0], side[1])
		path := filepath.Join(dir, id)
		if err := os.WriteFile(path, encodePNG(t, plainPicture(side[0], side[1], red)), 0o666); err != nil {
			t.Fatal(err)
		}
		it := store.Item{ID: id, Path: path, Vector: []float32{1}}
		if err := m.Put(t.Context(), []store.Item{it}, store.Insert); err != nil {
			t.Fatal(err)
		}
	}
	do := &caller{t: t, s: newServer(t, Options{Collections: []Collection{{Name: "a", Store: m}}})}
	for target, want := range map[string][2]int{"399x150/thumbnail?size=100": {100, 38},
		"150x399/thumbnail?size=100": {38, 100}, "401x150/thumbnail?size=100": {100, 37},
		"600x1/thumbnail?size=16": {16, 1}, "1200x600/thumbnail?size=1024": {1024, 512},
		"399x150/thumbnail?size=1000": {399, 150}} {
		a := do.get("/v1/items/"+target).want(t, 200)
		if w, h := sizeOf(t, a.body); w != want[0] || h != want[1] {
			t.Errorf("%s has %d x %d pixels, want %v", target, w, h, want)
		}
	}
	for _, size := range []string{"15", "1025", "0", "-16", "x"} {
		do.get("/v1/items/399x150/thumbnail?size="+size).want(t, 400)
	}
}

// Those that were shown last are kept, up to the last byte.
func TestThumbnailsKept(t *testing.T) {
	th := newPictureCache(thumbnailBytes)
	th.put(&cachedPicture{tag: "a", file: make([]byte, thumbnailBytes-3)})
	th.put(&cachedPicture{tag: "b", file: make([]byte, 3)})
	if th.get("a") == nil || th.get("b") == nil || th.bytes != thumbnailBytes {
		t.Errorf("%d bytes", th.bytes)
	}
	th.get("b")
	th.put(&cachedPicture{tag: "c", file: make([]byte, 1)})
	if th.get("a") != nil || th.get("b") == nil || th.get("c") == nil || th.bytes != 4 {
		t.Errorf("%d bytes in %d thumbnails", th.bytes, len(th.byTag))
	}
}
