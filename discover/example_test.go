package discover_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/discover"
	"github.com/kindred-ml/kindred/matrix"
)

// Items that are labelled "bird" and "fish"; the birds are of three kinds, which
// nobody named.
func Example() {
	rng := rand.New(rand.NewPCG(1, 2))
	x, labels := matrix.New(120, 8), make([]int64, 120)
	for i := range x.Rows {
		kind := i % 3
		if i >= 60 {
			labels[i], kind = 1, 3
		}
		for j := range x.Cols {
			x.Row(i)[j] = float32(rng.NormFloat64())
		}
		x.Row(i)[kind] += 12
	}
	names := []string{"bird", "fish"}
	res, err := discover.Find(context.Background(), x, labels, discover.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range res.Classes {
		fmt.Printf("%s: %d kinds\n", names[c.Label], len(c.SubClasses))
	}
	fmt.Println("kinds of the first birds:", res.SubClassOf[:6])
	// Output:
	// bird: 3 kinds
	// fish: 1 kinds
	// kinds of the first birds: [0 1 2 0 1 2]
}
