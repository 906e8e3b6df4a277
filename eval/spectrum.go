package eval

import (
	"context"
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/mat"

	"github.com/kindred-ml/kindred/matrix"
)

// DiagnosisSpectrum describes the singular values of centred rows divided by the square root of the number of
// rows, which are the standard deviations along the principal axes.
type DiagnosisSpectrum struct {
	Values []float64 `json:"values"` // descending
	// EffectiveRank is exp of the entropy of the values' shares (Roy and Vetterli 2007). It is d if
	// all values are equal, 1 if only one value is not 0, and 0 if all are 0.
	EffectiveRank float64 `json:"effective_rank"`
	// Axes90 is the number of axes that account for 90 % of the variance.
	Axes90 int `json:"axes_90"`
	// Decay is the slope of -ln(value) against the rank by least squares, over the values above a
	// thousandth of the largest. It shows how steeply the values fall.
	Decay float64 `json:"decay"`
}

// spectrum computes the spectrum from the smaller of the covariance and the Gram matrix. Its only error
// is that of ctx.
func spectrum(ctx context.Context, x *matrix.Dense) (DiagnosisSpectrum, error) {
	n, d := x.Rows, x.Cols
	if n < 2 {
		return DiagnosisSpectrum{}, nil
	}
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	mean, variance := classMoments(x, rows)
	if variance == 0 {
		return DiagnosisSpectrum{Values: make([]float64, min(n, d))}, nil
	}
	spread := math.Sqrt(variance)
	c := copyRows(x, rows, mean, 1/spread)
	k := min(n, d)
	g := matrix.New(k, k)
	if err := matrix.GemmContext(ctx, d <= n, d > n, 1/float32(n), c, c, 0, g); err != nil {
		return DiagnosisSpectrum{}, err
	}
	sym := gonum.NewSymDense(k, nil)
	for i := range k {
		for j := i; j < k; j++ {
			sym.SetSym(i, j, float64(g.At(i, j)))
		}
	}
	values, err := eigenvalues(ctx, sym)
	if err != nil {
		return DiagnosisSpectrum{}, err
	}
	if values == nil {
		return DiagnosisSpectrum{}, nil
	}
	s := DiagnosisSpectrum{Values: values}
	slices.Reverse(s.Values)
	var total, held float64
	for i, v := range s.Values {
		s.Values[i] = safeSqrt(v) * spread
		total += s.Values[i]
	}
	all := 0.0
	for _, v := range s.Values {
		all += v * v
	}
	var entropy float64
	for i, v := range s.Values {
		if p := v / total; p > 0 {
			entropy -= p * math.Log(p)
		}
		if held < 0.9*all {
			held += v * v
			s.Axes90 = i + 1
		}
	}
	s.EffectiveRank = math.Exp(entropy)
	s.Decay = decay(s.Values)
	return s, nil
}

// eigenvalues returns the eigenvalues of m in increasing order, or nil if they are not found. The
// library's routine takes seconds for some thousand dimensions and cannot be stopped. Once ctx is done,
// it continues in the background and its result is dropped.
func eigenvalues(ctx context.Context, m *gonum.SymDense) ([]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	found := make(chan []float64, 1)
	go func() {
		var eigen gonum.EigenSym
		if !eigen.Factorize(m, false) {
			found <- nil
			return
		}
		found <- eigen.Values(nil)
	}()
	select {
	case values := <-found:
		return values, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func decay(values []float64) float64 {
	var n, sx, sy, sxx, sxy float64
	for i, v := range values {
		if v < values[0]/1000 {
			break
		}
		x, y := float64(i), -math.Log(v)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if n < 2 {
		return 0
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// alignment returns the mean squared distance of two rows of a class, over all pairs of all classes,
// relative to the spread.
func (s *sample) alignment() float64 {
	var sum, pairs float64
	for _, y := range s.order {
		n := float64(len(s.members[y]))
		if n < 2 {
			continue
		}
		_, v := classMoments(s.x, s.members[y])
		sum += v * n * n // the sum over unordered pairs is n^2 v
		pairs += n * (n - 1) / 2
	}
	return sum / pairs / (s.spread * s.spread)
}

// uniformRows is the largest number of rows whose pairs are used for uniformity.
const uniformRows = 2000

func (s *sample) uniformity(ctx context.Context) (float64, error) {
	x := copyRows(s.x, s.draw(s.allRows(), uniformRows, 3), s.mean, 1/s.spread)
	var sum float64
	for i := range x.Rows {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		for j := range i {
			var d float64
			for c, v := range x.Row(i) {
				e := float64(v - x.Row(j)[c])
				d += e * e
			}
			sum += math.Exp(-2 * d)
		}
	}
	n := float64(x.Rows)
	return math.Log(sum / (n * (n - 1) / 2)), nil
}
