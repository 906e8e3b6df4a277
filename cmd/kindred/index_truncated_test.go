package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/indexing"
)

// A copy whose log was cut short is told of by every command that reads it, refused by
// those that write, and status 1 of check.
func TestIndexCutShort(t *testing.T) {
	home := t.TempDir()
	e, ix := filepath.Join(home, "E.csv"), filepath.Join(home, "E.index")
	text := "id,label,embedding_0,embedding_1\na,x,0,0\nb,y,1,0\nc,x,0,3\n"
	if err := os.WriteFile(e, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var added indexing.Added
	kindredJSON(t, &added, "index", "create", "--embeddings", e, "--out", ix)
	logs, err := filepath.Glob(filepath.Join(ix, "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	st, err := os.Stat(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(logs[0], st.Size()-7); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{exitOK, "is cut short", []string{"info", ix}},
		{exitOK, "is cut short", []string{"search", ix, "--vector", e}},
		{exitFailure, "1 problems", []string{"check", ix}},
		{exitFailure, "are missing", []string{"remove", ix, "a"}},
		{exitFailure, "index check", []string{"add", ix, "--embeddings", e}},
		{exitOK, "is repaired", []string{"check", ix, "--repair"}},
		{exitOK, "", []string{"check", ix}},
		{exitOK, "", []string{"info", ix}},
		{exitOK, "", []string{"add", ix, "--embeddings", e}},
	} {
		code, _, stderr := runArgs(t, append([]string{"index"}, c.args...)...)
		silent := !strings.Contains(stderr, "cut short")
		if code != c.code || !strings.Contains(stderr, c.says) || c.says == "" && !silent {
			t.Errorf("%v: status %d: %s", c.args, code, stderr)
		}
	}
	var info indexInfo
	if kindredJSON(t, &info, "index", "info", ix); info.Items != 3 || info.Shortfall != nil {
		t.Errorf("%+v", info)
	}
}
