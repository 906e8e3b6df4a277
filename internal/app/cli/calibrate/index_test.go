package calibrate

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/store"
)

// TestOfIndex: an index without a network is calibrated on its items, with a remark or, with AllowSeen, as of classes
// that training saw. Photos without labels are compared with as many as the calibration was learned from.
func TestOfIndex(t *testing.T) {
	x, err := index.Create(filepath.Join(t.TempDir(), "ix"), index.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var list []store.Item
	for i := range 120 {
		list = append(list, store.Item{ID: fmt.Sprint(i), Vector: []float32{float32(10 * (i / 5)), float32(i % 5)},
			Columns: map[string]any{"label": fmt.Sprintf("c%02d", i/5)}})
	}
	if _, err := x.Add(t.Context(), list, index.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	opt := Options{Remarks: &said,
		Labelled: func(t *embedding.Table, _ string, _ bool) (*embedding.Table, []int, error) { return t, nil, nil }}
	set := func() *Photos {
		t.Helper()
		s, err := FromIndex(t.Context(), x, "ix", opt)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := set()
	c, err := s.Calibrate(t.Context(), decide.Options{Seed: 1})
	if err != nil || c.ClassSource != "" || c.Classes != 24 ||
		!strings.Contains(said.String(), "the training data of") {
		t.Fatalf("%+v, %v, said %q", c, err, said.String())
	}
	if _, err := s.MeasureDrift(t.Context(), c, "ix", s.New.X, []float64{0.1}); err != nil {
		t.Error(err)
	}
	if _, err := (&Photos{}).MeasureDrift(t.Context(), c, "run", s.New.X, nil); err == nil ||
		!strings.Contains(err.Error(), "learned from 120 photos, but run has 0") {
		t.Error(err)
	}
	said.Reset()
	opt.AllowSeen = true
	if c, err := set().Calibrate(t.Context(), decide.Options{Seed: 1}); err != nil || c.ClassSource != FromSeen ||
		said.Len() > 0 {
		t.Error(c, err, said.String())
	}
	for _, of := range []struct {
		opt   Options
		usage bool
		want  string
	}{
		{Options{Distance: "cos"}, true, "--distance"},
		{Options{Column: "other"}, false, "no item of ix has a value of other"},
		{Options{Data: "photos"}, false, "ix has no network"},
	} {
		_, err := FromIndex(t.Context(), x, "ix", of.opt)
		var usage cli.UsageError
		if err == nil || !strings.Contains(err.Error(), of.want) || errors.As(err, &usage) != of.usage {
			t.Errorf("%+v: %v", of.opt, err)
		}
	}
	if ids := slices.Sorted(slices.Values(s.New.Labels)); len(ids) != 120 || ids[119] != 23 {
		t.Error(ids)
	}
}
