package eval_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// Two classes of two kinds each. Trained with the classes alone, one embedding has
// drawn each of them to a point, the other has kept the kinds apart.
func ExampleDiagnose() {
	classes, kinds := make([]int64, 80), make([]int64, 80)
	collapsed, kept := matrix.New(80, 3), matrix.New(80, 3)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 80 {
		classes[i], kinds[i] = int64(i/40), int64(i/20)
		a, b := float32(rng.NormFloat64()/20), float32(rng.NormFloat64()/20)
		copy(collapsed.Row(i), []float32{float32(classes[i]), a, b})
		copy(kept.Row(i), []float32{float32(classes[i]), float32(i / 20 % 2), a})
	}
	for _, x := range []*matrix.Dense{collapsed, kept} {
		r, err := eval.Diagnose(context.Background(), eval.DiagnosisInput{X: x, Labels: classes, Fine: kinds},
			eval.DiagnosisOptions{})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: Recall@1 %.2f, compactness %.2f, order inside classes %.2f\n", r.Verdict.State, r.Recall,
			r.Compactness, *r.FineGain)
	}
	// Output:
	// collapsed: Recall@1 1.00, compactness 0.10, order inside classes -0.02
	// structured: Recall@1 1.00, compactness 0.59, order inside classes 1.00
}
