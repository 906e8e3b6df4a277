// Package data reads image sets and prepares them for training.
//
//	Open -> Dataset -> split.Select -> Part -> Loader -> Batch (NHWC float32)
//
// A Dataset is a list of named samples, with a Source of pixels (or ready Features), label
// Columns, and the roles of an official split if there is one. Open recognises how a set is
// stored: a benchmark's official files, a folder for each class, a CSV manifest, or a .zip archive
// of any of these. OpenFS does the same in an fs.FS, OpenFiles takes photos without labels, and
// New makes your own set in a few lines. Close a set after use, because it may hold files open.
//
// Package data/split applies a label rule and divides a set into Parts: the samples for training, the queries, the
// gallery and the samples for validation. Package data/sample draws class-balanced batches.
//
// A Loader decodes, augments and normalises batches of a Part in the background
// (package data/imaging). The augmentation of a sample in an epoch depends only on the seed, not
// on the number of workers.
//
// Errors name the file and the line, and say what to do. Files that are left out are counted and
// named in LeftOut.
package data
