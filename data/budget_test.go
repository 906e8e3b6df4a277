package data

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
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
	if err := os.Rename(sparse("train.bin", 13000*(2+3*32*32)), filepath.Join(sets["cifar"], "train.bin")); err != nil {
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
