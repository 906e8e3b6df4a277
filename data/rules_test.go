package data

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
)

// blank is a source of black images of one pixel.
type blank struct{}

func (blank) Shape() (w, h, c int) { return 1, 1, 1 }

func (blank) Read(_ context.Context, _ int, dst *imaging.Image, _ *imaging.Decoder) error {
	dst.Reset(1, 1, 1)
	return nil
}

// toyDataset is a set of classes x per samples without an official split.
func toyDataset(classes, per int) *Dataset {
	d := &Dataset{Name: "toy", Layout: "test", Fine: "class", Train: "class", Source: blank{}}
	var names []string
	for c := range classes {
		for i := range per {
			names = append(names, fmt.Sprintf("c%d", c+1))
			d.Names = append(d.Names, fmt.Sprintf("c%d/%d", c+1, i))
		}
	}
	d.Columns = []Column{NewColumn("class", names)}
	return d.mustBeConsistent()
}

func TestParseClasses(t *testing.T) {
	c := toyDataset(12, 1).Columns[0]
	for list, want := range map[string][]int{
		"1-3":         {1, 2, 3},
		" 2 , 11-12":  {2, 11, 12},
		"c10,4":       {4, 10},
		"7":           {7},
		"1 - 2":       {1, 2},
		"all":         {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
		"1-1,1-1,c1,": nil,
		"0-3":         nil,
		"3-1":         nil,
		"10-13":       nil,
		"c13":         nil,
		"1--2":        nil,
		"-":           nil,
		"1-":          nil,
	} {
		in, err := c.ParseClasses(list)
		if want == nil {
			if err == nil || !strings.Contains(err.Error(), "numbered 1 to 12") {
				t.Errorf("%q: %v, %v", list, in, err)
			}
			continue
		}
		var got []int
		for id, ok := range in {
			if ok {
				got = append(got, id+1)
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
}

func TestRules(t *testing.T) {
	d := toyDataset(5, 2) // numbers 1..5
	for rule, want := range map[string][]int64{
		"parity":         {1, 1, 0, 0, 1, 1, 0, 0, 1, 1},
		"mod:3":          {1, 1, 2, 2, 0, 0, 1, 1, 2, 2},
		"groups:1-2|3-5": {0, 0, 0, 0, 1, 1, 1, 1, 1, 1},
		"class":          {0, 0, 1, 1, 2, 2, 3, 3, 4, 4},
		"":               {0, 0, 1, 1, 2, 2, 3, 3, 4, 4},
	} {
		c, err := d.Labels(rule)
		if err != nil || !slices.Equal(c.IDs, want) {
			t.Errorf("%q: %v %v", rule, c, err)
			continue
		}
		if int(slices.Max(c.IDs)) >= len(c.Classes) {
			t.Errorf("%q: %d class names", rule, len(c.Classes))
		}
	}
	for rule, want := range map[string]string{
		"mod:0":          "modulus",
		"mod:x":          "modulus",
		"groups:1-2|2-5": "class c2 is in groups",
		"groups:1-2|4-5": "class c3 (number 3) is in no group",
		"groups:1-9":     "numbered 1 to 5",
		"letter":         `no label column "letter"; it has class`,
		"coarse":         "no label column",
	} {
		if _, err := d.Labels(rule); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", rule, err, want)
		}
	}
}

func TestPartDense(t *testing.T) {
	p := &Part{Label: []int64{7, 3, 7, 9}}
	labels, ids := p.DenseLabels()
	if !slices.Equal(labels, []int64{1, 0, 1, 2}) || !slices.Equal(ids, []int64{3, 7, 9}) {
		t.Errorf("%v %v", labels, ids)
	}
}

// Class lists by number where numbers are values: negative ones and ranges of
// them, 0, gaps.
func TestParseClassesOfValues(t *testing.T) {
	c := newNumberColumn("v", []int64{5, -3, 0, 7, -1, 0})
	if !slices.Equal(c.Classes, []string{"-3", "-1", "0", "5", "7"}) ||
		!slices.Equal(c.IDs, []int64{3, 0, 2, 4, 1, 2}) || !slices.Equal(c.Counts(), []int{1, 1, 2, 1, 1}) {
		t.Errorf("%+v", c)
	}
	for list, want := range map[string][]bool{
		"0": {false, false, true, false, false}, "-3": {true, false, false, false, false},
		"-3--1": {true, true, false, false, false},
		"-1-5":  {false, true, true, true, false}, "0-7": {false, false, true, true, true},
		"": {true, true, true, true, true},
	} {
		if in, err := c.ParseClasses(list); err != nil || !slices.Equal(in, want) {
			t.Errorf("%q: %v, %v", list, in, err)
		}
	}
	for _, list := range []string{"-2", "0-1", "1-5", "7-0", "-4-0", "0-8"} {
		if _, err := c.ParseClasses(list); err == nil || !strings.Contains(err.Error(), "numbered -3 to 7") {
			t.Errorf("%q: %v", list, err)
		}
	}
	d := toyDataset(3, 1)
	d.Columns[0].Numbers = []int64{-3, -2, 4}
	for rule, want := range map[string][]int64{"parity": {1, 0, 0}, "mod:3": {0, 1, 1}, "mod:1": {0, 0, 0},
		"mod:2": {1, 0, 0}} {
		got, err := d.Labels(rule)
		if err != nil || !slices.Equal(got.IDs, want) ||
			!slices.Equal(got.Numbers, []int64{0, 1, 2}[:len(got.Classes)]) {
			t.Errorf("%s: %+v, %v", rule, got, err)
		}
	}
	if p, _ := d.Labels("parity"); p.Name != "parity" || !slices.Equal(p.Classes, []string{"even", "odd"}) {
		t.Errorf("%+v", p)
	}
	if m, _ := d.Labels("mod:3"); m.Name != "mod 3" || !slices.Equal(m.Classes, []string{"0", "1", "2"}) {
		t.Errorf("%+v", m)
	}
	for _, bad := range []string{"mod:1048577", "mod:-1"} {
		if _, err := d.Labels(bad); err == nil || !strings.Contains(err.Error(), "from 1 to 1048576") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := d.Labels("mod:1048576"); err != nil {
		t.Error(err)
	}
}
