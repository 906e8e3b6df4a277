package bench

import (
	"fmt"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/matrix"
)

// productSizes are the timed matrix products: large square ones, and tall narrow ones
// such as those of convolutions.
var productSizes = [][3]int{{2048, 2048, 2048}, {4096, 4096, 4096}, {70000, 288, 64}, {44800, 576, 64}}

func gemmCases() []Case {
	var cases []Case
	for _, s := range productSizes {
		m, k, n := s[0], s[1], s[2]
		cases = append(cases, Case{
			Name:  fmt.Sprintf("gemm-%dx%dx%d", m, k, n),
			About: fmt.Sprintf("matrix product, %d x %d times %d x %d", m, k, k, n),
			Items: 1,
			Setup: func() (func() error, float64, error) {
				a, b, c := normalMatrix(m, k, 1), normalMatrix(k, n, 2), matrix.New(m, n)
				work := func() error { matrix.Gemm(false, false, 1, a, b, 0, c); return nil }
				return work, 2 * float64(m) * float64(k) * float64(n), nil
			},
		})
	}
	return cases
}

// normalMatrix returns an r x c matrix of standard normal values.
func normalMatrix(r, c int, seed uint64) *matrix.Dense {
	rng := rand.New(rand.NewPCG(seed, 0))
	m := matrix.New(r, c)
	for i := range m.Data {
		m.Data[i] = float32(rng.NormFloat64())
	}
	return m
}
