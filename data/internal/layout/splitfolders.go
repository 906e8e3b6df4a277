package layout

import (
	"path"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/tree"
)

// folderLayout holds the places of the images of a set in class folders, with or without folders train, val
// and so on.
type folderLayout struct {
	names []string // images with a class
	dirs  []string // the class of each image, a path of folders
	roles []Role   // the role of each image by roleByName; nil without split folders
	loose []string // images without a class folder
	left  []tree.LeftOut
}

// Reasons to leave out images of a set with split folders.
const (
	reasonBesideSplits = "beside the folders of the split (train, val, test, query, gallery)"
	reasonNoClass      = "in a folder of the split, outside any class folder"
)

// findSplitFolders finds the split folders of images that are all in folders:
//
//	train/cat, test/cat    side by side, with class folders in them; images elsewhere at the
//	                       level are left out if two split folders have classes
//	train/cat              a single split folder: counts as a plain root
//	cat/train, cat/test    in all classes
//
// Folders around these are ignored.
func findSplitFolders(names []string) *folderLayout {
	parts := make([][]string, len(names))
	for i, n := range names {
		parts[i] = strings.Split(path.Dir(n), "/")
	}
	around := CommonFolders(parts)
	if p := splitAboveClasses(names, parts, around); p != nil {
		return p
	}
	for at, folder := range parts[0][:around] {
		if _, ok := roleByName(folder); ok {
			return withoutSplit(names, parts, at+1)
		}
	}
	if p := splitBelowClasses(names, parts, around); p != nil {
		return p
	}
	return withoutSplit(names, parts, 0)
}

// CommonFolders returns the number of folders that all images have in common.
func CommonFolders(parts [][]string) int {
	n := len(parts[0])
	for _, p := range parts {
		same := 0
		for same < min(n, len(p)) && p[same] == parts[0][same] {
			same++
		}
		n = same
	}
	return n
}

// withoutSplit returns a set without a split, whose classes are below root folders.
func withoutSplit(names []string, parts [][]string, root int) *folderLayout {
	p := new(folderLayout)
	for i, n := range names {
		if len(parts[i]) == root {
			p.loose = append(p.loose, n)
			continue
		}
		p.names, p.dirs = append(p.names, n), append(p.dirs, path.Join(parts[i][root:]...))
	}
	return p
}

// splitAboveClasses finds split folders below around folders. It returns nil if there are none.
func splitAboveClasses(names []string, parts [][]string, around int) *folderLayout {
	var all, classed []Role // roles of all images in split folders, and of those with class folders
	others := false
	for _, p := range parts {
		if len(p) == around {
			continue
		}
		r, ok := roleByName(p[around])
		others = others || !ok
		if ok {
			all = append(all, r)
		}
		if ok && len(p) > around+1 {
			classed = append(classed, r)
		}
	}
	if len(all) == 0 || others && !isSplit(classed) {
		return nil
	}
	p := new(folderLayout)
	for i, n := range names {
		r := Role(0)
		ok := false
		if len(parts[i]) > around {
			r, ok = roleByName(parts[i][around])
		}
		switch {
		case len(parts[i]) == around || ok && len(parts[i]) == around+1 && len(classed) == 0:
			p.loose = append(p.loose, n)
		case !ok:
			p.left = tree.Count(p.left, reasonBesideSplits, 1, n)
		case len(parts[i]) == around+1:
			p.left = tree.Count(p.left, reasonNoClass, 1, n)
		default:
			p.add(n, parts[i][around+1:], r)
		}
	}
	return p.dropSingleRole()
}

// splitBelowClasses finds split folders that hold all images, at one depth below more than around folders.
// It returns nil if there are none.
func splitBelowClasses(names []string, parts [][]string, around int) *folderLayout {
	for at := around + 1; ; at++ {
		p := new(folderLayout)
		for i, n := range names {
			if len(parts[i]) <= at {
				return nil
			}
			r, ok := roleByName(parts[i][at])
			if !ok {
				break
			}
			p.add(n, slices.Concat(parts[i][around:at], parts[i][at+1:]), r)
		}
		if len(p.names) == len(names) && isSplit(p.roles) {
			return p
		}
	}
}

func (p *folderLayout) add(name string, class []string, r Role) {
	p.names, p.dirs, p.roles = append(p.names, name), append(p.dirs, path.Join(class...)), append(p.roles, r)
}

// dropSingleRole drops the roles if all images are in one part.
func (p *folderLayout) dropSingleRole() *folderLayout {
	if !isSplit(p.roles) {
		p.roles = nil
	}
	return p
}
