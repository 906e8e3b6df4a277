package projection_test

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/internal/compute/projection"
	"github.com/kindred-ml/kindred/matrix"
)

// Two groups of ten rows each, far apart in five dimensions.
func groups() *matrix.Dense {
	x := matrix.New(20, 5)
	for i := range x.Rows {
		for j := range x.Cols {
			x.Row(i)[j] = float32((i*7+j*3)%10)/10 + float32(i/10*50)
		}
	}
	return x
}

func ExampleTSNE() {
	m, err := projection.TSNE{Perplexity: 5, Seed: 1}.Run(context.Background(), groups())
	if err != nil {
		panic(err)
	}
	apart := true
	for i := range 10 { // every row of a group is nearer to another of it than to any of the other
		own, other := 1e9, 1e9
		for j := range 20 {
			d := (m.X[i]-m.X[j])*(m.X[i]-m.X[j]) + (m.Y[i]-m.Y[j])*(m.Y[i]-m.Y[j])
			if j < 10 && j != i {
				own = min(own, d)
			} else if j >= 10 {
				other = min(other, d)
			}
		}
		apart = apart && own < other
	}
	fmt.Printf("%d points by the %v method, groups apart: %t\n", len(m.X), m.Method, apart)
	// Output: 20 points by the exact method, groups apart: true
}

func ExamplePCA() {
	c, err := projection.PCA(context.Background(), groups(), 2)
	if err != nil {
		panic(err)
	}
	fmt.Printf("component 1 explains %.1f %% of the variance\n", 100*c.Explained[0])
	fmt.Printf("row 0 at %.0f, row 19 at %.0f\n", c.Scores.At(0, 0), c.Scores.At(19, 0))
	// Output:
	// component 1 explains 100.0 % of the variance
	// row 0 at 56, row 19 at -56
}
