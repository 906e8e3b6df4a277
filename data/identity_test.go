package data

import (
	"image"
	"slices"
	"testing"
)

func TestIdentities(t *testing.T) {
	box := image.Rect(0, 0, 4, 4)
	d := &Dataset{
		Names: []string{"a", "b", "a", "", "", "b", "b"},
		Boxes: []image.Rectangle{{}, {}, {}, {}, {}, box, box},
	}
	p := &Part{Data: d, Index: []int{6, 5, 4, 3, 2, 1, 0}}
	if got, want := p.Identities(), []int64{6, 6, 4, 3, 2, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("identities %v, want %v", got, want)
	}
	d.Boxes = nil
	if got, want := p.Identities(), []int64{6, 6, 4, 3, 2, 6, 2}; !slices.Equal(got, want) {
		t.Errorf("without boxes %v, want %v", got, want)
	}
}
