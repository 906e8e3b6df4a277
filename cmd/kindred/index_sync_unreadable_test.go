package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/foldersync"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
)

// A file that no decoder reads is tried once, and again when its content or the decoders
// change, or with --strict. A changed photo keeps its item meanwhile.
func TestIndexSyncUnreadable(t *testing.T) {
	dir, ix, runDir := newFollowedIndex(t)
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	list := filepath.Join(ix, mirror.UnreadableFileName)
	var res foldersync.Result
	sync := func(refused, toEmbed int) {
		t.Helper()
		res = syncRefusing(t, dir, ix, refused, toEmbed)
	}
	was, old := readItems(t, ix)["c1/1.png"], readText(t, at("c1/1.png"))
	writeBytes(t, at("c0/new.png"), newBrokenPicture(t, 1))
	writeBytes(t, at("c1/1.png"), newBrokenPicture(t, 2))
	sync(0, 2)
	if !slices.Equal(res.Kept, []string{"c1/1.png"}) || res.Items != 18 || len(res.LeftOut) != 1 ||
		res.LeftOut[0].Count != 2 {
		t.Fatalf("%+v", res)
	}
	if got := readItems(t, ix)["c1/1.png"]; !slices.Equal(got.Vector, was.Vector) ||
		got.Columns[mirror.Digest] != was.Columns[mirror.Digest] {
		t.Errorf("%+v, was %+v", got, was)
	}
	// The same content: with another time, under another name.
	makeOld(t, dir)
	writeBytes(t, at("c2/again.png"), newBrokenPicture(t, 1))
	before := readText(t, list)
	text := mustRun(t, "index", "sync", dir, "--index", ix, "--dry-run")
	want := "3  unreadable, unchanged since: passed over, 1 of them with an item of older content\n"
	if !strings.Contains(text, want) || !strings.Contains(text, "0  to embed") {
		t.Errorf("%q is not in the table:\n%s", want, text)
	}
	if !bytes.Equal(readText(t, list), before) {
		t.Error("--dry-run has written the list")
	}
	sync(3, 0)
	mustRun(t, "index", "check", ix)
	mustRun(t, "index", "info", ix)
	// The same size and time: it is not opened. Another time: it is.
	st, err := os.Stat(at("c0/new.png"))
	if err != nil {
		t.Fatal(err)
	}
	writeBytes(t, at("c0/new.png"), bytes.Repeat([]byte{7}, int(st.Size())))
	if err := os.Chtimes(at("c0/new.png"), st.ModTime(), st.ModTime()); err != nil {
		t.Fatal(err)
	}
	sync(3, 0)
	writeBytes(t, at("c0/new.png"), newNoisePicture(t, 3))
	sync(2, 1)
	if res.Embedded != 1 || res.Items != 19 {
		t.Errorf("%+v", res)
	}
	// What is readable again, or gone, is in the list no longer.
	writeBytes(t, at("c1/1.png"), old)
	sync(1, 0)
	if err := os.Remove(at("c2/again.png")); err != nil {
		t.Fatal(err)
	}
	sync(0, 0)
	if _, err := os.Stat(list); !os.IsNotExist(err) {
		t.Errorf("the list is left: %v", err)
	}
	makeOld(t, dir)
	sync(0, 0)
	checkMirror(t, ix, dir, runDir)
}

// With --strict, by other decoders, and without a valid list, all files are tried again.
func TestIndexSyncUnreadableAgain(t *testing.T) {
	dir, ix, _ := newFollowedIndex(t)
	list := filepath.Join(ix, mirror.UnreadableFileName)
	writeBytes(t, filepath.Join(dir, "c0", "new.png"), newBrokenPicture(t, 1))
	writeBytes(t, filepath.Join(dir, "c1", "1.png"), newBrokenPicture(t, 2))
	sync := func(refused, toEmbed int) {
		t.Helper()
		syncRefusing(t, dir, ix, refused, toEmbed)
	}
	sync(0, 2)
	if code, _, stderr := runArgs(t, "index", "sync", dir, "--index", ix, "--strict"); code != exitFailure {
		t.Errorf("status %d: %s", code, stderr)
	}
	sync(2, 0)
	writeBytes(t, list, bytes.Replace(readText(t, list), []byte(`"decoders": "`), []byte(`"decoders": "not `), 1))
	sync(0, 2)
	sync(2, 0)
	writeBytes(t, list, []byte("not a list"))
	code, _, stderr := runArgs(t, "index", "sync", dir, "--index", ix)
	if code != exitOK || strings.Count(stderr, "unreadable.json is ignored, and its files are tried again") != 1 ||
		!strings.Contains(stderr, "1 changed photo could not be read, so the index keeps the older content: c1/1.png") {
		t.Errorf("status %d: %s", code, stderr)
	}
	sync(2, 0)
}

// newBrokenPicture is a picture that ends early.
func newBrokenPicture(t *testing.T, seed uint64) []byte {
	b := newNoisePicture(t, seed)
	return b[:len(b)-40]
}

// syncRefusing syncs, and passes over some files.
func syncRefusing(t *testing.T, dir, ix string, refused, toEmbed int) (res foldersync.Result) {
	t.Helper()
	kindredJSON(t, &res, "index", "sync", dir, "--index", ix)
	if res.Counts["refused"] != refused || res.ToEmbed != toEmbed {
		t.Fatalf("want %d refused, %d to embed: %+v", refused, toEmbed, res)
	}
	return res
}

func readText(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
