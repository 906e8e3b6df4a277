package data

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// toy is a set of classes x per samples without an official split.
func toy(classes, per int) *Dataset {
	d := &Dataset{Name: "toy", Layout: "test", Fine: "class", Train: "class", Source: &pixels{w: 1, h: 1, c: 1}}
	var names []string
	for c := range classes {
		for i := range per {
			names = append(names, fmt.Sprintf("c%d", c+1))
			d.Names = append(d.Names, fmt.Sprintf("c%d/%d", c+1, i))
		}
	}
	d.Columns = []Column{columnOfNames("class", names)}
	return d.check()
}

func classesOf(p *Part) []string {
	var out []string
	for _, id := range p.Fine {
		out = append(out, p.FineClasses[id])
	}
	slices.SortFunc(out, naturalCompare)
	return slices.Compact(out)
}

func TestNaturalOrder(t *testing.T) {
	names := []string{"b", "a10", "a2", "a02", "a", "", "a1b", "a1", "B"}
	slices.SortFunc(names, naturalCompare)
	want := []string{"", "B", "a", "a1", "a1b", "a02", "a2", "a10", "b"}
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

func TestParseClasses(t *testing.T) {
	c := toy(12, 1).Columns[0]
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
	d := toy(5, 2) // numbers 1..5
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

func TestSelect(t *testing.T) {
	d := toy(6, 10)
	check := func(s Selection, train, test string) *Selected {
		t.Helper()
		got, err := d.Select(s)
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		if a, b := strings.Join(classesOf(got.Train), ","), strings.Join(classesOf(got.Query), ","); a != train || b != test {
			t.Errorf("%+v: train %s, test %s", s, a, b)
		}
		return got
	}
	check(Selection{}, "c1,c2,c3", "c4,c5,c6")
	check(Selection{TrainClasses: "1-2"}, "c1,c2", "c3,c4,c5,c6")
	check(Selection{TestClasses: "c1,6"}, "c2,c3,c4,c5", "c1,c6")
	check(Selection{TrainClasses: "1", TestClasses: "3"}, "c1", "c3")

	s := check(Selection{Split: "images:0.3", Seed: 4}, "c1,c2,c3,c4,c5,c6", "c1,c2,c3,c4,c5,c6")
	if s.Train.Len() != 42 || s.Query.Len() != 18 {
		t.Errorf("%d train, %d test", s.Train.Len(), s.Query.Len())
	}
	both := slices.Concat(s.Train.Index, s.Query.Index)
	slices.Sort(both)
	if both = slices.Compact(both); len(both) != 60 {
		t.Errorf("the sides overlap: %d samples", len(both))
	}
	again, _ := d.Select(Selection{Split: "images:0.3", Seed: 4})
	other, _ := d.Select(Selection{Split: "images:0.3", Seed: 5})
	if !slices.Equal(again.Train.Index, s.Train.Index) || slices.Equal(other.Train.Index, s.Train.Index) {
		t.Error("the seed does not fix the split")
	}

	tested := map[string]int{}
	for k := 1; k <= 4; k++ {
		s, err := d.Select(Selection{Split: fmt.Sprintf("fold:%d/4", k), Seed: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range classesOf(s.Query) {
			tested[c]++
			if slices.Contains(classesOf(s.Train), c) {
				t.Errorf("fold %d: class %s on both sides", k, c)
			}
		}
	}
	if len(tested) != 6 {
		t.Errorf("folds test %v", tested)
	}

	d.Splits = make([]Split, d.Len())
	for i := range d.Splits {
		d.Splits[i] = []Split{Train, Test}[i%2]
	}
	s = check(Selection{TrainClasses: "1-4", TestClasses: "5-6"}, "c1,c2,c3,c4", "c5,c6")
	if s.Split != "official" || s.Train.Len() != 20 || s.Query.Len() != 10 || s.Seen == nil || s.Seen.Len() != 20 {
		t.Errorf("%+v", s)
	}
	d.Disjoint = true
	if s = check(Selection{TrainClasses: "1-4"}, "c1,c2,c3,c4", "c5,c6"); s.Train.Len() != 40 || s.Split != "classes" {
		t.Errorf("%+v", s)
	}
}

func TestSelectFewClasses(t *testing.T) {
	s, err := toy(2, 10).Select(Selection{})
	if err != nil || s.Split != "images:0.2" || s.Train.Len() != 16 || s.Query.Len() != 4 {
		t.Errorf("%+v %v", s, err)
	}
}

func TestSelectErrors(t *testing.T) {
	d := toy(6, 2)
	for want, s := range map[string]Selection{
		"unknown split":            {Split: "both"},
		"no official split":        {Split: "official"},
		"between 0 and 1":          {Split: "images:1"},
		"write fold:K/N":           {Split: "fold:3/2"},
		"no sample to test on":     {TrainClasses: "1-6"},
		"training classes":         {TrainClasses: "9"},
		"test classes":             {TestClasses: "x"},
		`no label column "letter"`: {Label: "letter"},
		`no label column "digit"`:  {Fine: "digit"},
	} {
		if _, err := d.Select(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", s, err, want)
		}
	}
}

func TestPartDense(t *testing.T) {
	p := &Part{Label: []int64{7, 3, 7, 9}}
	labels, ids := p.Dense()
	if !slices.Equal(labels, []int64{1, 0, 1, 2}) || !slices.Equal(ids, []int64{3, 7, 9}) {
		t.Errorf("%v %v", labels, ids)
	}
}
