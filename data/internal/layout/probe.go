// Package layout recognises how a data set is stored, and lists its samples in plain values.
//
// Open probes the layouts one after the other: a benchmark's official files, a manifest, shards, tables, and at last
// folders of classes. The reader of each is in a file with its name. It fills a Set, of which package data makes a
// Dataset.
package layout

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/format/idx"
)

// layout is a way to store a set.
type layout struct {
	name string
	// marks are lists of files; the layout is recognised by all files of one list.
	marks [][]string
	// recognise is for layouts that no list of files tells, and looks says what it looks for.
	looks     string
	recognise func(ctx context.Context, t *listing) bool
	// read lists the samples.
	read func(ctx context.Context, s *Set) error
}

// layouts returns the layouts in the order in which they are tried. Anything else is read as folders of images.
func layouts() []layout {
	return []layout{
		{name: "idx", marks: listEach(idx.Variants(idx.Files()[0])...), read: readIdxSet},
		{name: "manifest", marks: listEach(manifestName), read: readManifest},
		{name: "omniglot", looks: strings.Join(omniglotHalves(), " or "), recognise: isOmniglot, read: readOmniglot},
		{name: "cub", marks: [][]string{{"images.txt", "image_class_labels.txt"}}, read: readCUB},
		{name: "cars", marks: listEach("cars_annos.mat", "devkit/cars_train_annos.mat", "cars_train_annos.mat",
			"anno_train.csv", "cardatasettrain.csv"), read: readCars},
		{name: "sop", marks: [][]string{{"Ebay_train.txt", "Ebay_test.txt"}}, read: readSOP},
		{name: "inshop", marks: listEach("list_eval_partition.txt", "Eval/list_eval_partition.txt"), read: readInShop},
		{name: "cifar100", marks: [][]string{{"train.bin", "test.bin"}}, read: readCIFAR100},
		{name: "grocery", marks: [][]string{{"train.txt", "test.txt", "classes.csv"}}, read: readGrocery},
		{name: "inat", looks: "train*.json and val*.json or test*.json", recognise: isINat, read: readINat},
		{name: "webdataset", looks: "*.tar", recognise: isShardsOf(tarExtension), read: readWebDataset},
		{name: "parquet", looks: "*.parquet", recognise: isShardsOf(parquetExtension), read: readPictures},
	}
}

// listEach returns a list of one file for each name.
func listEach(names ...string) [][]string {
	var out [][]string
	for _, n := range names {
		out = append(out, []string{n})
	}
	return out
}

// describeLayouts lists the layouts and what each is recognised by; of several forms the first.
func describeLayouts() string {
	var out []string
	for _, l := range layouts() {
		looks := l.looks
		if l.marks != nil {
			looks = strings.Join(l.marks[0], " with ")
		}
		out = append(out, l.name+" ("+looks+")")
	}
	return strings.Join(out, ", ")
}

// find returns the layout that recognises t, and the files that it was recognised by; nil if there is none.
func find(ctx context.Context, t *listing) (l *layout, marks []string) {
	for _, l := range layouts() {
		if i := slices.IndexFunc(l.marks, func(files []string) bool {
			return !slices.ContainsFunc(files, func(name string) bool { return !t.Has(name) })
		}); i >= 0 {
			return &l, l.marks[i]
		}
		if l.recognise != nil && l.recognise(ctx, t) {
			return &l, nil
		}
	}
	return nil, nil
}

// OpenTree reads the set in t itself, or in the only folder in t, or in the only archive in a folder.
func OpenTree(ctx context.Context, t tree.Tree, name string, opt Options) (*Set, error) {
	whole := &listing{Tree: t}
	in := whole
	l, marks := find(ctx, in)
	if dir, ok := tree.SoleFolder(ctx, whole); l == nil && ok {
		in = &listing{Tree: tree.NewSub(t, dir)}
		l, marks = find(ctx, in)
	}
	if l != nil {
		return l.open(ctx, in, marks, name, opt)
	}
	if zip, ok := soleZip(ctx, whole); ok {
		inner, err := zip.OpenZip()
		if err != nil {
			return nil, err
		}
		s, err := OpenTree(ctx, inner, name, opt)
		if err != nil {
			inner.Close()
		}
		return s, err
	}
	folders := layout{name: "folders", read: readFolders}
	return folders.open(ctx, whole, nil, name, opt)
}

// open reads the set in t. The layout was recognised by marks.
func (l *layout) open(ctx context.Context, t *listing, marks []string, name string, opt Options) (*Set, error) {
	s := newSet(l.name, name, t, opt)
	s.marks = marks
	if err := l.read(ctx, s); err != nil {
		return nil, err
	}
	if len(s.Names) == 0 && len(marks) > 0 {
		return nil, fmt.Errorf("%s: lists no image", s.path(marks[0]))
	}
	return s, nil
}

func newSet(layout, name string, t *listing, opt Options) *Set {
	return &Set{Name: name, Layout: layout, Files: new(tree.Files), tree: t, opt: opt}
}

// soleZip finds the only zip archive at the top of a folder without images.
func soleZip(ctx context.Context, t *listing) (zip tree.Folder, ok bool) {
	f, ok := t.Tree.(tree.Folder)
	if !ok {
		return f, false
	}
	found := slices.DeleteFunc(f.Top(), func(name string) bool { return filepath.Ext(name) != ".zip" })
	if len(found) != 1 {
		return f, false
	}
	images := false
	err := t.Walk(ctx, func(name, why string) error {
		if why == "" && tree.IsImageName(name) {
			images = true
			return tree.ErrStop
		}
		return nil
	})
	return f.Sub(found[0]), !images && (err == nil || errors.Is(err, tree.ErrStop))
}
