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
	"theory":            {},
	"theory/lp":         {},
	"theory/noise":      {"internal/par"},
	"theory/isometry":   {"internal/par", "theory/lp"},
	"theory/show":       {"internal/atomic", "internal/par", "mat", "objective", "embio", "report", "theory/noise", "theory/isometry", "theory/field"},
	"theory/field":      {"internal/par", "mat", "pair", "loss"},
	"internal/par":      {},
	"internal/simd":     {},
	"internal/lock":     {},
	"internal/atomic":   {"internal/lock"},
	"internal/regular":  {},
	"internal/spell":    {},
	"internal/budget":   {},
	"internal/yamltext": {"internal/regular"},
	"internal/scan":     {"internal/simd"},
	"internal/conv":     {"internal/par", "internal/simd"},
	"mat":               {"internal/par", "internal/simd"},
	"pair":              {"internal/par", "internal/scan", "internal/simd", "mat"},
	"mine":              {"internal/par", "internal/scan", "internal/simd", "mat", "pair"},
	"loss":              {"internal/par", "internal/scan", "internal/simd", "mat", "pair"},
	"objective":         {"internal/budget", "internal/spell", "internal/par", "mat", "pair", "mine", "loss"},
	"sample":            {},
	"nn":                {"internal/budget", "internal/regular", "internal/par", "internal/simd", "internal/conv", "internal/atomic", "mat", "nn/safetensors"},
	"nn/optim":          {"internal/par", "internal/simd", "nn", "nn/safetensors"},
	"nn/safetensors":    {"internal/budget", "internal/regular"},
	"nn/torchfile":      {"internal/budget", "internal/regular", "nn/safetensors"},
	"data":              {"internal/budget", "internal/regular", "internal/par", "internal/atomic", "mat", "embio", "data/idx", "data/matfile", "data/imaging", "data/packed"},
	"data/fetch":        {"internal/budget", "internal/regular", "internal/atomic", "data", "data/idx"},
	"data/idx":          {"internal/budget", "internal/regular"},
	"data/imaging":      {"internal/budget", "data/imaging/jpeg", "internal/pix", "internal/simd"},
	"data/imaging/jpeg": {"internal/budget"},
	"data/inspect":      {"internal/budget", "internal/par", "internal/atomic", "data", "data/imaging"},
	"data/matfile":      {"internal/budget"},
	"data/packed":       {"internal/budget", "internal/regular", "internal/atomic"},
	"eval":              {"internal/escape", "internal/budget", "internal/par", "mat", "eval/rank", "eval/cluster"},
	"internal/pix":      {"internal/simd"},
	"internal/dot16":    {"internal/simd"},
	"eval/rank":         {"internal/par", "internal/dot16", "mat"},
	"eval/cluster":      {"internal/par", "internal/dot16", "mat"},
	"eval/diagnose":     {"internal/escape", "internal/par", "internal/dot16", "mat", "eval", "eval/rank", "eval/cluster"},
	"embio":             {"internal/budget", "internal/regular", "internal/atomic", "mat", "nn/safetensors"},
	"project":           {"internal/par", "internal/simd", "mat"},
	"report":            {"internal/escape", "internal/atomic"},
	"train":             {"internal/yamltext", "internal/budget", "internal/spell", "internal/par", "internal/atomic", "internal/lock", "mat", "pair", "mine", "loss", "objective", "sample", "nn", "nn/optim", "nn/safetensors", "nn/torchfile", "data", "data/imaging", "eval", "eval/rank", "eval/cluster", "embio"},
	"train/progress":    {"train"},
	"report/runs":       {"internal/yamltext", "internal/budget", "report"},
	"report/rows":       {"data", "data/imaging", "mat", "eval/rank", "report"},
	"report/diagnosed":  {"eval/diagnose", "report"},
	"paper":             {"internal/par", "internal/atomic", "internal/lock", "embio", "mat", "train", "eval", "eval/rank", "eval/cluster", "eval/diagnose", "theory/noise", "theory/isometry", "theory/field", "data", "data/imaging", "nn", "objective", "sample", "report", "report/rows", "report/diagnosed", "project"},
	"internal/refdata":  {},
	"internal/escape":   {},
	"internal/ctxtest":  {},
	"internal/bench":    {"*"},
	"docs/gen":          {"internal/atomic", "internal/bench", "mine", "objective"},
	"cmd/kindred":       {"*"},
	"":                  {},
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
