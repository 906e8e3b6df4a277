package layout

import (
	"regexp"
	"slices"
	"strings"
)

// Role is the set of roles of a sample, with the bits of data.Split.
type Role uint8

const (
	Train Role = 1 << iota
	Query
	Gallery
	Test = Query | Gallery
)

// validation is the role of the samples of a validation part until resolveRoles gives them another role.
const validation Role = 1 << 7

// trainTest returns the role of the first or second half of a set.
func trainTest(half int) Role { return []Role{Train, Test}[half] }

// trailingYear matches a year at the end of the name of a part.
var trailingYear = regexp.MustCompile(`(19|20)\d\d$`)

// roleByName maps the usual names of the parts of a split to roles. It ignores case, a year, and a word
// for the content: train, trainset, train_images, images-train, Training Data, train2017.
func roleByName(name string) (Role, bool) {
	name = strings.TrimSuffix(trailingYear.ReplaceAllString(strings.ToLower(name), ""), "set")
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

// Notes on what resolveRoles decided.
const (
	noteValidation = "the set has no test part, so its validation part (val) is the test"
	noteSearched   = "the set has only one of query and gallery, so this part is the test and is searched within itself"
)

// resolveRoles changes the roles of a set's own split in place to the roles that are used, and returns a
// note. A validation part is not used, but it is the test of a set with a training part and no test.
// Queries without a gallery, or a gallery without queries, are the test. It returns nil if all samples
// only train.
func resolveRoles(splits []Role) (settled []Role, note string) {
	sides := allRolesIn(splits)
	if sides == Train {
		return nil, ""
	}
	becomes := Role(0)
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

// allRolesIn returns all roles that occur.
func allRolesIn(splits []Role) Role {
	sides := Role(0)
	for _, s := range splits {
		sides |= s
	}
	return sides
}

// isSplit reports whether roles form a split: two or more parts, with a training part or a gallery.
func isSplit(roles []Role) bool {
	first := slices.IndexFunc(roles, func(s Role) bool { return s != 0 })
	return first >= 0 && slices.ContainsFunc(roles, func(s Role) bool { return s != 0 && s != roles[first] })
}
