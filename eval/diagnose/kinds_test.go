package diagnose_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval/diagnose"
	"github.com/kindred-ml/kindred/mat"
)

// classesOf draws rows of 30 normal numbers for each of classes, around as many
// centres a class as kinds says.
func classesOf(rng *rand.Rand, classes, rows, kinds int) (*mat.Dense, []int64) {
	x := mat.New(classes*rows, 30)
	var y []int64
	centres := make([]float32, classes*kinds*x.Cols)
	for i := range centres {
		centres[i] = float32(3 * rng.NormFloat64())
	}
	for i := range x.Rows {
		c := i / rows
		at := centres[(c*kinds+i%kinds)*x.Cols:]
		for j := range x.Row(i) {
			x.Row(i)[j] = at[j] + float32(rng.NormFloat64())
		}
		y = append(y, int64(10*c))
	}
	return x, y
}

// TestCountKinds: classes around one centre are of one kind, around two of several.
func TestCountKinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, c := range []struct {
		classes, rows, kinds int
		coarse               bool
	}{
		{20, 30, 1, false}, {60, 12, 1, false}, {20, 30, 2, true}, {3, 40, 2, true}, {2, 200, 3, true},
	} {
		x, y := classesOf(rng, c.classes, c.rows, c.kinds)
		k, err := diagnose.CountKinds(context.Background(), x, y, diagnose.KindsOptions{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if k.Coarse() != c.coarse || k.Tested != min(c.classes, 40) {
			t.Errorf("%+v: %+v, %v", c, *k, k)
		}
		if c.coarse && (k.Several != c.classes || !strings.Contains(k.String(), "classes fall into several kinds")) {
			t.Errorf("%+v: %v", c, k)
		}
	}
}

// TestCountKindsChance: at 5 % each, 1 of 2 classes is chance no more than 1 of 10.
func TestCountKindsChance(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	one, _ := classesOf(rng, 9, 30, 1)
	two, _ := classesOf(rng, 1, 30, 2)
	x := mat.New(300, 30)
	copy(x.Data, one.Data)
	copy(x.Data[len(one.Data):], two.Data)
	y := make([]int64, 300)
	for i := range y {
		y[i] = int64(i / 30)
	}
	k, err := diagnose.CountKinds(context.Background(), x, y, diagnose.KindsOptions{Seed: 3})
	if err != nil || k.Several != 1 || k.Coarse() {
		t.Fatalf("%+v, %v", k, err)
	}
	if want := 1 - math.Pow(0.95, 10); math.Abs(k.P-want) > 1e-9 {
		t.Errorf("P of 1 in 10 is %v, want %v", k.P, want)
	}
}

func TestCountKindsDegenerate(t *testing.T) {
	ctx := context.Background()
	x, y := classesOf(rand.New(rand.NewPCG(1, 1)), 5, 7, 2)
	k, err := diagnose.CountKinds(ctx, x, y, diagnose.KindsOptions{})
	if err != nil || k.Tested != 0 || k.Coarse() || k.P != 1 || !strings.Contains(k.String(), "no class") {
		t.Errorf("classes of 7: %+v, %v", k, err)
	}
	if k, err = diagnose.CountKinds(ctx, mat.New(0, 3), nil, diagnose.KindsOptions{}); err != nil || k.Tested != 0 {
		t.Errorf("no rows: %+v, %v", k, err)
	}
	if _, err = diagnose.CountKinds(ctx, x, y[1:], diagnose.KindsOptions{}); err == nil {
		t.Error("a label short is no error")
	}
	if _, err = diagnose.CountKinds(ctx, x, y, diagnose.KindsOptions{Rows: 7}); err == nil {
		t.Error("classes of at most 7 rows are no error")
	}
	x, y = classesOf(rand.New(rand.NewPCG(1, 1)), 2, 20, 1)
	x.Data[3] = float32(math.NaN())
	if _, err = diagnose.CountKinds(ctx, x, y, diagnose.KindsOptions{}); err == nil ||
		!strings.Contains(err.Error(), "class 0") {
		t.Errorf("NaN: %v", err)
	}
}
