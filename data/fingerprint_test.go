package data

import (
	"image"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// A change of anything that a fingerprint covers is named.
func TestFingerprint(t *testing.T) {
	set := func(change func(d *Dataset)) Fingerprint {
		d := &Dataset{Names: []string{"a", "b", "c"}, Columns: []Column{NewColumn("label", []string{"x", "y", "x"})},
			Splits: []Split{Train, Test, Test}, Features: matrix.FromSlice(3, 1, []float32{1, 2, 3}),
			Boxes:      make([]image.Rectangle, 3),
			MultiLabel: &MultiLabel{Sets: [][]int64{{0}, {0, 1}, nil}, Classes: []string{"p", "q"}}}
		change(d)
		return d.Fingerprint()
	}
	same := set(func(*Dataset) {})
	for want, change := range map[string]func(d *Dataset){
		"":                                 func(*Dataset) {},
		"the names of the samples changed": func(d *Dataset) { d.Names[1] = "z" },
		"names of the samples changed":     func(d *Dataset) { d.Boxes[1] = image.Rect(0, 0, 1, 1) },
		"the labels changed": func(d *Dataset) {
			d.Columns[0] = NewColumn("label", []string{"x", "y", "y"})
		},
		"labels changed": func(d *Dataset) { d.Columns[0].Classes[0] = "z" },
		"abels changed":  func(d *Dataset) { d.MultiLabel.Sets[1] = []int64{1} },
		"bels changed": func(d *Dataset) {
			d.MultiLabel.Sets[1], d.MultiLabel.Sets[2] = []int64{0}, []int64{1}
		},
		"the split changed":                func(d *Dataset) { d.Splits[0] = Test },
		"the features changed":             func(d *Dataset) { d.Features.Row(2)[0] = 4 },
		"the labels and the split changed": func(d *Dataset) { d.Splits[0], d.Columns[0].IDs[0] = Test, 1 },
		"there are 2 samples and there were 3": func(d *Dataset) {
			d.Names, d.Features, d.Boxes = d.Names[:2], d.Features.RowRange(0, 2), d.Boxes[:2]
		},
	} {
		have := set(change).DescribeChange(same)
		if !strings.HasSuffix(have, want) || (want == "") != (have == "") {
			t.Errorf("%q, want %q", have, want)
		}
	}
}
