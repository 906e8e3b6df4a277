package main

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/foldersync"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/internal/compute/selfmatch"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// newFollowedIndex is an index, the folder that it was made of, and the run that embedded it.
func newFollowedIndex(t *testing.T) (dir, ix, runDir string) {
	t.Helper()
	dir, runDir = searchRun(t)
	makeOld(t, dir)
	ix = filepath.Join(t.TempDir(), "photos.index")
	mustRun(t, "index", "create", "--run", runDir, "--data", dir, "--out", ix)
	return dir, ix, runDir
}

// makeOld makes files old enough for their times to say something.
func makeOld(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if st, e2 := os.Stat(path); err == nil && e2 == nil && time.Since(st.ModTime()) < time.Hour {
			then := st.ModTime().Add(-time.Hour)
			return os.Chtimes(path, then, then)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// newNoisePicture is a picture of noise of its own.
func newNoisePicture(t *testing.T, seed uint64) []byte {
	t.Helper()
	im := image.NewGray(image.Rect(0, 0, 12, 10))
	rng := rand.New(rand.NewPCG(seed, 5))
	for k := range im.Pix {
		im.Pix[k] = uint8(rng.IntN(256))
	}
	var b bytes.Buffer
	if err := png.Encode(&b, im); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readItems are the items of an index.
func readItems(t *testing.T, ix string) map[string]store.Item {
	t.Helper()
	x, err := index.Open(ix, index.Options{ReadOnly: true})
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

// checkMirror compares an index that followed a folder with one that is made of it now, every vector bit for bit.
func checkMirror(t *testing.T, ix, dir, runDir string) {
	t.Helper()
	again := filepath.Join(t.TempDir(), "again.index")
	mustRun(t, "index", "create", "--run", runDir, "--data", dir, "--out", again)
	got, want := readItems(t, ix), readItems(t, again)
	for id, w := range want {
		g, ok := got[id]
		if !ok || g.Path != w.Path || g.Columns["label"] != w.Columns["label"] ||
			g.Columns[mirror.Digest] != w.Columns[mirror.Digest] || !selfmatch.IsSame(g.Vector, w.Vector) {
			t.Errorf("%s is %v %v, want %v %v", id, g.Path, g.Columns, w.Path, w.Columns)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d items, want %d", len(got), len(want))
	}
	var res foldersync.Result
	kindredJSON(t, &res, "index", "sync", dir, "--index", ix, "--dry-run")
	for kind, n := range res.Counts {
		if n != 0 && kind != "same" && kind != "touched" && kind != "refused" {
			t.Errorf("there is still something to do: %+v", res)
		}
	}
	if left, err := os.Stat(filepath.Join(ix, "unfinished")); err == nil {
		t.Errorf("%v is left", left)
	}
}

// A photo deleted, one added, one changed, one put into another class and a class renamed:
// each is said, only new content is embedded, and what a person added stays with its photo.
func TestIndexSync(t *testing.T) {
	dir, ix, runDir := newFollowedIndex(t)
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	var res foldersync.Result
	kindredJSON(t, &res, "index", "sync", dir, "--index", ix)
	if res.Counts["same"] != 18 || len(res.Changes) != 0 || res.ToEmbed != 0 || res.Items != 18 {
		t.Fatalf("nothing has happened: %+v", res)
	}
	var info indexInfo
	if kindredJSON(t, &info, "index", "info", ix); info.Fingerprints != 18 {
		t.Errorf("%d of 18 items have a fingerprint", info.Fingerprints)
	}
	columns := filepath.Join(t.TempDir(), "items.csv")
	writeBytes(t, columns, []byte("id,price\nc2/4.png,3.5\nc1/1.png,7\n"))
	mustRun(t, "index", "add", ix, "--data", dir, "--update", "--columns", columns)
	for _, name := range []string{"c0/1.png", "c1/5.png"} {
		if err := os.Remove(at(name)); err != nil {
			t.Fatal(err)
		}
	}
	writeBytes(t, at("c0/new.png"), newNoisePicture(t, 1))
	writeBytes(t, at("c0/2.png"), newNoisePicture(t, 2))
	copied, err := os.ReadFile(at("c0/3.png"))
	if err != nil {
		t.Fatal(err)
	}
	writeBytes(t, at("c0/copy.png"), copied)
	for from, to := range map[string]string{"c1/1.png": "c0/was in c1.png", "c2": "c9"} {
		if err := os.Rename(at(from), at(to)); err != nil {
			t.Fatal(err)
		}
	}
	code, _, stderr := runArgs(t, "index", "add", ix, "--data", dir)
	if code != exitOK || !strings.Contains(stderr, "9 are of photos that were deleted or "+
		"renamed") || !strings.Contains(stderr,
		"1 of files that have changed") || !strings.Contains(stderr, "kindred index sync "+dir+" --index "+ix) {
		t.Errorf("index add: status %d: %s", code, stderr)
	}
	mustRun(t, "index", "remove", ix, "--filter",
		`label = "c9" or id in ("c0/new.png", "c0/copy.png", "c0/was in c1.png")`)
	was := readFiles(t, ix)
	text := mustRun(t, "index", "sync", dir, "--index", ix, "--dry-run")
	for _, line := range []string{"2  added\n", "1  changed\n", "7  moved, 7 of them to another class\n",
		"2  removed\n", "c2/0.png -> c9/0.png", "c1/1.png -> c0/was in c1.png", "2  to embed"} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not in the table:\n%s", line, text)
		}
	}
	if !maps.Equal(was, readFiles(t, ix)) {
		t.Error("--dry-run has done something")
	}
	code, _, stderr = runArgs(t, "index", "sync", dir, "--index", ix)
	if code != exitFailure || !strings.Contains(stderr, "2 of 18 items would be removed") ||
		len(readItems(t, ix)) != 18 {
		t.Fatalf("status %d: %s", code, stderr)
	}
	kindredJSON(t, &res, "index", "sync", dir, "--index", ix, "--yes")
	if res.Embedded != 2 || !res.Applied || res.Items != 18 {
		t.Errorf("%+v", res)
	}
	makeOld(t, dir)
	mustRun(t, "index", "sync", dir, "--index", ix)
	got := readItems(t, ix)
	if got["c9/4.png"].Columns["price"] != 3.5 || got["c0/was in c1.png"].Columns["price"] != 7.0 {
		t.Errorf("%v, %v", got["c9/4.png"].Columns, got["c0/was in c1.png"].Columns)
	}
	checkMirror(t, ix, dir, runDir)
}

// readFiles has the contents of the files of a folder, except for its lock.
func readFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == lock.FileName {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = string(b)
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatal(len(out), err)
	}
	return out
}

// Of an index of several folders, sync changes what came from its own; a folder that was
// moved as a whole is the same one; one with other photos of the same names is refused.
func TestIndexSyncScope(t *testing.T) {
	dir, ix, runDir := newFollowedIndex(t)
	other := writePhotos(t)
	writeBytes(t, filepath.Join(other, "more", "1.png"), newNoisePicture(t, 9))
	writeBytes(t, filepath.Join(other, "c0", "1.png"), newNoisePicture(t, 10))
	var res foldersync.Result
	code, _, stderr := runArgs(t, "index", "sync", other, "--index", ix)
	if code != exitFailure || !strings.Contains(stderr, "still exists") {
		t.Fatalf("status %d: %s", code, stderr)
	}
	kindredJSON(t, &res, "index", "sync", other, "--index", ix, "--prefix", "other/")
	if res.Counts["added"] != 19 || res.Others != 18 || res.Embedded != 19 {
		t.Fatalf("%+v", res)
	}
	mustRun(t, "index", "add", ix, "--embeddings", writeOneEmbedding(t, 128))
	if err := os.Remove(filepath.Join(dir, "c0", "0.png")); err != nil {
		t.Fatal(err)
	}
	kindredJSON(t, &res, "index", "sync", dir, "--index", ix)
	if res.Counts["removed"] != 1 || res.Counts["same"] != 17 || res.Others != 20 {
		t.Errorf("%+v", res)
	}
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(moved, "c0", "1.png")); err != nil {
		t.Fatal(err)
	}
	kindredJSON(t, &res, "index", "sync", moved, "--index", ix)
	if res.Counts["moved"] != 16 || res.Counts["removed"] != 1 || res.Embedded != 0 || res.Others != 20 {
		t.Errorf("%+v", res)
	}
	mustRun(t, "index", "remove", ix, "--filter", `id > "other/" and id < "other0" or id = "0"`)
	checkMirror(t, ix, moved, runDir)
}

// writeOneEmbedding is a file of one embedding.
func writeOneEmbedding(t *testing.T, dim int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "E.csv")
	head, row := "id", "0"
	for i := range dim {
		head += fmt.Sprintf(",embedding_%d", i)
		row += ",0.5"
	}
	writeBytes(t, path, []byte(head+"\n"+row+"\n"))
	return path
}

// What cannot be done is said, and nothing is changed.
func TestIndexSyncRefuses(t *testing.T) {
	dir, ix, _ := newFollowedIndex(t)
	empty := t.TempDir()
	plain := filepath.Join(t.TempDir(), "plain.index")
	mustRun(t, "index", "create", "--embeddings", writeOneEmbedding(t, 3), "--out", plain)
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{exitUsage, "missing argument PHOTOS", nil},
		{exitUsage, "not both", []string{dir, "--data", dir}},
		{exitUsage, "leave out --watch", []string{dir, "--index", ix, "--dry-run", "--watch"}},
		{exitUsage, "--every", []string{dir, "--index", ix, "--watch", "--every", "0s"}},
		{exitFailure, "kindred index create RUN", []string{dir}},
		{exitFailure, "no images", []string{empty, "--index", ix}},
		{exitFailure, "no data set at", []string{filepath.Join(empty, "nothing"), "--index", ix}},
		{exitFailure, "has no network", []string{dir, "--index", plain}},
	} {
		code, _, stderr := runArgs(t, append([]string{"index", "sync"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%v: status %d, want %d: %s", c.args, code, c.code, stderr)
		}
	}
	// A network that is not the one of the embeddings is found when something is to be embedded.
	model := filepath.Join(index.NetworkDir(ix), "model.safetensors")
	b, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	writeBytes(t, filepath.Join(dir, "c0", "new.png"), newNoisePicture(t, 3))
	writeBytes(t, filepath.Join(dir, "c0", "broken.png"), []byte("no picture"))
	b[len(b)-1] ^= 1
	writeBytes(t, model, b)
	code, _, stderr := runArgs(t, "index", "sync", dir, "--index", ix)
	if code != exitFailure || !strings.Contains(stderr, "is not the network") || len(readItems(t, ix)) != 18 {
		t.Errorf("status %d: %s", code, stderr)
	}
	b[len(b)-1] ^= 1
	writeBytes(t, model, b)
	// A file that is no picture gets no item, and one that no longer is keeps its own.
	writeBytes(t, filepath.Join(dir, "c1", "1.png"), []byte("no picture either"))
	code, _, stderr = runArgs(t, "index", "sync", dir, "--index", ix)
	got := readItems(t, ix)
	if code != exitOK || !strings.Contains(stderr, "left out 2: could not be read") || len(got) != 19 ||
		got["c1/1.png"].ID == "" {
		t.Errorf("status %d: %s", code, stderr)
	}
	code, _, stderr = runArgs(t, "index", "sync", dir, "--index", ix, "--strict")
	if code != exitFailure || len(readItems(t, ix)) != 19 {
		t.Errorf("status %d: %s", code, stderr)
	}
}

// More photos than are embedded in one piece come to the same, and nothing is left of what
// was kept meanwhile.
func TestIndexSyncMany(t *testing.T) {
	dir, ix, runDir := newFollowedIndex(t)
	for i := range 1100 {
		writeBytes(t, filepath.Join(dir, fmt.Sprint("more", i%3), fmt.Sprint(i, ".png")),
			newNoisePicture(t, uint64(1000+i)))
	}
	var res foldersync.Result
	kindredJSON(t, &res, "index", "sync", dir, "--index", ix)
	if res.Embedded != 1100 || res.Items != 1118 {
		t.Errorf("%d embedded, %d items", res.Embedded, res.Items)
	}
	checkMirror(t, ix, dir, runDir)
}

// An archive and a manifest are followed as a folder is.
func TestIndexSyncManifest(t *testing.T) {
	dir, ix, _ := newFollowedIndex(t)
	list := filepath.Join(dir, "manifest.csv")
	rows := []string{"path,label,x_1,y_1,x_2,y_2"}
	for c := range 3 {
		for i := range 6 {
			rows = append(rows, fmt.Sprintf("c%d/%d.png,c%d,,,,", c, i, c))
		}
	}
	write := func() {
		t.Helper()
		writeBytes(t, list, []byte(strings.Join(rows, "\n")+"\n"))
	}
	write()
	var res foldersync.Result
	kindredJSON(t, &res, "index", "sync", dir, "--index", ix)
	if res.Counts["same"] != 18 {
		t.Errorf("%+v", res.Counts)
	}
	rows[1], rows[2] = "c0/0.png,c0,1,1,5,5", "c0/1.png,c2,,,,"
	rows = append(rows[:4], rows[5:]...)
	write()
	kindredJSON(t, &res, "index", "sync", list, "--index", ix)
	if res.Counts["changed"] != 1 || res.Counts["relabelled"] != 1 || res.Counts["removed"] != 1 || res.Embedded != 1 {
		t.Errorf("%+v", res)
	}
	kindredJSON(t, &res, "index", "sync", list, "--index", ix)
	if res.Counts["same"] != 17 || len(res.Changes) > 0 {
		t.Errorf("%+v", res)
	}
}

// A photo that is changed while photos are embedded gives its content to no item: neither its own nor that of a
// copy, which stays as it was when it was compared.
func TestIndexSyncChangedMeanwhile(t *testing.T) {
	dir, ix, runDir := newFollowedIndex(t)
	first, copied := filepath.Join(dir, "c0", "a new.png"), filepath.Join(dir, "c0", "copy.png")
	for _, path := range []string{first, copied, filepath.Join(dir, "c1", "1.png")} {
		writeBytes(t, path, newNoisePicture(t, 1))
	}
	writeBytes(t, filepath.Join(dir, "c2", "z new.png"), newNoisePicture(t, 2))
	f := &syncFlags{index: ix}
	f.Photos.Data = dir
	a := &console.Console{Out: io.Discard, Err: io.Discard}
	err := inputs.ChangeIndex(ix, func(x *index.Index) error {
		set, p, err := f.Compare(t.Context(), a, x)
		if err != nil {
			return err
		}
		defer set.Close()
		done, err := p.Apply(t.Context(), x, func() (*run.Model, error) {
			writeBytes(t, first, newNoisePicture(t, 3))
			return f.Network(x)
		}, nil)
		if err == nil && (done.Embedded != 1 || len(done.LeftOut) != 1 || done.LeftOut[0].Count != 1 ||
			!strings.Contains(done.LeftOut[0].Reason, "sync again")) {
			t.Errorf("%+v", done)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := readItems(t, ix); len(got) != 19 || got["c2/z new.png"].ID == "" || got["c1/1.png"].ID == "" {
		t.Errorf("%d items: %v", len(got), slices.Sorted(maps.Keys(got)))
	}
	mustRun(t, "index", "sync", dir, "--index", ix)
	makeOld(t, dir)
	mustRun(t, "index", "sync", dir, "--index", ix)
	checkMirror(t, ix, dir, runDir)
}

// A photo that was replaced since is not the item of its name: the item is shown, with a remark, until sync takes it.
func TestIndexSearchReplaced(t *testing.T) {
	dir, ix, runDir := newFollowedIndex(t)
	photo := filepath.Join(dir, "c0", "1.png")
	for _, c := range []struct {
		older, itself bool
		do            func()
	}{
		{false, true, func() {}},
		{true, false, func() { writeBytes(t, photo, newNoisePicture(t, 1)) }},
		{false, true, func() { mustRun(t, "index", "sync", dir, "--index", ix) }},
	} {
		c.do()
		for _, args := range [][]string{{"index", "search", ix, photo}, {"search", photo, "--index", ix}} {
			code, out, stderr := runArgs(t, append(args, "--neighbours", "20")...)
			remark := strings.Contains(stderr, "the index has an older content of this file, which is not left out, "+
				"under c0/1.png: 'kindred index sync PHOTOS --index "+ix+"' updates it\n")
			left := strings.Contains(out, "this very picture, left out below: c0 (c0/1.png)")
			if code != exitOK || remark != c.older || left != c.itself {
				t.Errorf("%q: status %d: %s%s", args, code, out, stderr)
			}
		}
	}
	var found lookup.Results
	writeBytes(t, photo, newNoisePicture(t, 2))
	kindredJSON(t, &found, "index", "search", ix, photo, "--neighbours", "20")
	q := found.Queries[0]
	if len(q.Neighbours) != 18 || !slices.Equal(q.OutdatedIDs, []string{"c0/1.png"}) || q.QueryIDs != nil {
		t.Errorf("%+v", q)
	}
	// Among the photos themselves, embedded now, it is itself.
	var among lookup.Results
	kindredJSON(t, &among, "search", photo, "--run", runDir, "--in", dir)
	if q := among.Queries[0]; len(q.QueryIDs) != 1 {
		t.Errorf("%+v", q)
	}
}
