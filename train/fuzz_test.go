package train_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/train"
)

// FuzzConfig makes optimizers of settings in JSON: what is accepted takes steps,
// and its state is restored to the same bytes.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"method":"sgd","momentum":0.9,"nesterov":true}`,
		`{"method":"adamw","weight_decay":-1,"clip_norm":1e-3}`,
		`{"groups":[{"prefix":"fc","scale":10,"no_decay":true}],"schedule":{"kind":"cosine","warmup":1,"total":3}}`,
		`{"schedule":{"kind":"step","every":1,"gamma":0.5}}`,
		`{"schedule":{"kind":"step","milestones":[-5,9223372036854775807],"gamma":0.5}}`,
		`{"method":"sgd","rate":1e308}`, `{"beta1":1}`, `{"eps":-1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var c train.OptimizerConfig
		if json.Unmarshal(text, &c) != nil {
			return
		}
		make1 := func() *train.Optimizer {
			ps := params(1, 3, 2, 4, 1)
			gradients(ps, 2)
			o, err := train.NewOptimizer(c, ps)
			if err != nil {
				return nil
			}
			return o
		}
		o := make1()
		if o == nil {
			return
		}
		for range 3 {
			o.Step()
		}
		restored := make1()
		if err := restored.SetState(o.State()); err != nil {
			t.Fatalf("its own state is refused: %v", err)
		}
		var a, b bytes.Buffer
		if err := o.State().Write(&a); err != nil {
			t.Fatal(err)
		}
		if err := restored.State().Write(&b); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Fatalf("the state changes when restored (%v)", err)
		}
		if restored.Steps() != o.Steps() || restored.Rate() != o.Rate() && o.Rate() == o.Rate() {
			t.Fatalf("step %d at rate %v, then %d at %v", o.Steps(), o.Rate(), restored.Steps(), restored.Rate())
		}
	})
}

// FuzzState restores optimizers from files.
func FuzzState(f *testing.F) {
	for _, c := range []train.OptimizerConfig{{}, {Method: train.SGD, Momentum: 0.5}, {Method: train.AdamW}} {
		ps := params(1, 3, 2, 4, 1)
		gradients(ps, 2)
		o, err := train.NewOptimizer(c, ps)
		if err != nil {
			f.Fatal(err)
		}
		o.Step()
		var b bytes.Buffer
		if err := o.State().Write(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := safetensors.Parse(data)
		if err != nil {
			return
		}
		for _, c := range []train.OptimizerConfig{{}, {Method: train.SGD, Momentum: 0.5}} {
			ps := params(1, 3, 2, 4, 1)
			gradients(ps, 2)
			o, err := train.NewOptimizer(c, ps)
			if err != nil {
				t.Fatal(err)
			}
			if o.SetState(file) != nil {
				continue
			}
			if o.Steps() < 0 {
				t.Fatalf("step %d", o.Steps())
			}
			if n := len(o.State().Tensors); n != len(file.Tensors) {
				t.Fatalf("%d tensors were read as the state of %d", len(file.Tensors), n)
			}
			o.Step()
		}
	})
}
