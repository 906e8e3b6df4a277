package split

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
)

// holdOutRoles holds out images of the first column's classes, each by itself.
func holdOutRoles(t *testing.T, d *data.Dataset, f float64, seed uint64) []data.Split {
	t.Helper()
	k := &grouper{d: d, fine: &d.Columns[0]}
	roles, err := k.holdOutImages(t.Context(), f, seed)
	if err != nil {
		t.Fatal(err)
	}
	return roles
}

// withGroups adds a column "session" with the given values.
func withGroups(d *data.Dataset, of func(sample int) string) *data.Dataset {
	values := make([]string, d.Len())
	for i := range values {
		values[i] = of(i)
	}
	c := data.NewColumn("session", values)
	d.Group = &c
	return d
}

// allSelections are all that divide by images.
func allSelections(seed uint64) []Selection {
	return []Selection{
		{Split: "images:0.2", Seed: seed}, {Split: "images:0.5", Validation: "images:0.3", Seed: seed},
		{Split: "images:0.2", Validation: "as-test:0.2", Seed: seed},
		{Split: "both:0.3", Validation: "as-test:0.2", Seed: seed},
		{Split: "classes", TrainClasses: "all", TestClasses: "all", Validation: "images:0.2", Seed: seed},
		{Split: "classes", TrainClasses: "all", TestClasses: "all", Fold: "images:2/3", Seed: seed},
		{Split: "images:0.3", Fold: "images:1/2", Validation: "images:0.2", Seed: seed},
	}
}

// TestGroupsStayTogether: no group is on two sides, whatever divides and whichever
// groups there are, in one class or across several.
func TestGroupsStayTogether(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		d := sizes(12, 20, 7, 9, 30, 15)
		across := seed%2 == 1 // groups that classes share
		n := 8 + rng.IntN(20)
		withGroups(d, func(i int) string {
			switch g := rng.IntN(n); {
			case g == 0:
				return []string{"", "NaN"}[rng.IntN(2)]
			case across:
				return strconv.Itoa(g)
			default:
				return fmt.Sprint(d.Columns[0].IDs[i], "/", g)
			}
		})
		for _, s := range allSelections(seed) {
			if across && strings.HasPrefix(s.Split, "both") {
				continue // whose classes are apart whatever they share
			}
			s.Group = "session"
			got, err := Select(t.Context(), d, s)
			if err != nil {
				if across {
					continue // of few groups there may be too few folds or nothing to hold out
				}
				t.Fatalf("%+v: %v", s, err)
			}
			again, err := Select(t.Context(), d, s)
			if err != nil {
				t.Fatal(err)
			}
			side := map[int64]int{}
			for k, p := range []*data.Part{got.Train, got.Validation, got.Query, got.Seen} {
				other := []*data.Part{again.Train, again.Validation, again.Query, again.Seen}[k]
				if (p == nil) != (other == nil) || p != nil && !slices.Equal(p.Index, other.Index) {
					t.Fatalf("%+v: another part %d the second time", s, k)
				}
				if p == nil || s.Split == "classes" && s.Fold == "" && p == got.Query {
					continue // the test is all classes there
				}
				if p == got.Query && got.Seen != nil { // classes that do not train, and the rest of Seen
					continue
				}
				for _, i := range p.Index {
					g := d.Group.IDs[i]
					if isMissing(d.Group.Classes[g]) {
						continue
					}
					if was, ok := side[g]; ok && was != k {
						t.Fatalf("%+v: group %s is in parts %d and %d", s, d.Group.Classes[g], was, k)
					}
					side[g] = k
				}
			}
		}
	}
}

// TestGroupsOfOne divide as no groups do, to the last sample.
func TestGroupsOfOne(t *testing.T) {
	for seed := range uint64(20) {
		d := withGroups(sizes(12, 20, 7, 9, 30, 15, 1, 2), strconv.Itoa)
		for _, s := range allSelections(seed) {
			plain, err1 := Select(t.Context(), d, s)
			s.Group = "session"
			got, err2 := Select(t.Context(), d, s)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			for k, p := range []*data.Part{got.Train, got.Validation, got.Query, got.Seen} {
				want := []*data.Part{plain.Train, plain.Validation, plain.Query, plain.Seen}[k]
				if (p == nil) != (want == nil) || p != nil && !slices.Equal(p.Index, want.Index) {
					t.Errorf("%+v: part %d is another", s, k)
				}
			}
			if got.GroupCounts.Groups != 0 || got.Why != plain.Why || got.ValidationWhy != plain.ValidationWhy {
				t.Errorf("%+v: %+v, %q", s, got.GroupCounts, got.Why)
			}
		}
	}
}

// TestGroupShares: what is held out is as near to its share as the groups allow, and
// enough stays.
func TestGroupShares(t *testing.T) {
	for _, c := range []struct {
		name   string
		groups []int // their sizes in a class
		f      float64
		want   []int // which numbers may be held out
	}{
		{"of one", []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 0.2, []int{2}},
		{"pairs", []int{2, 2, 2, 2, 2}, 0.2, []int{2}},
		{"triples", []int{3, 3, 3, 3}, 0.25, []int{3}},
		{"one large", []int{9, 1, 1, 1}, 0.25, []int{3}},
		{"all too large", []int{5, 6, 7}, 0.1, []int{5}},
		{"two", []int{4, 6}, 0.2, []int{4}},
		{"half as large again", []int{3, 3, 3, 3}, 0.2, []int{3}}, // 2.4 wanted
	} {
		for seed := range uint64(10) {
			n := 0
			for _, g := range c.groups {
				n += g
			}
			of := func(i int) string { // the group of sample i, the same in both classes
				i, k := i%n, 0
				for i >= c.groups[k] {
					i, k = i-c.groups[k], k+1
				}
				return strconv.Itoa(k)
			}
			d := sizes(n, n)
			withGroups(d, func(i int) string { return fmt.Sprint(i/n, of(i)) })
			got, err := Select(t.Context(), d, Selection{Split: fmt.Sprint("images:", c.f), Group: "session",
				Seed: seed})
			if err != nil {
				t.Fatal(c.name, err)
			}
			for id, k := range counts(got.Query) {
				if !slices.Contains(c.want, k) {
					t.Errorf("%s, seed %d: %d of class %d are held out, want %v", c.name, seed, k, id, c.want)
				}
			}
		}
	}
}

// TestGroupsDegenerate: classes that are one group, nothing but these, empty columns and
// columns that are not there.
func TestGroupsDegenerate(t *testing.T) {
	d := withGroups(sizes(6, 6, 6, 6), func(i int) string {
		if i < 6 {
			return "a"
		}
		return strconv.Itoa(i / 2)
	})
	got, err := Select(t.Context(), d, Selection{Split: "images:0.3", Group: "session"})
	if err != nil {
		t.Fatal(err)
	}
	if counts(got.Train)[0] != 6 || counts(got.Query)[0] != 0 || got.GroupCounts != (GroupCounts{10, 24, 6, 1, 4}) ||
		!strings.HasSuffix(got.Why, "; 24 images in 10 groups of data.group=session stay on one side; 1 class is not "+
			"divided (a single group)") {
		t.Errorf("%v, %v, %+v: %s", counts(got.Train), counts(got.Query), got.GroupCounts, got.Why)
	}
	whole := withGroups(sizes(6, 6), func(i int) string { return strconv.Itoa(i / 6) })
	one := withGroups(sizes(6, 6), func(int) string { return "shop" })
	empty := withGroups(sizes(6, 6), func(i int) string { return []string{"", "nan"}[i%2] })
	for _, c := range []struct {
		d        *data.Dataset
		s        Selection
		together bool
		want     []string
	}{
		{whole, Selection{Split: "images:0.2", Group: "session"}, true, []string{"2 classes", "data.group=none",
			"data.split=classes"}},
		{one, Selection{Split: "images:0.2", Group: "session"}, true, []string{"data.group=none"}},
		{one, Selection{Split: "classes", TrainClasses: "all", TestClasses: "all", Fold: "images:1/2",
			Group: "session"}, false, []string{"without fold 1", "=session, which keeps 12 images in 1 group "}},
		{empty, Selection{Split: "images:0.2", Group: "session"}, false, []string{"empty for all 12 images"}},
		{one, Selection{Split: "images:0.2", Group: "sesion"}, false, []string{`"sesion"`, "it has class", "found"}},
		{one, Selection{Split: "classes", Group: "sesion"}, false, []string{`"sesion"`}},
	} {
		_, err := Select(t.Context(), c.d, c.s)
		if err == nil || errors.Is(err, ErrInseparable) != c.together {
			t.Errorf("%+v: %v", c.s, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%+v: %v lacks %q", c.s, err, w)
			}
		}
	}
	v, err := Select(t.Context(), whole, Selection{Split: "classes", TrainClasses: "all", TestClasses: "all",
		Validation: "images:0.2", Group: "session"})
	if err != nil || v.Validation != nil || !strings.Contains(v.ValidationWhy, "each of the 2 classes is a single "+
		"group") {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestGroupByManifest divides by a column that is no label, and by folders.
func TestGroupByManifest(t *testing.T) {
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("path,label,shop\n")
	for c := range 3 {
		for i := range 12 {
			name := fmt.Sprintf("%d/day%d/%d.png", c, i/3, i)
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&rows, "%s,c%d,s%d\n", name, c, i%4)
		}
	}
	file := filepath.Join(dir, "set.csv")
	if err := os.WriteFile(file, []byte(rows.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := data.Open(t.Context(), file, data.OpenOptions{Group: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	for rule, of := range map[string]func(name string) string{
		"shop":   func(name string) string { return name[strings.LastIndex(name, "/"):] },
		"folder": func(name string) string { return filepath.Dir(name) },
	} {
		got, err := Select(t.Context(), d, Selection{Split: "images:0.25", Group: rule})
		if err != nil {
			t.Fatal(err)
		}
		if got.Query.Len() != 9 || got.GroupCounts.Largest < 3 {
			t.Errorf("%s: %d test, %+v", rule, got.Query.Len(), got.GroupCounts)
		}
		if rule == "shop" { // one of four, the same in all classes
			for pos, i := range got.Query.Index {
				if d.Group.IDs[i] != d.Group.IDs[got.Query.Index[0]] {
					t.Errorf("%s: %s", rule, d.Names[got.Query.Index[pos]])
				}
			}
			continue
		}
		side := map[string]data.Split{}
		for _, i := range got.Query.Index {
			side[of(d.Names[i])] |= data.Test
		}
		for _, i := range got.Train.Index {
			side[of(d.Names[i])] |= data.Train
		}
		for g, s := range side {
			if s == data.Train|data.Test {
				t.Errorf("%s: %s is on both sides", rule, g)
			}
		}
	}
	if d, err = data.Open(t.Context(), file, data.OpenOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Select(t.Context(), d, Selection{Split: "images:0.25", Group: "shop"}); err == nil {
		t.Error("a column that was not kept divides")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Select(ctx, d, Selection{Split: "images:0.25", Group: GroupFound}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
