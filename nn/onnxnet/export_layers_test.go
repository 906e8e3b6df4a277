package onnxnet

import (
	"testing"

	"github.com/kindred-ml/kindred/internal/testing/netcases"
	"github.com/kindred-ml/kindred/nn"
)

// TestEveryKindIsWritten: Export writes every kind of layer wherever it may stand, as a
// model whose shapes agree.
func TestEveryKindIsWritten(t *testing.T) {
	for _, k := range nn.Kinds() {
		if writers[k] == nil && k != nn.Sequential {
			t.Errorf("%s is not written", k)
		}
	}
	for name, spec := range netcases.Layers() {
		net, err := nn.New(spec, nn.Options{Seed: 5})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := Export(net, Preparation{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
