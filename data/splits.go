package data

import (
	"regexp"
	"slices"
	"strings"
)

// validation is the role of the samples of a validation part until settle has given
// it one of the others.
const validation Split = 1 << 7

// year is one at the end of the name of a part.
var year = regexp.MustCompile(`(19|20)\d\d$`)

// splitNamed maps the usual names of the parts of a split to roles, in any case and with a word
// for what is in the part or a year: train, trainset, train_images, images-train, Training Data,
// train2017.
func splitNamed(name string) (Split, bool) {
	name = strings.TrimSuffix(year.ReplaceAllString(strings.ToLower(name), ""), "set")
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_ ", r) })
	besides := []string{"data", "dataset", "images", "image", "imgs", "img", "photos", "pictures"}
	words = slices.DeleteFunc(words, func(word string) bool { return slices.Contains(besides, word) })
	if len(words) != 1 {
		return 0, false
	}
	switch words[0] {
	case "train", "training", "trainval":
		return Train, true
	case "test", "testing", "eval", "evaluation", "holdout":
		return Test, true
	case "query", "probe":
		return Query, true
	case "gallery":
		return Gallery, true
	case "val", "valid", "validation", "dev":
		return validation, true
	}
	return 0, false
}

// Notes on what settle decided.
const (
	noteValidation = "the set has no test part, so its validation part (val) is the test"
	noteSearched   = "the set has only one of query and gallery, so this part is the test, searched among itself"
)

// settle turns the roles of a set's own split, in place, into those it is used with, and
// says what was decided. A validation part takes no side, but is the test of a set that
// trains and has no other. Queries without a gallery, and the other way about, are the
// test too. It returns nil if all samples only train.
func settle(splits []Split) (settled []Split, note string) {
	sides := sidesOf(splits)
	if sides == Train {
		return nil, ""
	}
	becomes := Split(0)
	switch sides & (Train | Test | validation) {
	case Train | validation:
		becomes, note = validation, noteValidation
	case Train | Query, Train | Query | validation, Train | Gallery, Train | Gallery | validation:
		becomes, note = Test, noteSearched
	}
	for i, s := range splits {
		if s&becomes != 0 {
			s |= Test
		}
		splits[i] = s &^ validation
	}
	return splits, note
}

// sidesOf is all roles that occur.
func sidesOf(splits []Split) Split {
	sides := Split(0)
	for _, s := range splits {
		sides |= s
	}
	return sides
}

// settle gives d the roles of its own split.
func (d *Dataset) settle(splits []Split) {
	settled, note := settle(splits)
	d.Splits = settled
	if note != "" {
		d.Notes = append(d.Notes, note)
	}
}

// twoSided reports whether roles are those of a split: two parts or more, one of which
// is searched or trains.
func twoSided(roles []Split) bool {
	first := slices.IndexFunc(roles, func(s Split) bool { return s != 0 })
	return first >= 0 && slices.ContainsFunc(roles, func(s Split) bool { return s != 0 && s != roles[first] })
}
