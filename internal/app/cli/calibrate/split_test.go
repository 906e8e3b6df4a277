package calibrate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run"
)

// newRows is a data set of ready features: classes of twelve rows each.
func newRows(classes int) *data.Dataset {
	x := matrix.New(12*classes, 2)
	names, labels := make([]string, 12*classes), make([]string, 12*classes)
	for i := range labels {
		x.Row(i)[0], x.Row(i)[1] = float32(i/12), float32(i%12)
		labels[i] = fmt.Sprintf("c%02d", i/12)
		names[i] = fmt.Sprintf("%s/%d", labels[i], i%12)
	}
	return &data.Dataset{Name: "rows", Names: names, Features: x, Fine: "label", Train: "label",
		Columns: []data.Column{data.NewColumn("label", labels)}}
}

// TestDivide: photos are told apart by the classes that training saw, whatever the division. Classes of the test are
// taken where the validation has too few.
func TestDivide(t *testing.T) {
	for _, c := range []struct {
		split, validation string
		fresh, known      int // photos
		from, missing     string
	}{
		{"images:0.2", "images:0.3", 0, 60, "", "0 classes"},
		{"images:0.2", "as-test:0.3", 0, 60, "", "0 classes"},
		{"images:0.2", "none", 0, 40, "", "0 classes"},
		{"images:0.2", "classes:0.5", 100, 20, "kept for validation", ""},
		{"images:0.2", "classes:0.2", 0, 32, "", "4 classes"},
		{"classes", "none", 120, 0, "kept for validation or the test", "0 photos"},
		{"classes", "classes:0.2", 144, 0, "kept for validation or the test", "0 photos"},
	} {
		m := &run.Model{Config: run.Default()}
		m.Config.Data.Split, m.Config.Data.Validation = c.split, c.validation
		sel, err := m.SplitDataset(t.Context(), newRows(20))
		if err != nil {
			t.Fatal(err)
		}
		d := NewSplit(sel, "")
		size := func(p *data.Part) int {
			if p == nil {
				return 0
			}
			return p.Len()
		}
		if size(d.New) != c.fresh || size(d.Known) != c.known || d.From != c.from ||
			!strings.HasPrefix(d.Missing, c.missing) || d.All.Len() != 240 {
			t.Errorf("%s, %s: %d new, %d known, %d in all, %q %q", c.split, c.validation, size(d.New), size(d.Known),
				d.All.Len(), d.From, d.Missing)
		}
		saw := make(map[int64]bool)
		for _, l := range d.Labels(d.Train) {
			saw[l] = true
		}
		for _, of := range []struct {
			part *data.Part
			saw  bool
		}{{d.New, false}, {d.Known, true}} {
			if of.part == nil {
				continue
			}
			for _, l := range d.Labels(of.part) {
				if saw[l] != of.saw {
					t.Errorf("%s, %s: class %d", c.split, c.validation, l)
				}
			}
		}
	}
}

// TestSaw: a column's classes are compared by name with those that training saw.
func TestSaw(t *testing.T) {
	m := &run.Model{Config: run.Default()}
	m.Config.Data.Split, m.Config.Data.TrainClasses = "classes", "c00,c01"
	sel, err := m.SplitDataset(t.Context(), newRows(4))
	if err != nil {
		t.Fatal(err)
	}
	c := embedding.NewColumn("label", []string{"c03", "c01", "x", "c01"})
	if got := NewSplit(sel, "").TrainedClasses(&c); len(got) != 1 || got[0] != "c01" {
		t.Error(got)
	}
}

// TestFrozenFolds: a run that ended with its start trains nothing. Each photo is looked up among the classes of other
// folds, by the network as it is or by a layer that is computed without its class.
func TestFrozenFolds(t *testing.T) {
	spec := &nn.Spec{Input: nn.Shape{H: 1, W: 1, C: 2}, Layers: []nn.Layer{{Kind: nn.Dense, Name: "fc", Out: 3}}}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := &run.Model{Config: run.Default(), Net: net}
	m.Config.Data.Split, m.Config.Eval.Batch = "images:0.2", 240
	sel, err := m.SplitDataset(t.Context(), newRows(20))
	if err != nil {
		t.Fatal(err)
	}
	d := NewSplit(sel, "")
	var nearest [2]float64
	for i, computed := range []bool{false, true} {
		f := &Folds{N: 3, Computed: computed, of: d, model: m}
		if f.fold, err = d.assignFolds(3, 1); err != nil {
			t.Fatal(err)
		}
		embedded := 0
		f.Progress = func(int, int) { embedded++ }
		found, err := f.FindStrangers(t.Context(), eval.Euclidean)
		if err != nil || f.NeedsTraining() || len(found) != 240 || embedded != 1 {
			t.Fatalf("%d strangers, embedded %d times, %v", len(found), embedded, err)
		}
		nearest[i] = found[0].Distance
	}
	if nearest[0] == nearest[1] {
		t.Error("the layer changes no distance")
	}
}

// TestFoldsOfClasses: every class is dealt to one fold, evenly, and few classes are refused.
func TestFoldsOfClasses(t *testing.T) {
	m := &run.Model{Config: run.Default()}
	m.Config.Data.Split = "images:0.2"
	for classes, ok := range map[int]bool{9: false, 10: true, 20: true} {
		sel, err := m.SplitDataset(t.Context(), newRows(classes))
		if err != nil {
			t.Fatal(err)
		}
		fold, err := NewSplit(sel, "").assignFolds(3, 1)
		if (err == nil) != ok {
			t.Error(classes, err)
		}
		var n [3]int
		for _, k := range fold {
			n[k]++
		}
		if _, err := NewSplit(sel, "").assignFolds(classes+1, 1); err == nil {
			t.Error(classes, "more folds than classes")
		}
		if ok && (len(fold) != classes || max(n[0], n[1], n[2])-min(n[0], n[1], n[2]) > 1) {
			t.Error(n)
		}
	}
}
