package split

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
)

// Selection describes the division of a data set for an experiment. The zero value divides as the
// set's own paper or split does. In a set without a split all classes train.
type Selection struct {
	// Label is the column or rule to train with; "" means the set's usual column.
	Label string
	// Fine is the column or rule to score with; "" means the fine column, or the column coarse if Label is that and
	// Dataset.Levels says that finer folders are not classes.
	Fine string
	// TrainClasses and TestClasses list classes of the fine column in the form of
	// Column.ParseClasses; "" means all classes that the split allows.
	TrainClasses, TestClasses string
	// Split is the rule that divides the samples:
	//
	//	""          official if the set has a split; else classes if classes are listed
	//	            or most have too few images; else images:F, so that all classes
	//	            train
	//	official    the set's own split
	//	images      the set's own split of the images of every class, if it has one
	//	            besides a class-disjoint split (CUB, Cars)
	//	images:F    a random fraction F of every class's images tests; a class of
	//	            one image trains
	//	classes     separate classes: TrainClasses against TestClasses. If one
	//	            is not given, it is the rest; if neither is given, the first
	//	            half of the classes trains and the second tests
	//	both:F      classes; a random fraction F of the images of every training
	//	            class is held out too: Parts.Seen
	//	fold:K/N    classes dealt at random into N folds; fold K (1..N) tests
	//	benchmark   official if the set has a split, else classes, as papers compare;
	//	            images:F for sets with fewer than four classes
	//
	// Parts.Split is the rule that "" and benchmark chose.
	Split string
	// Validation takes a part of the training part for choosing settings and the time to stop:
	//
	//	none or ""  nothing
	//	classes:F   a random fraction F of its classes (fine column), at least two,
	//	            with two left for training; images:F for smaller sets
	//	images:F    a fraction F of the images of every class of three or more, at
	//	            least one; nothing if no class has three
	//	as-test:F   like the test: classes:F if training does not see the test's
	//	            classes, else images:F, with each image searched among the
	//	            others if most have another of their class there
	//
	// Parts.ValidationSplit is the rule that was applied.
	Validation string
	// Fold tests on a part of the training part instead of the test part, so that settings can be
	// chosen without the test:
	//
	//	""          the test part
	//	K/N         fold K (1..N) of the training part's classes, dealt at random:
	//	            of its labels if the test has other labels (such as alphabets
	//	            that are not trained on), else of its fine classes, with the
	//	            classes of each label spread evenly
	//	images:K/N  fold K of the images of every class
	//
	// The other folds train. Every fold must have two classes, and the other folds two labels.
	Fold string
	// Group keeps samples that were taken together on one side of every division by images:
	// images:F, both:F, a validation part of images, and a fold of images. It does not change
	// official splits and divisions by classes.
	//
	//	none or ""  no groups
	//	found       bursts and copies, as FindGroups finds them in the pictures
	//	folder      the images of a folder
	//	taken       the images of one day, by the EXIF blocks of the files
	//	camera      the images of one camera, by EXIF
	//	place       the images of one place to about 100 m, by EXIF
	//	COLUMN      the samples with the same value in a column: a label column, or
	//	            the column that OpenOptions.Group names
	//
	// A column named taken, camera or place takes precedence over EXIF. A sample without a value
	// (no EXIF tag, an empty field or NaN) is in no group.
	//
	// A class is divided as far as its groups allow. Groups are taken in random order, and a group
	// is held out if that brings the class nearer to its share. If all groups are too large, the
	// smallest is held out. A class that is a single group is not divided.
	Group string
	// Seed determines images:F, both:F, fold:K/N, Fold and the validation part.
	Seed uint64
}

// Parts is the result of Dataset.Select.
type Parts struct {
	Train *data.Part
	// Query and Gallery are the same Part, unless the set has different ones.
	Query, Gallery *data.Part
	// Seen holds the test samples of training classes if Query lacks them because of TestClasses;
	// else nil.
	Seen *data.Part
	// Validation holds the samples for validation, or is nil. ValidationGallery is its gallery:
	// Validation itself or Train.
	Validation, ValidationGallery *data.Part
	// Split and ValidationSplit are the rules that were applied. The same Selection with these
	// rules gives the same parts.
	Split, ValidationSplit string
	// Why explains in a sentence or two how and why the samples were divided. ValidationWhy
	// explains the validation part; "" without one.
	Why, ValidationWhy string
	// GroupCounts counts the groups that Selection.Group kept together. Groups has the group of every
	// sample of the data set, named by one of its samples; nil if no division needed groups.
	GroupCounts GroupCounts
	Groups      []int
}

// Select divides d as s says. An empty training or test side is an error. With Selection.Group it may read
// all pictures.
func Select(ctx context.Context, d *data.Dataset, s Selection) (*Parts, error) {
	if err := d.CheckLengths(); err != nil {
		return nil, err
	}
	label, err := d.Labels(s.Label)
	if err != nil {
		return nil, err
	}
	_, fineColumn := d.LabelColumns(s.Label, s.Fine)
	fine, err := d.Labels(cmp.Or(fineColumn, "fine"))
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
	if err := checkGroup(d, s.Group); err != nil {
		return nil, err
	}
	split, reason := defaultSplit(d, fine, s)
	k := &grouper{rule: s.Group, d: d, fine: fine}
	roles, err := roles(ctx, d, split, s, k, trainIn, testIn)
	if err != nil {
		return nil, err
	}
	part := func(role data.Split, in []bool) *data.Part {
		p := &data.Part{Data: d, LabelClasses: label.Classes, FineClasses: fine.Classes}
		for i, r := range roles {
			if r&role != 0 && in[fine.IDs[i]] {
				p.Index = append(p.Index, i)
				p.Label = append(p.Label, label.IDs[i])
				p.Fine = append(p.Fine, fine.IDs[i])
			}
		}
		return p
	}
	out := &Parts{Train: part(data.Train, trainIn), Query: part(data.Query, testIn), Split: split}
	out.Gallery = part(data.Gallery, testIn)
	if slices.Equal(out.Query.Index, out.Gallery.Index) {
		out.Gallery = out.Query
	}
	seen := make([]bool, len(trainIn))
	for i := range seen {
		seen[i] = trainIn[i] && !testIn[i]
	}
	if p := part(data.Query, seen); p.Len() > 0 {
		out.Seen = p
	}
	if err := out.checkNotEmpty(d, s); err != nil {
		return nil, err
	}
	why, kept := func() string { return out.explainSplit(reason) }, k.keptMessage(k.counts.Whole)
	if s.Fold != "" {
		if why, err = out.applyFold(ctx, s.Fold, s.Seed, k); err != nil {
			return nil, fmt.Errorf("data set %s: %w", d.Name, err)
		}
		kept = k.keptMessage(0)
	}
	out.Why = why() + kept
	err = out.takeValidation(ctx, s.Validation, s.Seed, k)
	if strings.HasPrefix(out.ValidationSplit, "classes") {
		out.Why = why() + kept // describe the final training classes
	}
	out.GroupCounts, out.Groups = k.counts, k.groupOf
	return out, err
}

// checkNotEmpty returns an error if one of the sides is empty.
func (s *Parts) checkNotEmpty(d *data.Dataset, by Selection) error {
	if s.Train.Len() == 0 && by.TrainClasses == "" && s.Split == "official" {
		return fmt.Errorf("no sample to train on: the split of data set %s has no training part: use split "+
			"images:0.2 or classes instead", d.Name)
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

// Cache replaces the data set of all parts of s by a cached one; see data.Dataset.Cache.
func (s *Parts) Cache(ctx context.Context, opt data.CacheOptions) error {
	cached := make(map[*data.Dataset]*data.Dataset)
	for _, p := range []*data.Part{s.Train, s.Validation, s.Query, s.Gallery, s.Seen} {
		if p == nil {
			continue
		}
		if cached[p.Data] == nil {
			c, err := p.Data.Cache(ctx, opt)
			if err != nil {
				return err
			}
			cached[p.Data], cached[c] = c, c // two parts may have the same data set
		}
		p.Data = cached[p.Data]
	}
	return nil
}
