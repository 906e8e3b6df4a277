package maps

import (
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
)

func TestOf(t *testing.T) {
	set := &embedding.Table{Files: []string{"a.jpg", "b.jpg", "c.jpg"},
		Columns: []embedding.Column{
			embedding.NewColumn("kind", []string{"tern", "gull", "tern"}), {Name: "n", IDs: []int64{7, 5, 7}}}}
	m := NewMap(set, []float64{1, 2, 3}, []float64{4, 5, 6})
	if m.Step != 1 || m.Caption != "" || m.Names[2] != "c.jpg" || len(m.Columns) != 2 {
		t.Fatalf("%+v", m)
	}
	for i, want := range []string{"gull tern", "5 7"} {
		c := m.Columns[i]
		if got := strings.Join(c.Names, " "); got != want || c.Class[0] != 1 || c.Class[1] != 0 {
			t.Errorf("column %d: %s %v", i, got, c.Class)
		}
	}
	// More than a page should hold: every k-th, and the page says so.
	n := 2*maxItems + 1
	large := NewMap(&embedding.Table{}, make([]float64, n), make([]float64, n))
	if large.Step != 3 || len(large.X) != (n+2)/3 || !strings.Contains(large.Caption, "of 300001 items") {
		t.Errorf("step %d, %d items, caption %q", large.Step, len(large.X), large.Caption)
	}
}
