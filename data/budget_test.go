package data

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// Files that claim, or unpack to, more than the budget are errors that give the
// limit, before the memory is taken.
func TestBudget(t *testing.T) {
	const limit = 64 << 20
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	dir := t.TempDir()
	gz := func(b []byte, zeros int) []byte {
		var z bytes.Buffer
		w, _ := gzip.NewWriterLevel(&z, gzip.BestSpeed)
		w.Write(b)
		w.Write(make([]byte, zeros))
		w.Close()
		return z.Bytes()
	}
	sparse := func(name string, size int64) string {
		path := filepath.Join(dir, name)
		write(t, path, nil)
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sets := map[string]string{}
	// idx: four wrong bytes; and honest zeros, compressed a thousand times.
	for name, b := range map[string][]byte{
		"idx claim": idxBytes([]int{1 << 31, 28, 28}, []byte{1}),
		"idx bomb":  gz(idxBytes([]int{1 << 17, 28, 28}, nil), 1<<17*784),
	} {
		sub := filepath.Join(dir, name)
		writeIdx(t, sub, []byte{1, 2}, []byte{1, 2})
		write(t, filepath.Join(sub, "train-images-idx3-ubyte"), b)
		sets[name] = sub
	}
	// MATLAB: a compressed element of zeros, and one of empty cells.
	for name, a := range map[string][]byte{
		"mat zeros": matArray(9, "annotations", 80<<20, matElement(2, make([]byte, 80<<20))),
		"mat cells": matArray(1, "annotations", 1<<20, bytes.Repeat(matElement(14, nil), 1<<20)),
		"mat bytes": matArray(9, "annotations", 12<<20, matElement(2, make([]byte, 12<<20))), // 8 bytes a number
	} {
		sets[name] = layoutFiles{"cars_annos.mat": matFile(a)}.folder(t)
	}
	sets["cifar"] = layoutFiles{"test.bin": cifarFiles()["test.bin"]}.folder(t)
	if err := os.Rename(sparse("train.bin", 13000*cifarRecord), filepath.Join(sets["cifar"], "train.bin")); err != nil {
		t.Fatal(err)
	}
	sets["list"] = layoutFiles{"Ebay_test.txt": nil}.folder(t)
	write(t, filepath.Join(sets["list"], "Ebay_test.txt"), nil)
	if err := os.Rename(sparse("list", 1<<40), filepath.Join(sets["list"], "Ebay_train.txt")); err != nil {
		t.Fatal(err)
	}
	// An entry of an archive that is as large as it says.
	var z bytes.Buffer
	zw := zip.NewWriter(&z)
	w, _ := zw.Create("manifest.csv")
	for range 80 {
		w.Write(make([]byte, 1<<20))
	}
	zw.Close()
	sets["zip"] = filepath.Join(dir, "x.zip")
	write(t, sets["zip"], z.Bytes())
	for name, what := range sets {
		_, err := Open(t.Context(), what, OpenOptions{})
		var over *budget.Error
		if !errors.As(err, &over) || over.Limit != limit || !strings.Contains(err.Error(), "the limit ") ||
			!strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An entry of an archive that is larger than it says is an error, not cut.
func TestArchiveEntryOfAnotherSize(t *testing.T) {
	good := layoutFiles{"a/1.png": bytes.Repeat([]byte("x"), 3000), "b/1.png": []byte("y")}.zip(t)
	r, err := zip.NewReader(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []uint32{2000, 4000} {
		b := bytes.Clone(good)
		for _, f := range r.File {
			if f.Name != "a/1.png" {
				continue
			}
			// The size stands in the directory at the end.
			at := bytes.LastIndex(b, []byte("a/1.png")) - 46
			b[at+24], b[at+25] = byte(size), byte(size>>8)
		}
		path := filepath.Join(t.TempDir(), "x.zip")
		write(t, path, b)
		a, err := openZip(nil, path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := a.read("a/1.png", nil); err == nil || !strings.Contains(err.Error(), path+":a/1.png") {
			t.Errorf("announced as %d: %d bytes, %v", size, len(got), err)
		}
		if got, err := a.read("b/1.png", nil); err != nil || string(got) != "y" {
			t.Errorf("%q, %v", got, err)
		}
		a.Close()
	}
}

// An entry of an archive takes its own size in memory and no more, wherever the archive
// is read from; one that claims more than it can hold takes none.
func TestArchiveEntryTakesItsSize(t *testing.T) {
	const size = 48 << 20
	var z bytes.Buffer
	zw := zip.NewWriter(&z)
	for name, method := range map[string]uint16{"a/deflated.png": zip.Deflate, "a/stored.png": zip.Store} {
		w, err := zw.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		for range size >> 20 {
			w.Write(make([]byte, 1<<20))
		}
	}
	w, _ := zw.Create("a/small.png")
	w.Write(bytes.Repeat([]byte("x"), 3000))
	zw.Close()
	b := z.Bytes()
	// The size stands in the directory at the end, 22 bytes before the name.
	at := bytes.LastIndex(b, []byte("a/small.png")) - 22
	binary.LittleEndian.PutUint32(b[at:], size)
	path := filepath.Join(t.TempDir(), "x.zip")
	write(t, path, b)
	local, err := openZip(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	budgettest.Limit(t, size)
	for where, from := range map[string]tree{"a file": local, "a file system": fsTree{r, "x.zip"}} {
		for _, name := range []string{"a/deflated.png", "a/stored.png"} {
			var content []byte
			n := budgettest.Allocated(func() { content, err = from.read(name, nil) })
			if err != nil || len(content) != size || n > size+1<<20 {
				t.Errorf("%s from %s: %d bytes in %d, %v", name, where, len(content), n, err)
			}
		}
		n := budgettest.Allocated(func() { _, err = from.read("a/small.png", nil) })
		if err == nil || n > 1<<20 ||
			!strings.Contains(err.Error(), "a/small.png: the archive announces 50331648 bytes, more than its ") {
			t.Errorf("%s: %d bytes, %v", where, n, err)
		}
	}
}
