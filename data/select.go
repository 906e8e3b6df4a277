package data

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Selection says how to divide a data set for an experiment. The zero value trains and
// tests as the set's own paper or split does; in a set without a split all classes
// train.
type Selection struct {
	// Label is the column or rule to train with; "" is the set's usual one.
	Label string
	// Fine is the column or rule to score with; "" is the fine column.
	Fine string
	// TrainClasses and TestClasses list classes of the fine column, as
	// Column.ParseClasses reads them; "" takes all classes that the split leaves.
	TrainClasses, TestClasses string
	// Split says which samples may be on which side:
	//
	//	""          official if the set has a split; else images:F, so that all
	//	            classes train; else, where most classes have too few images for
	//	            that or classes are listed, classes
	//	official    the set's own split
	//	images      the set's own split of the images of every class, where it
	//	            has one beside a class-disjoint one (CUB, Cars)
	//	images:F    the fraction F of every class's images, at random, tests; a
	//	            class of one image trains
	//	classes     separate classes: TrainClasses against TestClasses. If one
	//	            is not given, it is the rest; if neither is given, the first
	//	            half of the classes trains and the second tests
	//	both:F      classes; and the fraction F of the images of every training
	//	            class, at random, is held out too: Selected.Seen
	//	fold:K/N    classes dealt at random into N folds; fold K (1..N) tests
	//	benchmark   official where the set has a split, else classes: what papers
	//	            compare. Sets with fewer than four classes: images:F
	//
	// Selected.Split has the rule that "" and benchmark chose.
	Split string
	// Validation cuts a part off the training part, for choosing settings and when to
	// stop:
	//
	//	none or ""  nothing
	//	classes:F   the fraction F of its classes (fine column), at random: at
	//	            least two, with two left to train; a set too small for that
	//	            gets images:F
	//	images:F    the fraction F of the images of every class of three or more,
	//	            at least one; none if no class has three
	//	as-test:F   a second test: classes:F where the test is on classes that
	//	            training does not see, else images:F, each of which is
	//	            searched among the others where most have one to find
	//
	// Selected.ValidationSplit has the rule that was applied.
	Validation string
	// Fold tests on a part of the training part in place of the test part, so that
	// settings can be chosen without looking at the test:
	//
	//	""          the test part is tested
	//	K/N         fold K (1..N) of the training part's classes, dealt at random: of
	//	            its labels where the test has none of them (alphabets that are
	//	            not trained on), else of its fine classes, those of each label alike
	//	images:K/N  fold K of the images of every class
	//
	// The other folds train. Every fold must have two classes, and two labels must
	// remain without it.
	Fold string
	// Group keeps samples that were taken together on one side of every division by
	// images: of images:F and both:F, of a validation part of images, of a fold of
	// images. Official splits stay as they are, and classes are kept apart whatever
	// groups they share.
	//
	//	none or ""  every sample is divided by itself
	//	found       bursts and copies, as Part.FindGroups finds them, which looks at
	//	            the pictures
	//	folder      the images of a folder
	//	taken       those of one day, camera those of one camera, place those of one place to
	//	            about 100 m, by the EXIF blocks of the files, where the set has no column
	//	            of that name; files that do not say it are divided by themselves
	//	COLUMN      those with the same value in a column: a label column, or the
	//	            one that OpenOptions.Group names; where it is empty or NaN a
	//	            sample is divided by itself
	//
	// A class is divided as far as its groups allow. Its groups are taken in random
	// order, and a group is held out if that brings the class nearer to its share. If
	// all groups are too large, the smallest is held out; if the class is one group,
	// none.
	Group string
	// Seed determines images:F, both:F, fold:K/N, Fold and the validation part.
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
	// Validation has the samples cut off for validation, or is nil. ValidationGallery
	// is its gallery: Validation itself or Train.
	Validation, ValidationGallery *Part
	// Split and ValidationSplit are the rules that were applied: the same Selection
	// with these rules gives the same parts.
	Split, ValidationSplit string
	// Why says in a sentence or two how the samples were divided and for what reason.
	// ValidationWhy says the same of the validation part; "" without one.
	Why, ValidationWhy string
	// Kept counts what Selection.Group kept together. Groups has the group of every sample
	// of the data set, named by one of its samples; nil if no division asked for groups.
	Kept   Kept
	Groups []int
}

// Select applies s. An empty training or test side is an error.
func (d *Dataset) Select(s Selection) (*Selected, error) {
	return d.SelectContext(context.Background(), s)
}

// SelectContext is Select until ctx ends. With Selection.Group it may read all
// pictures.
func (d *Dataset) SelectContext(ctx context.Context, s Selection) (*Selected, error) {
	if err := d.consistent(); err != nil {
		return nil, err
	}
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
	if err := d.checkGroup(s.Group); err != nil {
		return nil, err
	}
	split, reason := d.usualSplit(fine, s)
	k := &keeper{rule: s.Group, d: d, fine: fine}
	roles, err := d.roles(ctx, split, s, k, trainIn, testIn)
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
	if err := out.filled(d, s); err != nil {
		return nil, err
	}
	why, kept := func() string { return out.why(reason) }, k.say(k.kept.Whole)
	if s.Fold != "" {
		if why, err = out.fold(ctx, s.Fold, s.Seed, k); err != nil {
			return nil, fmt.Errorf("data set %s: %w", d.Name, err)
		}
		kept = k.say(0)
	}
	out.Why = why() + kept
	err = out.validate(ctx, s.Validation, s.Seed, k)
	if strings.HasPrefix(out.ValidationSplit, "classes") {
		out.Why = why() + kept // of the classes that train now
	}
	out.Kept, out.Groups = k.kept, k.of
	return out, err
}

// filled returns an error if one of the sides is empty.
func (s *Selected) filled(d *Dataset, by Selection) error {
	if s.Train.Len() == 0 && by.TrainClasses == "" && s.Split == "official" {
		return fmt.Errorf("no sample to train on: the split of data set %s has no training part; split "+
			"images:0.2 or classes divides the set anew", d.Name)
	}
	if s.Train.Len() == 0 {
		return fmt.Errorf("no sample to train on: data set %s, split %q, training classes %q", d.Name, s.Split,
			by.TrainClasses)
	}
	if s.Query.Len() == 0 || s.Gallery.Len() == 0 {
		return fmt.Errorf("no sample to test on: data set %s, split %q, test classes %q", d.Name, s.Split,
			by.TestClasses)
	}
	return nil
}
