package run

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestLight: a program that loads a run and embeds links neither a Parquet library
// nor one that draws, nor what the command is made of.
func TestLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	deps := strings.Fields(string(out))
	for _, heavy := range []string{"github.com/parquet-go/parquet-go", "gonum.org/v1/plot", "github.com/spf13/cobra",
		"github.com/kindred-ml/kindred/internal/page/report", "github.com/kindred-ml/kindred/projection", "net/http",
		"github.com/nats-io", "github.com/minio"} {
		for _, d := range deps {
			if d == heavy || strings.HasPrefix(d, heavy+"/") {
				t.Errorf("package run links %s", d)
			}
		}
	}
	for _, needed := range []string{"github.com/kindred-ml/kindred/train", "github.com/kindred-ml/kindred/nn"} {
		if !slices.Contains(deps, needed) {
			t.Errorf("go list tells of no %s among %d packages", needed, len(deps))
		}
	}
}
