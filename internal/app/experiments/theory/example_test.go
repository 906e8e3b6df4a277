package theory_test

import (
	"context"
	"fmt"
	"log"

	"github.com/kindred-ml/kindred/internal/app/experiments/theory/field"
	"github.com/kindred-ml/kindred/internal/app/experiments/theory/isometry"
	"github.com/kindred-ml/kindred/internal/app/experiments/theory/noise"
)

// What the three packages compute.
func Example() {
	ctx := context.Background()
	m, err := noise.Balanced(2, 6, 0.8) // 2 classes of 6 points, labels right 4 times of 5
	if err != nil {
		log.Fatal(err)
	}
	best, err := noise.Minimise(ctx, m, noise.Loss{}, noise.Search{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f %.3f\n", best[0].Value, best[0].Widest()) // expected triplet loss, widest class in margins

	f := isometry.TwoFar(20)
	near, err := isometry.NearestTS(ctx, f, isometry.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(near.Loss, near.Lower, near.Found) // L_HN, and d_iso(f, TS) between two bounds

	dap, dan := field.Change(field.SecondOrder(), field.Config{Gamma: 0.5, Entangle: 0.4}, 0.9, 0.9)
	fmt.Printf("%.3f %.3f\n", dap, dan) // change of S_ap and S_an in a step
	// Output:
	// 0.122 0.000
	// 1 1.5 1.5
	// -0.009 -0.018
}
