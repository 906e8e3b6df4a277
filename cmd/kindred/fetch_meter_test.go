package main

import (
	"bytes"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
)

// What fetches data draws nothing where that would end in a log.
func TestFetchingIntoALog(t *testing.T) {
	var b bytes.Buffer
	g := inputs.NewFetcher((&console.Console{Err: &b}), t.TempDir())
	for done := range int64(100) {
		g.Bytes("train.gz", done<<20, 100<<20)
	}
	g.Progress("mnist: trying somewhere else")
	if got := b.String(); got != "mnist: trying somewhere else\n" {
		t.Errorf("wrote %q", got)
	}
}
