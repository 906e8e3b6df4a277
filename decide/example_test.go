package decide_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// drawPhotos draws n embeddings of each of some classes.
func drawPhotos(classes, n int) (*matrix.Dense, []int64) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := matrix.New(classes*n, 8)
	var labels []int64
	for c := range classes {
		var centre [8]float64
		for k := range centre {
			centre[k] = rng.NormFloat64()
		}
		for p := range n {
			for k := range centre {
				x.Row(c*n + p)[k] = float32(centre[k] + 0.3*rng.NormFloat64())
			}
			labels = append(labels, int64(c))
		}
	}
	return x, labels
}

func ExampleCalibrate() {
	x, labels := drawPhotos(60, 8)
	c, err := decide.Calibrate(context.Background(), x, labels, decide.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := c.Threshold(1e-3)
	fmt.Printf("the same up to %.2f: %.0f %% of the same pairs, false matches at most %g\n", t.Distance,
		100*t.TrueMatch, t.Rate)
	_, err = c.Threshold(1e-5)
	fmt.Println(err)
	// Output:
	// the same up to 0.93: 21 % of the same pairs, false matches at most 0.001
	// a false-match rate of 1e-05 cannot be promised from 60 classes: 246 are needed; 60 can promise 0.00017 at best
}

func ExampleCalibration_Decider() {
	x, labels := drawPhotos(60, 8)
	c, err := decide.Calibrate(context.Background(), x, labels, decide.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	// A gallery of two cups and a pot, and another photo of the first cup.
	items := matrix.FromSlice(3, 8, []float32{
		2, 0, 0, 0, 1, 0, 0, 0,
		2, 0.5, 0, 0, 1, 0, 0, 0,
		-1, 0, 0, 2, 0, 0, 0, 1})
	g, err := decide.MeasureGallery(context.Background(), c, items, []string{"cup", "cup", "pot"}, eval.Euclidean)
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := c.Decider(g, decide.IdentifyOptions{Coverage: 0.9})
	if err != nil {
		fmt.Println(err)
		return
	}
	got, err := d.Decide([]decide.Photo{{Vector: []float32{2, 0, 0.3, 0, 1, 0.5, 0, 0}, Neighbours: []decide.Neighbour{
		{Label: "cup", Distance: 0.58}, {Label: "cup", Distance: 0.77}, {Label: "pot", Distance: 3.9}}}})
	fmt.Printf("%s, %.2f, unknown: %v, one of %v, %v\n", got.Label, got.Probability, got.Unknown, got.Set, err)
	// Output: cup, 1.00, unknown: false, one of [cup], <nil>
}
