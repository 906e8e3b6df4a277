package data

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Part is a list of samples of a data set, with the labels in use. All slices
// have the same length; position p of the part is sample Index[p].
type Part struct {
	Data  *Dataset
	Index []int
	// Label is the label to train with, Fine the one to score with.
	Label, Fine []int64
	// LabelClasses and FineClasses name the classes by id.
	LabelClasses, FineClasses []string
}

// Len returns the number of samples.
func (p *Part) Len() int { return len(p.Index) }

// Dense returns the training labels renumbered to 0..k-1 without gaps, in the
// order of their ids, and the id behind each.
func (p *Part) Dense() (labels, ids []int64) {
	ids = slices.Clone(p.Label)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	labels = make([]int64, len(p.Label))
	for i, id := range p.Label {
		at, _ := slices.BinarySearch(ids, id)
		labels[i] = int64(at)
	}
	return labels, ids
}

// Selection says how an experiment is made from a data set. The zero value
// trains and tests as the set's own paper or split does.
type Selection struct {
	// Label is the column or rule to train with; "" is the set's usual one.
	Label string
	// Fine is the column or rule to score with; "" is the fine column.
	Fine string
	// TrainClasses and TestClasses list classes of the fine column, as
	// Column.ParseClasses reads them; "" takes all that the split leaves.
	TrainClasses, TestClasses string
	// Split says which samples may be on which side:
	//
	//	""          official where the set has a split; else classes
	//	official    the set's own split
	//	images      the set's own split of the images of every class, where it
	//	            has one beside a class-disjoint one (CUB, Cars)
	//	classes     classes apart: TrainClasses against TestClasses; where one
	//	            is not given it is the rest, where both are not, the first
	//	            half of the classes trains and the second tests
	//	images:F    the fraction F of every class's images, at random, tests
	//	fold:K/N    classes dealt at random into N folds; fold K (1..N) tests
	//
	// A set without an official split and with fewer than four classes has too
	// few to keep any apart, and "" then means images:0.2.
	Split string
	// Seed determines images:F and fold:K/N.
	Seed uint64
}

// Selected is the result of Dataset.Select.
type Selected struct {
	Train *Part
	// Query and Gallery are the same Part unless the set distinguishes them.
	Query, Gallery *Part
	// Seen holds the test samples of classes that were trained on, if Query lacks
	// them because of TestClasses; else nil.
	Seen *Part
	// Split is the rule that was applied, for the record.
	Split string
}

// Select applies s. An empty training or test side is an error.
func (d *Dataset) Select(s Selection) (*Selected, error) {
	label, err := d.Labels(s.Label)
	if err != nil {
		return nil, err
	}
	fineName := s.Fine
	if fineName == "" {
		fineName = "fine"
	}
	fine, err := d.Labels(fineName)
	if err != nil {
		return nil, err
	}
	trainIn, err := fine.ParseClasses(s.TrainClasses)
	if err != nil {
		return nil, fmt.Errorf("training %w", err)
	}
	testIn, err := fine.ParseClasses(s.TestClasses)
	if err != nil {
		return nil, fmt.Errorf("test %w", err)
	}
	split := s.Split
	if split == "" {
		split = d.usualSplit(fine, s)
	}
	roles, err := d.roles(split, s, fine, trainIn, testIn)
	if err != nil {
		return nil, err
	}
	part := func(role Split, in []bool) *Part {
		p := &Part{Data: d, LabelClasses: label.Classes, FineClasses: fine.Classes}
		for i, r := range roles {
			if r&role != 0 && in[fine.IDs[i]] {
				p.Index = append(p.Index, i)
				p.Label = append(p.Label, label.IDs[i])
				p.Fine = append(p.Fine, fine.IDs[i])
			}
		}
		return p
	}
	out := &Selected{Train: part(Train, trainIn), Query: part(Query, testIn), Split: split}
	out.Gallery = part(Gallery, testIn)
	if slices.Equal(out.Query.Index, out.Gallery.Index) {
		out.Gallery = out.Query
	}
	seen := make([]bool, len(trainIn))
	for i := range seen {
		seen[i] = trainIn[i] && !testIn[i]
	}
	if p := part(Query, seen); p.Len() > 0 {
		out.Seen = p
	}
	if out.Train.Len() == 0 {
		return nil, fmt.Errorf("no sample to train on: data set %s, split %q, training classes %q", d.Name, split,
			s.TrainClasses)
	}
	if out.Query.Len() == 0 || out.Gallery.Len() == 0 {
		return nil, fmt.Errorf("no sample to test on: data set %s, split %q, test classes %q", d.Name, split,
			s.TestClasses)
	}
	return out, nil
}

// usualSplit resolves an empty Selection.Split.
func (d *Dataset) usualSplit(fine *Column, s Selection) string {
	ranged := s.TrainClasses != "" || s.TestClasses != ""
	switch {
	case d.Splits != nil && d.Disjoint && ranged:
		return "classes"
	case d.Splits != nil:
		return "official"
	case len(fine.Classes) < 4 && !ranged:
		return "images:0.2"
	}
	return "classes"
}

// roles gives every sample its sides. trainIn and testIn are narrowed where the
// split itself separates classes.
func (d *Dataset) roles(split string, s Selection, fine *Column, trainIn, testIn []bool) ([]Split, error) {
	kind, arg, _ := strings.Cut(split, ":")
	switch kind {
	case "official":
		if d.Splits == nil {
			return nil, fmt.Errorf("split %q: data set %s has no official split; use classes, images:0.2 or fold:1/4",
				split, d.Name)
		}
		return d.Splits, nil
	case "classes":
		switch {
		case s.TrainClasses == "" && s.TestClasses == "":
			for i := range trainIn {
				trainIn[i] = i < len(trainIn)/2
				testIn[i] = !trainIn[i]
			}
		case s.TrainClasses == "":
			for i := range trainIn {
				trainIn[i] = !testIn[i]
			}
		case s.TestClasses == "":
			for i := range testIn {
				testIn[i] = !trainIn[i]
			}
		}
		return allRoles(d.Len()), nil
	case "images":
		if arg == "" && split == "images" {
			if d.ImageSplits == nil {
				return nil, fmt.Errorf("split %q: data set %s has no official split of images; use images:0.2 for a "+
					"random one", split, d.Name)
			}
			return d.ImageSplits, nil
		}
		f, err := strconv.ParseFloat(arg, 64)
		if err != nil || !(f > 0 && f < 1) {
			return nil, fmt.Errorf("split %q: the fraction of images to test on must lie between 0 and 1", split)
		}
		return heldOutImages(fine, f, s.Seed), nil
	case "fold":
		var k, n int
		if c, err := fmt.Sscanf(arg, "%d/%d", &k, &n); err != nil || c != 2 || n < 2 || k < 1 || k > n ||
			fmt.Sprintf("%d/%d", k, n) != arg {
			return nil, fmt.Errorf("split %q: write fold:K/N with 1 <= K <= N and N >= 2", split)
		}
		for i, f := range folds(len(fine.Classes), n, s.Seed) {
			trainIn[i] = trainIn[i] && f != k-1
			testIn[i] = testIn[i] && f == k-1
		}
		return allRoles(d.Len()), nil
	}
	return nil, fmt.Errorf("unknown split %q; known: official, classes, images, images:F, fold:K/N", split)
}

func allRoles(n int) []Split {
	r := make([]Split, n)
	for i := range r {
		r[i] = Train | Test
	}
	return r
}

// heldOutImages marks round(f * n) images of each class of n as test, at least
// one where n > 1.
func heldOutImages(fine *Column, f float64, seed uint64) []Split {
	byClass := make([][]int, len(fine.Classes))
	for i, id := range fine.IDs {
		byClass[id] = append(byClass[id], i)
	}
	rng := rand.New(rand.NewPCG(seed, 0x5eed0f01))
	roles := make([]Split, len(fine.IDs))
	for _, members := range byClass {
		rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		test := int(f*float64(len(members)) + 0.5)
		if len(members) > 1 {
			test = min(max(test, 1), len(members)-1)
		}
		for k, i := range members {
			roles[i] = Train
			if k < test {
				roles[i] = Test
			}
		}
	}
	return roles
}

// folds deals classes 0..c-1 into n folds whose sizes differ by at most one.
func folds(c, n int, seed uint64) []int {
	rng := rand.New(rand.NewPCG(seed, 0xf01d))
	out := make([]int, c)
	for i, id := range rng.Perm(c) {
		out[id] = i % n
	}
	return out
}
