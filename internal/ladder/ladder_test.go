// Package ladder checks that the packages import each other only as the table
// in docs/design/architecture.md says.
package ladder

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/kindred-ml/kindred/"

// ladder lists, for every package, which packages of this module it may import
// outside tests. "*" allows all. docs/design/architecture.md gives the reasons.
var ladder = map[string][]string{
	"internal/repro/theory":          {},
	"internal/repro/theory/lp":       {},
	"internal/repro/theory/noise":    {"internal/par"},
	"internal/repro/theory/isometry": {"internal/par", "internal/repro/theory/lp"},
	"internal/repro/theory/pages": {"internal/atomic", "internal/par", "mat", "objective", "embedding",
		"internal/report", "internal/repro/theory/noise", "internal/repro/theory/isometry",
		"internal/repro/theory/field"},
	"internal/repro/theory/field": {"internal/par", "mat", "internal/pair", "loss"},
	"internal/par":                {},
	"internal/kernel/simd":        {},
	"internal/lock":               {},
	"internal/atomic":             {"internal/lock"},
	"internal/regular":            {},
	"internal/spell":              {},
	"internal/budget":             {},
	"internal/yamltext":           {"internal/regular"},
	"internal/kernel/scan":        {"internal/kernel/simd"},
	"internal/kernel/conv":        {"internal/par", "internal/kernel/simd"},
	"mat":                         {"internal/par", "internal/kernel/simd"},
	"internal/pair":               {"internal/par", "internal/kernel/scan", "internal/kernel/simd", "mat"},
	"opt":                         {},
	"mine": {"internal/par", "internal/kernel/scan", "internal/kernel/simd", "internal/spell", "mat", "opt",
		"internal/pair"},
	"loss": {"internal/par", "internal/kernel/scan", "internal/kernel/simd", "internal/spell", "mat", "opt",
		"internal/pair"},
	"objective": {"internal/budget", "internal/spell", "internal/par", "mat", "opt", "internal/pair", "mine",
		"loss"},
	"sample": {},
	"nn": {"internal/budget", "internal/regular", "internal/par", "internal/kernel/simd",
		"internal/kernel/conv", "internal/atomic", "mat", "format/safetensors"},
	"nn/optim":           {"internal/par", "internal/kernel/simd", "nn", "format/safetensors"},
	"format/safetensors": {"internal/budget", "internal/regular"},
	"format/torchfile":   {"internal/budget", "internal/regular", "format/safetensors"},
	"data": {"internal/budget", "internal/regular", "internal/par", "internal/atomic", "mat",
		"embedding", "internal/layout/idx", "internal/layout/matfile", "data/imaging", "internal/layout/packed"},
	"internal/layout/fetch": {"internal/budget", "internal/regular", "internal/atomic", "data",
		"internal/layout/idx"},
	"internal/layout/idx": {"internal/budget", "internal/regular"},
	"data/imaging": {"internal/budget", "internal/layout/jpeg", "internal/kernel/pix",
		"internal/kernel/simd"},
	"internal/layout/jpeg":    {"internal/budget"},
	"internal/layout/inspect": {"internal/budget", "internal/par", "internal/atomic", "data", "data/imaging"},
	"internal/layout/matfile": {"internal/budget"},
	"internal/layout/packed":  {"internal/budget", "internal/regular", "internal/atomic"},
	"eval": {"internal/escape", "internal/budget", "internal/par", "mat", "eval/rank",
		"eval/cluster"},
	"internal/kernel/pix":   {"internal/kernel/simd"},
	"internal/kernel/dot16": {"internal/kernel/simd"},
	"eval/rank":             {"internal/par", "internal/kernel/dot16", "mat"},
	"eval/cluster":          {"internal/par", "internal/kernel/dot16", "mat"},
	"eval/diagnose": {"internal/escape", "internal/par", "internal/kernel/dot16", "mat", "eval",
		"eval/rank", "eval/cluster"},
	"embedding": {"internal/budget", "internal/regular", "internal/atomic", "mat",
		"format/safetensors"},
	"projection":      {"internal/par", "internal/kernel/simd", "mat"},
	"internal/report": {"internal/escape", "internal/atomic"},
	"train": {"internal/yamltext", "internal/budget", "internal/spell", "internal/par",
		"internal/atomic", "internal/lock", "mat", "internal/pair", "mine", "loss", "objective", "sample", "nn",
		"nn/optim", "format/safetensors", "format/torchfile", "data", "data/imaging", "eval", "eval/rank",
		"eval/cluster", "embedding"},
	"internal/progress":         {"train"},
	"internal/report/runs":      {"internal/yamltext", "internal/budget", "internal/report"},
	"internal/report/retrieval": {"data", "data/imaging", "mat", "eval/rank", "internal/report"},
	"internal/report/diagnosed": {"eval/diagnose", "internal/report"},
	"internal/repro/paper": {"internal/par", "internal/atomic", "internal/lock", "embedding", "mat", "train",
		"eval", "eval/rank", "eval/cluster", "eval/diagnose", "internal/repro/theory/noise",
		"internal/repro/theory/isometry", "internal/repro/theory/field", "data", "data/imaging", "nn", "objective",
		"sample", "internal/report", "internal/report/retrieval", "internal/report/diagnosed", "projection"},
	"internal/refdata": {},
	"internal/escape":  {},
	"internal/ctxtest": {},
	"internal/bench":   {"*"},
	"docs/gen":         {"internal/atomic", "internal/bench", "mine", "objective"},
	"cmd/kindred":      {"*"},
	"":                 {},
}

func TestImportLadder(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath+"/", module)
		name = strings.TrimSuffix(name, "/")
		if name == "internal/ladder" || name == "internal/readme" { // tests only
			continue
		}
		seen++
		allowed, ok := ladder[name]
		if !ok {
			t.Errorf("package %q is not in the ladder: add it here and to docs/design/architecture.md", name)
			continue
		}
		for _, imp := range p.Imports {
			dep, ours := strings.CutPrefix(imp, module)
			if !ours || slices.Contains(allowed, "*") {
				continue
			}
			if !slices.Contains(allowed, dep) {
				t.Errorf("%s imports %s, which the ladder does not allow", name, dep)
			}
		}
	}
	if seen < 5 {
		t.Fatalf("only %d packages listed: the check saw nothing", seen)
	}
}
