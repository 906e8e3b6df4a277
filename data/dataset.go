package data

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/matrix"
)

// Dataset is a list of samples. Sample i has the name Names[i], pixels from Source, and an id in
// every label column. A Dataset does not change after Open and is safe for concurrent use.
type Dataset struct {
	// Name is the name of the set: "mnist", or the last element of its path.
	Name string
	// Layout names the reader that recognised it: "idx", "omniglot", "manifest"...
	Layout string

	// Names identify the samples: paths below the root, or "train/17".
	Names []string
	// Source reads the pixels. It is nil if Features is set.
	Source Source
	// Features, one row per sample, replaces pixels in sets of ready features.
	Features *matrix.Dense
	// Boxes holds the part of every image to use, in pixels. It is nil if all images are used
	// whole. An empty rectangle means the whole image.
	Boxes []image.Rectangle

	// Columns are the label columns; nil in a set without labels. Fine names the column that
	// retrieval is scored with, Coarse the coarser column (may be ""), and Train the column that
	// the set is usually trained with.
	Columns             []Column
	Fine, Coarse, Train string
	// Levels describes class folders of two levels; nil without them.
	Levels *Levels

	// MultiLabel has all labels of every sample if the set allows several labels for a sample; else
	// nil.
	MultiLabel *MultiLabel

	// Group is the column that OpenOptions.Group named; else nil.
	Group *Column
	// OtherColumns are the columns of a manifest that nothing else of the set came from, as texts, if
	// OpenOptions.OtherColumns asks for them.
	OtherColumns []embedding.Column

	// Splits holds every sample's role in the official split. It is nil without one.
	Splits []Split
	// Disjoint says that Splits separates classes instead of images of a class.
	Disjoint bool
	// ImageSplits is a second official split, which divides the images of every class. It is nil
	// unless the set has such a split besides a class-disjoint one.
	ImageSplits []Split

	// LeftOut counts and names the files that were found but are not samples.
	LeftOut []LeftOut
	// Notes are remarks for the user about how the files were read, each a sentence.
	Notes []string
}

// Source reads the pixels of samples. It is safe for concurrent use.
type Source interface {
	// Shape returns the width, height and channels common to all samples, or zeros
	// if they differ or are not known before decoding.
	Shape() (w, h, c int)
	// Read decodes sample i into dst. dec holds the calling goroutine's
	// buffers and the limits to respect. Errors name the file.
	Read(ctx context.Context, i int, dst *imaging.Image, dec *imaging.Decoder) error
}

// Len returns the number of samples.
func (d *Dataset) Len() int { return len(d.Names) }

// Close closes the file that the set reads its pixels from: an archive or a cache. After that no
// pixels can be read. Sets in memory or in folders keep no file open.
func (d *Dataset) Close() error {
	if c, ok := d.Source.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Image reads sample i, cut to its box if the set has boxes. dec may be nil; see
// Source.Read.
func (d *Dataset) Image(ctx context.Context, i int, dst *imaging.Image, dec *imaging.Decoder) error {
	if dec == nil {
		dec = new(imaging.Decoder)
	}
	if d.Boxes != nil && dec.Shrink != nil { // the box is in pixels of the original file
		shrink := dec.Shrink
		dec.Shrink = nil
		defer func() { dec.Shrink = shrink }()
	}
	if err := d.Source.Read(ctx, i, dst, dec); err != nil {
		return err
	}
	if d.Boxes != nil && !d.Boxes[i].Empty() {
		r := d.Boxes[i].Intersect(image.Rect(0, 0, dst.W, dst.H))
		if r.Empty() {
			return fmt.Errorf("%s: box %v lies outside the image of %d x %d pixels", d.Names[i], d.Boxes[i], dst.W,
				dst.H)
		}
		dst.Crop(r)
	}
	return nil
}

// All returns every sample as a Part, with the set's usual labels for training and scoring if it
// has labels.
func (d *Dataset) All() *Part {
	p := &Part{Data: d, Index: lists.Indices(d.Len())}
	label, err1 := d.Column("")
	fine, err2 := d.Column(fineName)
	if err1 == nil && err2 == nil {
		p.Label, p.LabelClasses = slices.Clone(label.IDs), label.Classes
		p.Fine, p.FineClasses = slices.Clone(fine.IDs), fine.Classes
	}
	return p
}

// Column returns the label column with the given name. If no column has it, "fine" and "label" (its name in files of
// labels) mean the column that retrieval is scored with, and "coarse" the coarser one. "" means the column to train
// with. Rules are not columns; see Labels.
func (d *Dataset) Column(name string) (*Column, error) {
	switch has := slices.ContainsFunc(d.Columns, func(c Column) bool { return c.Name == name }); {
	case name == "":
		name = d.Train
	case has:
	case name == fineName || name == "label":
		name = d.Fine
	case name == coarseName && d.Coarse != "":
		name = d.Coarse
	}
	if len(d.Columns) == 0 {
		return nil, fmt.Errorf("data set %s has no labels: put the images of each class into a separate folder, or "+
			"list them with their labels in a manifest", d.Name)
	}
	var known []string
	for i := range d.Columns {
		if d.Columns[i].Name == name {
			return &d.Columns[i], nil
		}
		known = append(known, d.Columns[i].Name)
	}
	return nil, fmt.Errorf("data set %s has no label column %q; it has %s", d.Name, name, strings.Join(known, ", "))
}

// mustBeConsistent panics unless d is consistent, because an inconsistent set is a bug of its reader.
func (d *Dataset) mustBeConsistent() *Dataset {
	if err := d.CheckLengths(); err != nil {
		panic("data: layout " + d.Layout + ": " + err.Error())
	}
	return d
}

// New makes your own data set. Sample i has the name names[i], the class labels[i], and pixels from
// source. Samples with the same name count as the same picture.
//
// More columns (NewColumn), splits and boxes can be set before the set is used.
func New(name string, names, labels []string, source Source) (*Dataset, error) {
	d := &Dataset{Name: name, Layout: "own", Names: names, Source: source, Fine: "class", Train: "class",
		Columns: []Column{NewColumn("class", labels)}}
	if len(names) == 0 {
		return nil, fmt.Errorf("data set %s has no samples", name)
	}
	if err := errors.Join(d.CheckLengths(), d.checkNames()); err != nil {
		return nil, err
	}
	return d, nil
}

// CheckLengths returns an error if parts of d differ in the number of samples.
func (d *Dataset) CheckLengths() error {
	n := len(d.Names)
	length := map[string]int{}
	if d.Splits != nil {
		length["Splits"] = len(d.Splits)
	}
	if d.ImageSplits != nil {
		length["ImageSplits"] = len(d.ImageSplits)
	}
	if d.Boxes != nil {
		length["Boxes"] = len(d.Boxes)
	}
	if d.MultiLabel != nil {
		length["Several.Sets"] = len(d.MultiLabel.Sets)
	}
	if d.Group != nil {
		length["values in column "+d.Group.Name] = len(d.Group.IDs)
	}
	if d.Features != nil {
		length["rows of Features"] = d.Features.Rows
	}
	for i := range d.Columns {
		c := &d.Columns[i]
		length["labels in column "+c.Name] = len(c.IDs)
		for sample, id := range c.IDs {
			if id < 0 || id >= int64(len(c.Classes)) {
				return fmt.Errorf("data set %s, column %s: sample %d is of class %d of %d", d.Name, c.Name, sample, id,
					len(c.Classes))
			}
		}
		if c.Numbers != nil && len(c.Numbers) != len(c.Classes) {
			return fmt.Errorf("data set %s, column %s: %d numbers for %d classes", d.Name, c.Name, len(c.Numbers),
				len(c.Classes))
		}
	}
	for what, k := range length {
		if k != n {
			return fmt.Errorf("data set %s: %d names of samples and %d %s", d.Name, n, k, what)
		}
	}
	if (d.Source == nil) == (d.Features == nil) {
		return fmt.Errorf("data set %s: set either Source or Features, not both", d.Name)
	}
	return nil
}
