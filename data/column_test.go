package data

import (
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/data/internal/layout"
)

// Every class has its own name, and only where there is one.
func TestColumnOf(t *testing.T) {
	c := columnOf(layout.Column{Name: "class", Numbers: []int64{-1, 0, 1, 3},
		Names: map[int64]string{0: "zero", 1: "one", 2: "two"}})
	if !slices.Equal(c.Classes, []string{"-1", "zero", "one", "3"}) {
		t.Errorf("%q", c.Classes)
	}
}
