package objective

import (
	"context"
	"math"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// FuzzStep makes batches, losses and policies of bytes: whatever the batch, a
// step ends in an error or in finite numbers.
func FuzzStep(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8}, uint8(0))
	f.Add([]byte{4, 3, 7, 1, 0, 0, 255, 255, 128, 127}, uint8(9))
	f.Add([]byte{19, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, uint8(200))
	f.Add([]byte{9, 2, 5, 4, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2, 1},
		uint8(77))
	f.Add([]byte{31, 195, 206, 2, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5}, uint8(73))
	f.Fuzz(fuzzStep)
}

func fuzzStep(t *testing.T, data []byte, options uint8) {
	names := LossNames()
	if len(data) < 5 || len(data) > 300 { // all triplets of more take long
		return
	}
	name := names[int(data[0])%len(names)]
	d := 1 + int(data[3])%9
	flat := map[string]any{
		"loss": name, "normalize": options&1 > 0,
		"reduce":    []string{"mean", "mean-active", "sum"}[options>>1%3],
		"positives": PositivePolicyNames()[int(data[1])%len(PositivePolicyNames())],
		"negatives": NegativePolicyNames()[int(data[2])%len(NegativePolicyNames())],
	}
	if data[1] >= 192 {
		flat["positives_from"], flat["positives_to"] = 0.2, 1.3
	}
	if data[2] >= 192 {
		flat["negatives_from"], flat["negatives_to"] = 0.4, 1.6
	}
	if options&8 > 0 {
		flat["distance"] = "euclidean"
	}
	if options&16 > 0 {
		flat["trim"] = 0.3
	}
	if options&32 > 0 {
		flat["memory"] = 5
	}
	if name == "intra-pair-variance" || name == "decorrelate" {
		delete(flat, "reduce")
	}
	if excluding(flat["positives"].(string), flat["negatives"].(string)) {
		flat["negatives"] = "hard"
	}
	o, err := ParseFlat(flat)
	if err != nil {
		t.Fatal(err)
	}
	if checkMining(o.Loss.Traits(), o.Mine) != nil {
		o.Mine.Positives, o.Mine.Negatives = AllPositives, AllNegatives
	}
	o.Classes, o.Dim = 3, d
	obj, err := New(o)
	if err != nil {
		return // options that do not go together
	}
	data = data[4:]
	n := len(data) / d
	e, labels := matrix.New(n, d), make([]int64, n)
	scale := float32(math.Pow(10, float64(int(options>>5)*4-8)))
	for i := range n {
		labels[i] = int64(data[i*d]) % 3
		for k := range d {
			e.Row(i)[k] = (float32(data[i*d+k]) - 100) * scale
		}
	}
	for range 2 {
		grad := matrix.New(n, d)
		r, err := obj.Step(context.Background(), e, Batch{Labels: labels}, grad)
		if err != nil {
			return
		}
		if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) || r.Active > r.Tuples || r.Anchors > max(n, 3) {
			t.Fatalf("%v: %+v", flat, r)
		}
		for k, g := range grad.Data {
			if f := float64(g); math.IsNaN(f) || math.IsInf(f, 0) {
				t.Fatalf("%v: gradient %d is %v", flat, k, g)
			}
		}
	}
}
