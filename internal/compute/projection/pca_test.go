package projection

import (
	"context"
	"math"
	"strings"
	"testing"

	gonum "gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/kindred-ml/kindred/matrix"
)

func TestPCAAgainstSVD(t *testing.T) {
	for _, shape := range [][2]int{{200, 12}, {12, 40}, {30, 30}} {
		n, d := shape[0], shape[1]
		x := drawBlobs(n, d, 4, 11)
		const k = 5
		got, err := PCA(context.Background(), x, k)
		if err != nil {
			t.Fatal(err)
		}
		a := gonum.NewDense(n, d, nil)
		for i := range n {
			for j := range d {
				a.Set(i, j, float64(x.At(i, j)))
			}
		}
		var pc stat.PC
		if !pc.PrincipalComponents(a, nil) {
			t.Fatal("reference failed")
		}
		var vec, scores gonum.Dense
		pc.VectorsTo(&vec)
		for j := range d {
			mean := 0.0
			for i := range n {
				mean += a.At(i, j) / float64(n)
			}
			for i := range n {
				a.Set(i, j, a.At(i, j)-mean)
			}
		}
		scores.Mul(a, &vec)
		vars := pc.VarsTo(nil)
		total := 0.0
		for _, v := range vars {
			total += v
		}
		for j := range k {
			if want := vars[j] / total; math.Abs(got.Explained[j]-want) > 1e-5 {
				t.Errorf("%v: component %d explains %g, want %g", shape, j, got.Explained[j], want)
			}
			sign := 1.0
			if float64(got.Scores.At(0, j))*scores.At(0, j) < 0 {
				sign = -1
			}
			for i := range n {
				if g, w := float64(got.Scores.At(i, j)), sign*scores.At(i, j); math.Abs(g-w) > 2e-3*math.Sqrt(vars[j]) {
					t.Fatalf("%v: score %d,%d = %g, want %g", shape, i, j, g, w)
				}
			}
		}
	}
}

func TestPCADegenerate(t *testing.T) {
	c, err := PCA(context.Background(), matrix.New(4, 3), 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range c.Scores.Data {
		if v != 0 {
			t.Errorf("equal rows have score %g", v)
		}
	}
	line := matrix.New(6, 3)
	for i := range 6 {
		line.Row(i)[1] = float32(i)
	}
	if c, err = PCA(context.Background(), line, 5); err != nil {
		t.Fatal(err)
	}
	if math.Abs(c.Explained[0]-1) > 1e-6 || c.Explained[1] != 0 || c.Scores.At(0, 4) != 0 {
		t.Errorf("rank 1: explained %v", c.Explained)
	}
	if d := c.Scores.At(5, 0) - c.Scores.At(0, 0); math.Abs(math.Abs(float64(d))-5) > 1e-4 {
		t.Errorf("ends of the line are %g apart", d)
	}
	for want, x := range map[string]*matrix.Dense{"no rows": matrix.New(0, 2),
		"NaN": matrix.FromSlice(1, 1, []float32{float32(math.NaN())})} {
		if _, err := PCA(context.Background(), x, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := PCA(context.Background(), line, 0); err == nil {
		t.Error("0 components accepted")
	}
}
