package data

import (
	"slices"
	"strings"
)

// validation is the role of the samples of a validation part until settle has given
// it one of the others.
const validation Split = 1 << 7

// splitNamed maps the usual names of the parts of a split to roles, in any case: train, and
// train_set or trainset too.
func splitNamed(name string) (Split, bool) {
	name, set := strings.CutSuffix(strings.ToLower(name), "set")
	if set {
		name = strings.TrimRight(name, "-_ ")
	}
	switch name {
	case "train", "training":
		return Train, true
	case "test", "testing":
		return Test, true
	case "query":
		return Query, true
	case "gallery":
		return Gallery, true
	case "val", "valid", "validation":
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

// twoSided tells whether roles are those of a split: two parts or more, of which one
// is searched or trains.
func twoSided(roles []Split) bool {
	first := slices.IndexFunc(roles, func(s Split) bool { return s != 0 })
	return first >= 0 && slices.ContainsFunc(roles, func(s Split) bool { return s != 0 && s != roles[first] })
}
