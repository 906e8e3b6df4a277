package embedding_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Who reads and writes embeddings, opens data sets or loads a run does not link a
// Parquet library; who wants it imports embedding/parquet.
func TestParquetStandsAlone(t *testing.T) {
	const module = "github.com/kindred-ml/kindred/"
	links := func(pkg string) bool {
		out, err := exec.Command("go", "list", "-deps", module+pkg).Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		return strings.Contains(string(out), "parquet")
	}
	for _, pkg := range []string{"embedding", "data", "train", "run", "eval/diagnose", "projection", "eval/rank"} {
		if links(pkg) {
			t.Errorf("%s links a Parquet library", pkg)
		}
	}
	for _, pkg := range []string{"embedding/parquet", "cmd/kindred"} {
		if !links(pkg) {
			t.Errorf("%s links no Parquet library: what is asked here sees nothing", pkg)
		}
	}
}
