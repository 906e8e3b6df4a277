package explain

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/objective"
)

// newSquare are two classes of two points on a line.
func newSquare() *Batch {
	return &Batch{X: matrix.FromSlice(4, 1, []float32{0, 1, 3, 5}), Batch: objective.Batch{Labels: []int64{7, 7, 9, 9}},
		From: "E.npy"}
}

// runStep is the report of what is wanted on a batch.
func runStep(t *testing.T, w *LossSettings, b *Batch) (*Report, *matrix.Dense, error) {
	t.Helper()
	o, err := w.Options()
	if err != nil {
		t.Fatal(err)
	}
	if err := NumberLabels(&o, b); err != nil {
		return nil, nil, err
	}
	obj, err := objective.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return w.Step(t.Context(), obj, &o, b)
}

// TestStep: value, counts and gradient of one triplet, worked out by hand. Of (0, 1, 3) by squared
// distance with margin 10 the value is 1 - 9 + 10 = 2, and the gradient 2(n-p), 2(p-a), 2(a-n).
func TestStep(t *testing.T) {
	w := &LossSettings{Loss: "triplet", Set: []string{" loss.margin = 10", "normalize=false", "distance=squared"}}
	b := newSquare()
	b.Triplets, b.From = [][3]int32{{0, 1, 2}}, "T.npy"
	r, grad, err := runStep(t, w, b)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(r.Value-2) > 1e-6 || r.Tuples != 1 || r.Active != 1 || r.N != 4 || r.Dim != 1 || r.Normalized ||
		r.Loss != "triplet" {
		t.Errorf("%+v", r)
	}
	for i, want := range []float32{4, 2, -6, 0} {
		if grad.Data[i] != want {
			t.Errorf("the gradient of row %d is %g, want %g", i, grad.Data[i], want)
		}
	}
	if want := math.Sqrt(16 + 4 + 36); math.Abs(r.GradNorm-want) > 1e-6 {
		t.Errorf("norm %g, want %g", r.GradNorm, want)
	}
	b.Triplets = [][3]int32{{0, 1, 4}}
	if _, _, err := runStep(t, w, b); err == nil || !strings.HasPrefix(err.Error(), "T.npy: ") {
		t.Errorf("a row that is not there: %v", err)
	}
}

// TestProxies: proxies of a file are those that the loss compares with, and labels of any numbers are
// numbered for them.
func TestProxies(t *testing.T) {
	w := &LossSettings{Loss: "proxynca"}
	o, err := w.Options()
	if err != nil {
		t.Fatal(err)
	}
	values := func(of ...float32) *Batch {
		b := newSquare()
		b.X = matrix.FromSlice(4, 2, []float32{1, 0, 1, 0.1, 0, 1, 0.1, 1})
		if b.Proxies, err = SelectProxies(&embedding.Table{X: matrix.FromSlice(2, 2, of)}, "P.npy", &o, 2); err != nil {
			t.Fatal(err)
		}
		return b
	}
	near, _, err := runStep(t, w, values(1, 0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	far, _, err := runStep(t, w, values(0, 1, 1, 0))
	if err != nil {
		t.Fatal(err)
	}
	if !(near.Value < far.Value) || len(near.Params) == 0 || !near.Normalized {
		t.Errorf("with each class at its proxy %+v, at the other's %+v", near, far)
	}
	for name, c := range map[string]struct {
		loss string
		x    *matrix.Dense
		want string
	}{
		"none":      {"triplet", matrix.FromSlice(2, 2, make([]float32, 4)), "no proxies"},
		"narrow":    {"proxynca", matrix.FromSlice(2, 1, make([]float32, 2)), "2 numbers"},
		"empty":     {"proxynca", matrix.New(0, 2), "2 numbers"},
		"no matrix": {"proxynca", nil, "2 numbers"},
	} {
		o, err := (&LossSettings{Loss: c.loss}).Options()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := SelectProxies(&embedding.Table{X: c.x}, "P.npy", &o, 2); err == nil ||
			!strings.HasPrefix(err.Error(), "P.npy: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	one := values(1, 0, 0, 1)
	one.Proxies = one.Proxies.RowRange(0, 1)
	if err := NumberLabels(&o, one); err == nil {
		t.Error("two classes for one proxy")
	}
}

// TestOptions: what is wrong with a setting is said of it.
func TestOptions(t *testing.T) {
	for set, want := range map[string]string{"margin": "key=value", "magin=1": `"margin"`, "margin=wide": "number"} {
		w := &LossSettings{Loss: "triplet", Set: []string{set}}
		if _, err := w.Options(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", set, err)
		}
	}
	w := &LossSettings{Loss: "triplet", Positives: "easy", Negatives: "semihard", Seed: 5}
	o, err := w.Options()
	if err != nil || o.Mine.Positives.String() != "easy" || o.Mine.Negatives.String() != "semihard" ||
		o.Seed != 5 || o.Mine.Seed != 5 || !o.Normalize {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestTriplets: numbers beyond int32 stay out of any batch, and other shapes are refused.
func TestTriplets(t *testing.T) {
	dir := t.TempDir()
	write := func(name, header string, data string) string {
		path := filepath.Join(dir, name)
		header += strings.Repeat(" ", 117-len(header)) + "\n"
		text := "\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), 0}) + header + data
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long := write("long.npy", "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 3), }",
		"\x01\x00\x00\x00\x00\x00\x00\x00"+"\x00\x00\x00\x00\x01\x00\x00\x00"+"\xfe\xff\xff\xff\xff\xff\xff\xff")
	got, err := ReadTriplets(long)
	if err != nil || len(got) != 1 || got[0] != [3]int32{1, math.MaxInt32, -1} {
		t.Errorf("%v, %v", got, err)
	}
	pairs := write("pairs.npy", "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2), }",
		strings.Repeat("\x00", 16))
	floats := write("floats.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }",
		strings.Repeat("\x00", 12))
	for _, path := range []string{pairs, floats} {
		if _, err := ReadTriplets(path); err == nil || !strings.Contains(err.Error(), "(n, 3)") {
			t.Errorf("%s: %v", path, err)
		}
	}
	empty := write("empty.npy", "{'descr': '<i8', 'fortran_order': False, 'shape': (0, 3), }", "")
	if got, err := ReadTriplets(empty); err != nil || got == nil {
		t.Errorf("no triplets are %v, %v, which would be mined", got, err)
	}
}

func TestWrite(t *testing.T) {
	r := Report{Loss: "margin", N: 3, Dim: 2, Value: 0.5, Tuples: 4, Active: 2, GradNorm: 1.25,
		Params: map[string]float64{"beta": 2, "alpha": 1}}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.HasPrefix(text, "margin on 3 embeddings of 2 numbers\nvalue       0.5\n") ||
		!strings.HasSuffix(text, "gradient    norm 1.25\nalpha       gradient norm 1\nbeta        gradient norm 2\n") {
		t.Errorf("%q", text)
	}
}
