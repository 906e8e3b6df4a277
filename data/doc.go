// Package data reads image sets and prepares them for training.
//
// Open recognises a layout (an idx folder, a benchmark's official files, a
// folder per class, a manifest) and returns a Dataset: a list of samples with a
// Source for their pixels and one or more label columns. Dataset.Select applies
// a label rule and a split and returns the Parts of an experiment: what to
// train on, what to query, what to search. A Loader decodes, augments and
// normalises batches of a Part in the background.
//
//	Open -> Dataset -> Select -> Part -> Loader -> Batch (NHWC float32)
package data
