package calibrate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// Failed photos are left out of the photos of new classes and named, in a remark with the rule and as a list.
// KeepFailed keeps them.
func TestLeaveOutFailed(t *testing.T) {
	const classes, each = 6, 5
	x := matrix.New(classes*each, 8)
	labels, files := make([]string, x.Rows), make([]string, x.Rows)
	var want []string
	for i := range labels {
		labels[i], files[i] = fmt.Sprint("c", i/each), fmt.Sprint(i, ".jpg")
		x.Row(i)[i/each], x.Row(i)[6] = 20, float32(3*(i%each))
		if i%each == 2 {
			clear(x.Row(i))
			x.Row(i)[7] = 9 + float32(i)/100
			want = append(want, files[i])
		}
	}
	for _, keep := range []bool{false, true} {
		var said strings.Builder
		s, err := FromTable(&embedding.Table{X: x, Files: files,
			Columns: []embedding.Column{embedding.NewColumn("label", labels)}}, "e", Options{KeepFailed: keep,
			Remarks: &said, Distance: eval.Euclidean.String()})
		if err == nil {
			err = s.LeaveOutFailed(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if keep {
			if s.Failed != nil || len(s.New.Labels) != x.Rows || said.Len() > 0 {
				t.Errorf("kept: %v, %d photos, %s", s.Failed, len(s.New.Labels), said.String())
			}
			continue
		}
		if !slices.Equal(s.Failed, want) || len(s.New.Labels) != x.Rows-len(want) || s.New.X.Rows != x.Rows-len(want) {
			t.Errorf("%v of %d photos, want %v", s.Failed, len(s.New.Labels), want)
		}
		for _, part := range []string{"left out 6 failed photos", "2.jpg", "and 1 more", "--keep-failed"} {
			if !strings.Contains(said.String(), part) {
				t.Errorf("%q is not in %s", part, said.String())
			}
		}
		for i := range s.New.X.Rows {
			if s.New.X.Row(i)[7] != 0 {
				t.Errorf("row %d is of a failed photo", i)
			}
		}
	}
}
