package subclasses

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/discover"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/page/review"
)

// Report holds the sub-classes that were found.
type Report struct {
	Items int `json:"items"`
	// Verdict is how the classes were judged. The surest divisions come first.
	Verdict string  `json:"verdict"`
	Kinds   int     `json:"kinds"`
	Method  string  `json:"method"`
	Classes []Class `json:"classes"`

	names   []string // name of the sub-class of each item
	verdict discover.Verdict
}

// Class is a class with its sub-classes; an undivided class has one.
type Class struct {
	Label      string  `json:"label"`
	Items      int     `json:"items"`
	P          float64 `json:"p"`
	Silhouette float64 `json:"silhouette"`
	Stability  float64 `json:"stability"`
	Kinds      []Kind  `json:"kinds"`
}

// Kind is a sub-class.
type Kind struct {
	Kind      string   `json:"kind"`
	Items     int      `json:"items"`
	Stability float64  `json:"stability"`
	Exemplar  string   `json:"exemplar"`
	Different []string `json:"different"`

	rows      []int
	exemplar  int
	different []int
}

// New names the sub-classes found in the items s. Classes are ordered by P, and classes of
// equal P by the stability of their sub-classes.
func New(s *review.Subjects, method discover.Method, res *discover.Result) *Report {
	classes := sortBySureness(res.Classes)
	r := &Report{Items: len(s.Labels), Method: method.String(), Verdict: res.Verdict.String(),
		verdict: res.Verdict, names: subclassNames(s, classes)}
	for _, c := range classes {
		class := Class{Label: s.ClassName(c.Label), P: c.P, Silhouette: c.Silhouette, Stability: c.Stability}
		for _, k := range c.SubClasses {
			kind := Kind{Kind: r.names[k.Rows[0]], Items: len(k.Rows), Stability: k.Stability,
				Exemplar: s.Name(k.Exemplar), Different: []string{}, rows: k.Rows, exemplar: k.Exemplar,
				different: k.MostDifferent}
			for _, i := range k.MostDifferent {
				kind.Different = append(kind.Different, s.Name(i))
			}
			class.Items += len(k.Rows)
			class.Kinds = append(class.Kinds, kind)
		}
		r.Kinds += len(c.SubClasses)
		r.Classes = append(r.Classes, class)
	}
	return r
}

func sortBySureness(classes []discover.Class) []discover.Class {
	return slices.SortedStableFunc(slices.Values(classes), func(a, b discover.Class) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(b.Stability, a.Stability))
	})
}

// subclassNames returns the name of every item's sub-class: the class and a number, or only the
// class if it is not divided.
func subclassNames(s *review.Subjects, classes []discover.Class) []string {
	taken := map[string]bool{}
	for _, c := range classes {
		taken[s.ClassName(c.Label)] = true
	}
	out := make([]string, len(s.Labels))
	for _, c := range classes {
		for k, kind := range c.SubClasses {
			name := s.ClassName(c.Label)
			if len(c.SubClasses) > 1 {
				name += " " + strconv.Itoa(k+1)
				for taken[name] { // another class may have this name
					name += "'"
				}
				taken[name] = true
			}
			for _, i := range kind.Rows {
				out[i] = name
			}
		}
	}
	return out
}

// Rows returns kinds.csv: a line for each item.
func (r *Report) Rows(s *review.Subjects) [][]string {
	rows := [][]string{{"id", "path", "label", "kind"}}
	for i := range s.Labels {
		rows = append(rows, []string{s.ID(i), s.Name(i), s.Label(i), r.names[i]})
	}
	return rows
}

// ClassRows returns classes.csv: a line for each sub-class.
func (r *Report) ClassRows() [][]string {
	rows := [][]string{{"label", "kind", "items", "stability", "p", "exemplar", "different_1", "different_2",
		"different_3", "different_4"}}
	for _, c := range r.Classes {
		for _, k := range c.Kinds {
			row := []string{c.Label, k.Kind, strconv.Itoa(k.Items), fmt.Sprintf("%.3f", k.Stability),
				fmt.Sprintf("%.4g", c.P), k.Exemplar}
			rows = append(rows, slices.Concat(row, k.Different, make([]string, 4-len(k.Different))))
		}
	}
	return rows
}

// Manifest returns the table for training: the sub-classes as labels, the classes as
// coarse labels.
func (r *Report) Manifest(s *review.Subjects) [][]string {
	return s.Manifest(func(i int) string { return r.names[i] }, s.Label, nil)
}

// UndividedMessage returns a message that no class is divided, with advice; "" if a class is divided.
func (r *Report) UndividedMessage() string {
	if r.Kinds > len(r.Classes) {
		return ""
	}
	v := &r.verdict
	if v.NumTested == 0 {
		return capitalize(v.String()) + ". Take more photos of each class."
	}
	out := fmt.Sprintf("No class has sub-classes: %s.", v.String())
	if v.Level < 0.3 {
		out += fmt.Sprintf(" To see weaker groups, run kindred discover with --level 0.3 (now %.3g).", v.Level)
	}
	if few := len(v.Classes) - v.NumTested; few > 0 {
		out += fmt.Sprintf(" %s too few photos to tell.", enum.Number(few, "class has", "classes have"))
	}
	return out
}

func capitalize(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// maxShown is the largest number of sub-classes that the page asks about.
const maxShown = 400

// Page returns the page that asks about every sub-class of the divided classes.
func (r *Report) Page(ctx context.Context, s *review.Subjects) (*review.Page, error) {
	p := s.Page("Sub-classes")
	divided, left := 0, 0
	for _, c := range r.Classes {
		if len(c.Kinds) < 2 {
			continue
		}
		divided++
		for k, kind := range c.Kinds {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if len(p.Cards) == maxShown {
				left++
				continue
			}
			card := review.Card{Items: kind.rows, Group: true, Class: c.Label, Suggested: kind.Kind,
				Title: fmt.Sprintf("%s: sub-class %d of %d", c.Label, k+1, len(c.Kinds)),
				Reason: fmt.Sprintf("%s; stability %.0f %% (found again without a fifth of the items). First the item "+
					"in the middle, then the items that differ most.", enum.Count(kind.Items, "item"),
					100*kind.Stability)}
			for _, i := range slices.Concat([]int{kind.exemplar}, kind.different) {
				card.Pictures = append(card.Pictures, s.PictureOf(i, s.Name(i)))
			}
			p.Cards = append(p.Cards, card)
		}
	}
	if divided == 0 {
		p.Lead = r.UndividedMessage()
		return p, nil
	}
	p.Lead = fmt.Sprintf("%s; %d divided, the surest first. A sub-class that is split off becomes a class in the "+
		"column label of the manifest; the column coarse keeps the class. A and S decide about all undecided "+
		"sub-classes of a class.", r.Verdict, divided)
	if left > 0 {
		p.Lead += fmt.Sprintf(" kinds.csv has %d more sub-classes.", left)
	}
	return p, nil
}
