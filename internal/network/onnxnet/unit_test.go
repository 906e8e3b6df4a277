package onnxnet

import (
	"fmt"
	"testing"

	"github.com/kindred-ml/kindred/nn"
)

// TestNormsOfFewChannels: what is divided by its length is told from a layer norm, however
// few its numbers: the layer norm of two is a pair of signs, which anything fits.
func TestNormsOfFewChannels(t *testing.T) {
	for c := 2; c <= 12; c++ {
		for seed := range uint64(4) {
			for _, last := range []nn.Layer{{Kind: nn.L2Normalize}, {Kind: nn.LayerNorm, Name: "n"}} {
				spec := &nn.Spec{Name: "few", Input: nn.Shape{H: 5, W: 5, C: 3}, Layers: []nn.Layer{
					{Kind: nn.Flatten}, {Kind: nn.Dense, Name: "d", Out: c}, last}}
				net, err := nn.New(spec, nn.Options{Seed: seed})
				if err == nil {
					err = trained(net)
				}
				if err != nil {
					t.Fatal(err)
				}
				given := &Network{Spec: spec, Weights: net.State()}
				back, err := Import(written(t, spec, net.State(), Preparation{}), Options{})
				if err != nil {
					t.Errorf("%s of %d: %v", last.Kind, c, err)
					continue
				}
				x := images(spec.Input, 3, seed)
				near(t, fmt.Sprintf("%s of %d", last.Kind, c), "", byLoops(back, x), byLoops(given, x))
				if k := back.Spec.Layers; k[len(k)-1].Kind != last.Kind {
					t.Errorf("%s of %d is read as %s", last.Kind, c, k[len(k)-1].Kind)
				}
			}
		}
	}
}
