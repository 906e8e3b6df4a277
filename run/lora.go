package run

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"

	"github.com/kindred-ml/kindred/nn"
)

// adapterNet is a network of which only adapters and the head are trained (network.lora).
//
// Checkpoints hold these alone. What they are added to comes from network.pretrained, or is
// drawn again from train.seed, when a run is resumed; base tells whether it is the same. The
// network that a run saves has the adapters merged, so that nothing else needs to know them.
type adapterNet struct{ *nn.Net }

// Params returns the parameters that training changes.
func (a *adapterNet) Params() []*nn.Param {
	var out []*nn.Param
	for _, p := range a.Net.Params() {
		if p.Grad != nil || p.Buffer {
			out = append(out, p)
		}
	}
	return out
}

// baseDigest is a digest of the other parameters.
func (a *adapterNet) baseDigest() string {
	sum := sha256.New()
	var b []byte
	for _, p := range a.Net.Params() {
		if p.Grad != nil || p.Buffer {
			continue
		}
		sum.Write([]byte(p.Name))
		b = b[:0]
		for _, v := range p.Value {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		sum.Write(b)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// fingerprint identifies the training samples and, of a network with adapters, the weights that
// these are added to.
func (t *trainingStage) fingerprint() string {
	text := fingerprint(t.sel.Train)
	if t.adapterBase != "" {
		text += "+" + t.adapterBase
	}
	return text
}
