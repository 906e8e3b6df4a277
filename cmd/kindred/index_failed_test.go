package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/indexing"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/matrix"
)

// TestFailedIndexLeavesNothing: after an error the same command works again, and what was in
// the folder before is still there.
func TestFailedIndexLeavesNothing(t *testing.T) {
	home := t.TempDir()
	vectors := filepath.Join(home, "E.csv")
	good := "id,embedding_0,tag\na,1,x\nb,2,y\n"
	mine := filepath.Join(home, "mine.index", "notes.txt")
	if err := os.MkdirAll(filepath.Dir(mine), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	for bad, want := range map[string]string{
		"id,embedding_0,tag\na,1,x\nb,2,\xff\n":                             "column tag is not UTF-8",
		"id,embedding_0,tag\na,1,x\n" + strings.Repeat("b", 513) + ",2,y\n": "512",
		"id,embedding_0,tag\na,1,x\na,2,y\n":                                `rows 1 and 2 both have the id "a"`,
		"id,embedding_0,label\na,1,x\na,2,y\n":                              `rows 1 and 2 both have the id "a"`,
		"path,id,embedding_0,label\nx,a,1,x\ny,a,2,y\n":                     `rows 1 and 2 both have the id "a"`,
		"id,embedding_0,tag\na,1,x\n..,2,y\n":                               "would be a folder in an address",
	} {
		for _, dir := range []string{filepath.Join(home, "new", "deep", "E.index"), filepath.Dir(mine)} {
			if err := os.WriteFile(vectors, []byte(bad), 0o666); err != nil {
				t.Fatal(err)
			}
			code, _, stderr := runArgs(t, "index", "create", "--embeddings", vectors, "--out", dir)
			if code != exitFailure || !strings.Contains(stderr, want) {
				t.Errorf("status %d: %s", code, stderr)
			}
			if _, err := os.Stat(filepath.Join(home, "new")); err == nil {
				t.Errorf("%s: something stays", stderr)
			}
			if names, err := os.ReadDir(filepath.Dir(mine)); err != nil || len(names) != 1 {
				t.Errorf("%s: %v stays in a folder that was there, %v", stderr, names, err)
			}
		}
	}
	if err := os.WriteFile(vectors, []byte(good), 0o666); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "new", "deep", "E.index")
	if code, _, stderr := runArgs(t, "index", "create", "--embeddings", vectors, "--out", dir); code != exitOK {
		t.Errorf("status %d: %s", code, stderr)
	}
}

// TestCreateBesideAnother: an index that another process makes in the same folder stays whole, whether that has begun
// or is done by the time that this one looks.
func TestCreateBesideAnother(t *testing.T) {
	t.Chdir(t.TempDir())
	writeBytes(t, "E.csv", []byte("id,label,embedding_0\na,x,1\nb,x,2\n"))
	x, err := index.Create("ix", index.Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	f := indexCreateFlags{out: "ix"}
	a := &console.Console{Out: io.Discard, Err: io.Discard, Raw: io.Discard}
	s := &indexing.Source{Set: lookup.Set{Table: &embedding.Table{X: matrix.New(2, 1)}}}
	var held *lock.HeldError
	if err := makeIndex(t.Context(), a, &f, s, index.Config{}); !errors.As(err, &held) {
		t.Errorf("beside a process that makes it: %v", err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	err = makeIndex(t.Context(), a, &f, s, index.Config{})
	if err == nil || !strings.Contains(err.Error(), "an index already") {
		t.Errorf("over a finished one: %v", err)
	}
	if out := mustRun(t, "index", "check", "ix"); !strings.Contains(out, "all intact") {
		t.Error(out)
	}
}
