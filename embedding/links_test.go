package embedding_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Who reads and writes embeddings, opens data sets or loads a run does not link a
// Parquet library; who wants it imports internal/parquet.
func TestParquetStandsAlone(t *testing.T) {
	const module = "github.com/kindred-ml/kindred/"
	without := []string{"embedding", "data", "train", "run", "eval",
		"internal/compute/projection"}
	with := []string{"internal/parquet", "cmd/kindred"}
	args := []string{"list", "-f", `{{.ImportPath}} {{join .Deps " "}}`}
	for _, pkg := range append(without, with...) {
		args = append(args, module+pkg)
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	deps := map[string]string{} // what each package links, itself included
	for line := range strings.Lines(string(out)) {
		pkg, _, _ := strings.Cut(line, " ")
		deps[strings.TrimPrefix(pkg, module)] = line
	}
	for _, pkg := range without {
		if !strings.Contains(deps[pkg], " "+module) {
			t.Errorf("go list shows nothing that %s links: %q", pkg, deps[pkg])
		}
		if strings.Contains(deps[pkg], "parquet") {
			t.Errorf("%s links a Parquet library", pkg)
		}
	}
	for _, pkg := range with {
		if !strings.Contains(deps[pkg], "parquet-go") {
			t.Errorf("%s links no Parquet library: this test sees nothing", pkg)
		}
	}
}
