package data

import (
	"regexp"
	"slices"
	"strings"
)

// role is the set of roles of a sample, with the bits of data.Split.
type role uint8

const (
	roleTrain role = 1 << iota
	roleQuery
	roleGallery
	roleTest = roleQuery | roleGallery
)

// validation is the role of the samples of a validation part until resolveRoles gives them another role.
const validation role = 1 << 7

// trainTest returns the role of the first or second half of a set.
func trainTest(half int) role { return []role{roleTrain, roleTest}[half] }

// trailingYear matches a year at the end of the name of a part.
var trailingYear = regexp.MustCompile(`(19|20)\d\d$`)

// roleByName maps the usual names of the parts of a split to roles. It ignores case, a year, and a word
// for the content: train, trainset, train_images, images-train, Training Data, train2017.
func roleByName(name string) (role, bool) {
	name = strings.TrimSuffix(trailingYear.ReplaceAllString(strings.ToLower(name), ""), "set")
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_ ", r) })
	besides := []string{"data", "dataset", "images", "image", "imgs", "img", "photos", "pictures"}
	words = slices.DeleteFunc(words, func(word string) bool { return slices.Contains(besides, word) })
	if len(words) != 1 {
		return 0, false
	}
	switch words[0] {
	case "train", "training", "trainval":
		return roleTrain, true
	case "test", "testing", "eval", "evaluation", "holdout":
		return roleTest, true
	case "query", "probe":
		return roleQuery, true
	case "gallery":
		return roleGallery, true
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
func resolveRoles(splits []role) (settled []role, note string) {
	sides := allRolesIn(splits)
	if sides == roleTrain {
		return nil, ""
	}
	becomes := role(0)
	switch sides & (roleTrain | roleTest | validation) {
	case roleTrain | validation:
		becomes, note = validation, noteValidation
	case roleTrain | roleQuery, roleTrain | roleQuery | validation, roleTrain | roleGallery, roleTrain | roleGallery | validation:
		becomes, note = roleTest, noteSearched
	}
	for i, s := range splits {
		if s&becomes != 0 {
			s |= roleTest
		}
		splits[i] = s &^ validation
	}
	return splits, note
}

// allRolesIn returns all roles that occur.
func allRolesIn(splits []role) role {
	sides := role(0)
	for _, s := range splits {
		sides |= s
	}
	return sides
}

// isSplit reports whether roles form a split: two or more parts, with a training part or a gallery.
func isSplit(roles []role) bool {
	first := slices.IndexFunc(roles, func(s role) bool { return s != 0 })
	return first >= 0 && slices.ContainsFunc(roles, func(s role) bool { return s != 0 && s != roles[first] })
}
