package projection

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/matrix"
)

// Method is the way in which t-SNE computes the repulsion between points.
type Method int

const (
	// Auto is Exact up to 2000 rows and Field above that.
	Auto Method = iota
	// Exact uses all pairs, for the affinities too: time and memory grow with n^2.
	Exact
	// Field uses the 3 x perplexity nearest neighbours and a field on a grid.
	Field
)

var methodNames = enum.New[Method]("Method", "method of t-SNE", "auto", "exact", "field")

func (m Method) String() string { return methodNames.Name(m) }

// MarshalText returns the method's name: auto, exact or field.
func (m Method) MarshalText() ([]byte, error) { return methodNames.Marshal(m) }

// UnmarshalText reads a name.
func (m *Method) UnmarshalText(text []byte) error { return methodNames.Unmarshal(m, text) }

const maxExactRows = 2000

// TSNE holds the settings of a t-SNE map (van der Maaten and Hinton, 2008). The
// zero value means the stated defaults.
type TSNE struct {
	// Perplexity is the effective number of neighbours; default 30, or (n-1)/3 if
	// that is less. It must be less than the number of rows.
	Perplexity float64
	// Iterations is the number of all iterations; default 1000. The first Early of them (default 250)
	// multiply the affinities by Exaggeration (default 12).
	Iterations, EarlyIterations int
	Exaggeration                float64
	// LearningRate is max(n / 48, 50) by default (Belkina et al., 2019).
	LearningRate float64
	Method       Method
	// Seed of the small random offsets that separate equal rows: the map starts
	// from the principal components plus these offsets.
	Seed uint64
	// Progress, if set, is called after every tenth iteration.
	Progress func(done, total int)
}

// Map is a set of points in the plane, one for each row of the input.
type Map struct {
	X, Y []float64
	// NumPlaced is the number of rows that t-SNE itself placed: all rows, except in a map of Sampled.
	NumPlaced int
	// KL is the Kullback-Leibler divergence of the map's similarities from the affinities, in nats.
	// Perplexity is the perplexity of the affinities.
	KL, Perplexity float64
	Iterations     int
	Method         Method
}

func (c TSNE) withDefaults(n int) (TSNE, error) {
	if c.Perplexity == 0 {
		c.Perplexity = max(1, min(30, float64(n-1)/3))
	} else if n > 1 && !(c.Perplexity >= 1 && c.Perplexity < float64(n)) {
		return c, fmt.Errorf("perplexity %g with %d rows: must be at least 1 and less than the number of "+
			"rows (about a third of it at most is sensible)", c.Perplexity, n)
	}
	c.Iterations = cmp.Or(c.Iterations, 1000)
	c.EarlyIterations = cmp.Or(c.EarlyIterations, min(250, c.Iterations/4))
	c.Exaggeration = cmp.Or(c.Exaggeration, 12)
	if c.LearningRate == 0 {
		c.LearningRate = max(float64(n)/48, 50)
	}
	if c.Iterations < 0 || c.EarlyIterations < 0 || !(c.Exaggeration >= 1) || !(c.LearningRate > 0) {
		return c, fmt.Errorf("t-SNE with %d iterations, %d of them early, exaggeration %g, learning rate "+
			"%g", c.Iterations, c.EarlyIterations, c.Exaggeration, c.LearningRate)
	}
	if c.Method == Auto {
		c.Method = Field
		if n <= maxExactRows {
			c.Method = Exact
		}
	}
	if _, err := c.Method.MarshalText(); err != nil {
		return c, fmt.Errorf("unknown t-SNE method %d", int(c.Method))
	}
	return c, nil
}

// Run places the rows of x. It minimises KL(P || Q) by gradient descent with
// momentum (0.5, later 0.8) and per-coordinate gains, from the first two
// principal components scaled to a standard deviation of 1e-4.
//
// A single row is placed at the origin. Equal rows end up near each other. Rows that are more than a thousand
// times as far out as the median row count as a thousand times as far. It returns an error for no rows, values
// that are not finite, a perplexity that n rows cannot have and settings out of range, and ctx.Err(), wrapped,
// once ctx is done. Every loop over rows or iterations checks ctx.
func (c TSNE) Run(ctx context.Context, x *matrix.Dense) (*Map, error) {
	if err := checkRows(x); err != nil {
		return nil, err
	}
	n := x.Rows
	c, err := c.withDefaults(n)
	if err != nil {
		return nil, err
	}
	out := &Map{X: make([]float64, n), Y: make([]float64, n), NumPlaced: n, Perplexity: c.Perplexity,
		Iterations: c.Iterations, Method: c.Method}
	if n == 1 {
		return out, nil
	}
	if err := c.placeRows(ctx, pullInOutliers(x), out); err != nil {
		return nil, fmt.Errorf("placing %d rows: %w", n, err)
	}
	return out, nil
}

// placeRows fills in the map of at least two rows.
func (c TSNE) placeRows(ctx context.Context, x *matrix.Dense, out *Map) error {
	n := x.Rows
	k := n - 1
	if c.Method == Field {
		k = min(k, int(3*c.Perplexity)+1)
	}
	nb, err := findNeighbours(ctx, x, k)
	if err != nil {
		return fmt.Errorf("the %d nearest of %d rows: %w", k, n, err)
	}
	d := &descent{}
	if d.affinities, err = computeAffinities(ctx, nb, n, c.Perplexity); err != nil {
		return fmt.Errorf("the affinities of %d rows: %w", n, err)
	}
	if d.y, err = c.initialPoints(ctx, x); err != nil {
		return err
	}
	d.repulsion = &exactRepulsion{}
	if c.Method == Field {
		d.repulsion = &adaptiveRepulsion{}
	}
	if err := d.run(ctx, c); err != nil {
		return err
	}
	for i := range n {
		out.X[i], out.Y[i] = d.y[2*i], d.y[2*i+1]
	}
	z, err := normaliser(ctx, d.y)
	if err != nil {
		return fmt.Errorf("the divergence of a map of %d rows: %w", n, err)
	}
	out.KL = d.affinities.divergence(d.y, z)
	if math.IsNaN(out.KL) || math.IsInf(out.KL, 0) {
		return fmt.Errorf("the map diverged; lower the learning rate from %g", c.LearningRate)
	}
	return nil
}

// initialPoints returns the map before the first step.
func (c TSNE) initialPoints(ctx context.Context, x *matrix.Dense) (points, error) {
	pca, err := computePCA(ctx, x, 2)
	if err != nil {
		return nil, fmt.Errorf("the start of a map of %d rows: %w", x.Rows, err)
	}
	n := x.Rows
	ss := 0.0
	for i := range n {
		v := float64(pca.Scores.Row(i)[0])
		ss += v * v
	}
	scale := 0.0
	if ss > 0 {
		scale = 1e-4 / math.Sqrt(ss/float64(n))
	}
	rng := rand.New(rand.NewPCG(c.Seed, 0x7453_4e45))
	y := make(points, 2*n)
	for i := range y {
		y[i] = scale*float64(pca.Scores.Row(i / 2)[i%2]) + 1e-6*rng.NormFloat64()
	}
	return y, nil
}

// descent is the state of the minimisation.
type descent struct {
	affinities            *affinities
	repulsion             repulsion
	y                     points
	attraction, repelling points
	velocity, gains       points
}

// gradient writes dKL/dy into d.attr, with the affinities multiplied by
// exaggeration, and returns Z. Its only error is that of ctx.
func (d *descent) gradient(ctx context.Context, exaggeration float64) (float64, error) {
	if d.attraction == nil {
		d.attraction, d.repelling = make(points, len(d.y)), make(points, len(d.y))
	}
	z, err := d.repulsion.repel(ctx, d.y, d.repelling)
	if err != nil {
		return 0, err
	}
	d.affinities.attract(d.y, d.attraction)
	for i := range d.attraction {
		d.attraction[i] = 4 * (exaggeration*d.attraction[i] - d.repelling[i]/z)
	}
	return z, nil
}

func (d *descent) run(ctx context.Context, c TSNE) error {
	d.velocity, d.gains = make(points, len(d.y)), make(points, len(d.y))
	for i := range d.gains {
		d.gains[i] = 1
	}
	for it := range c.Iterations {
		exaggeration, momentum := 1.0, 0.8
		if it < c.EarlyIterations {
			exaggeration, momentum = c.Exaggeration, 0.5
		}
		z, err := d.gradient(ctx, exaggeration)
		if err != nil {
			return fmt.Errorf("iteration %d of %d of a map of %d rows: %w", it+1, c.Iterations, d.y.len(), err)
		}
		if math.IsNaN(z) || z <= 0 {
			return fmt.Errorf("the map diverged at iteration %d; lower the learning rate from %g", it, c.LearningRate)
		}
		d.step(c.LearningRate, momentum)
		if c.Progress != nil && ((it+1)%10 == 0 || it+1 == c.Iterations) {
			c.Progress(it+1, c.Iterations)
		}
	}
	return nil
}

// step moves the points against the gradient. A coordinate's gain grows while
// it keeps its direction and shrinks when it turns.
func (d *descent) step(rate, momentum float64) {
	var mean [2]float64
	for i, g := range d.attraction {
		if (g > 0) == (d.velocity[i] > 0) {
			d.gains[i] = max(d.gains[i]*0.8, 0.01)
		} else {
			d.gains[i] += 0.2
		}
		d.velocity[i] = momentum*d.velocity[i] - rate*d.gains[i]*g
		d.y[i] += d.velocity[i]
		mean[i%2] += d.y[i]
	}
	n := float64(d.y.len())
	for i := range d.y {
		d.y[i] -= mean[i%2] / n
	}
}
