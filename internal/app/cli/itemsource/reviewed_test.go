package itemsource

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
)

// newDataset is a data set of ready features: four classes of five rows, called c0/0 and so on.
func newDataset() *data.Dataset {
	x := matrix.New(20, 2)
	names, labels := make([]string, 20), make([]string, 20)
	for i := range 20 {
		x.Row(i)[0] = float32(i)
		labels[i] = string(rune('a' + i/5))
		names[i] = labels[i] + "/" + string(rune('0'+i%5))
	}
	return &data.Dataset{Name: "rows", Names: names, Features: x, Fine: "label", Train: "label",
		Columns: []data.Column{data.NewColumn("label", labels)}}
}

// TestOfRun: items that could not be read are left out, and those that were keep their labels, names,
// numbers and splits together.
func TestOfRun(t *testing.T) {
	d := newDataset()
	cfg := run.Default()
	cfg.Data.TrainClasses, cfg.Data.TestClasses, cfg.Data.Split = "1-2", "3-4", "classes"
	r, err := FromRun(t.Context(), d, &cfg, "", func(p *data.Part) (*run.Embeddings, error) {
		pos := []int{0, 3, p.Len() - 1}
		x := matrix.New(len(pos), 1)
		for i, at := range pos {
			x.Row(i)[0] = float32(p.Index[at])
		}
		return &run.Embeddings{X: x, Part: p, Pos: pos}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Labels) != 3 || r.X.Rows != 3 || r.Config != &cfg || r.Set != d {
		t.Fatalf("%+v", r)
	}
	for i, want := range []struct{ path, split string }{{"a/0", "train"}, {"a/3", "train"}, {"d/4", "test"}} {
		if r.Name(i) != want.path || r.Splits[i] != want.split || r.Label(i) != want.path[:1] ||
			float32(r.Index[i]) != r.X.Row(i)[0] {
			t.Errorf("item %d: %s of %s in %s, number %d, embedded %v", i, r.Name(i), r.Label(i), r.Splits[i],
				r.Index[i], r.X.Row(i))
		}
	}
	full := errors.New("no")
	_, err = FromRun(t.Context(), d, &cfg, "", func(*data.Part) (*run.Embeddings, error) { return nil, full })
	if !errors.Is(err, full) {
		t.Error(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	cfg.Data.Label = "none such"
	if _, err := FromRun(done, d, &cfg, "", nil); err == nil {
		t.Error("a label that is not there")
	}
}

// TestOfTable: the column is coarse if there is one, unless another is asked for; splits are those of
// the file.
func TestOfTable(t *testing.T) {
	column := func(name string, of ...string) embedding.Column { return embedding.NewColumn(name, of) }
	of := func(columns ...embedding.Column) *embedding.Table {
		return &embedding.Table{X: matrix.New(2, 1), Files: []string{"p", "q"}, Columns: columns}
	}
	fine, coarse, split := column("label", "x", "y"), column("coarse", "z", "z"), column("split", "train", "test")
	for _, c := range []struct {
		t      *embedding.Table
		asked  string
		labels string
		splits []string
	}{
		{of(fine), "", "xy", nil}, {of(fine, coarse, split), "", "zz", []string{"train", "test"}},
		{of(fine, coarse), "label", "xy", nil},
	} {
		r, err := FromTable(c.t, "E.npz", c.asked, "root", false)
		if err != nil {
			t.Fatal(err)
		}
		if r.Label(0)+r.Label(1) != c.labels || !slices.Equal(r.Splits, c.splits) || r.Name(1) != "q" ||
			r.Root != "root" || r.Config != nil {
			t.Errorf("%+v", r.Subjects)
		}
	}
	if _, err := FromTable(of(fine), "E.npz", "none", "", false); err == nil ||
		!strings.HasPrefix(err.Error(), "E.npz: ") {
		t.Error(err)
	}
}

// TestIn: items are found in a data set by their names, and one that it lacks is named.
func TestIn(t *testing.T) {
	r := &Items{}
	r.Items = []embedding.Item{{Path: "d/4"}, {Path: "a/1"}}
	if err := r.SetDataset(newDataset(), "E.npz"); err != nil || !slices.Equal(r.Index, []int{19, 1}) || r.Set == nil {
		t.Errorf("%v, %v", r.Index, err)
	}
	r.Close()
	lost := &Items{}
	lost.Items = []embedding.Item{{Path: "a/1"}, {Path: "e/0"}}
	if err := lost.SetDataset(newDataset(), "E.npz"); err == nil || !strings.Contains(err.Error(), `"e/0", which E.npz names`) {
		t.Error(err)
	}
	lost.Close() // of what it has not taken
}

// TestNormalize: cosine distances are those of rows of length 1, and dot products are none.
func TestNormalize(t *testing.T) {
	r := &Items{X: matrix.FromSlice(1, 2, []float32{3, 4})}
	if err := r.Normalize(eval.Euclidean); err != nil || r.X.Row(0)[1] != 4 {
		t.Errorf("%v, %v", r.X.Data, err)
	}
	if err := r.Normalize(eval.Cosine); err != nil || r.X.Row(0)[1] != 0.8 {
		t.Errorf("%v, %v", r.X.Data, err)
	}
	if err := r.Normalize(eval.Dot); err == nil || !strings.Contains(err.Error(), "euclidean or cosine") {
		t.Error(err)
	}
	if err := r.OpenPictures(t.Context()); err != nil || r.Picture != nil {
		t.Errorf("pictures of no data set: %v", err)
	}
}
