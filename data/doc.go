// Package data reads image sets and prepares them for training.
//
//	Open -> Dataset -> Select -> Part -> Loader -> Batch (NHWC float32)
//
// A Dataset is a list of named samples, with a Source of pixels (or ready Features), label
// Columns, and the roles of an official split if there is one. Open recognises how a set is
// stored: a benchmark's official files, a folder for each class, a CSV manifest, or a .zip archive
// of any of these. OpenFS does the same in an fs.FS, OpenFiles takes photos without labels, and
// New makes your own set in a few lines. Close a set after use, because it may hold files open.
//
// Dataset.Select applies a label rule and a split, and explains the division. Its Parts are the
// samples for training, the queries, the gallery and the samples for validation.
//
// A Loader decodes, augments and normalises batches of a Part in the background
// (package data/imaging). The augmentation of a sample in an epoch depends only on the seed, not
// on the number of workers.
//
// Balanced draws batches of indices. Every class in a batch has several samples, so that an anchor
// has positives. No sample occurs twice, so that no sample is its own positive. Hierarchical does
// the same with two labels: it draws coarse classes, fine classes of each coarse class, and
// samples of each fine class.
//
//	s, err := data.NewBalanced(labels, data.BalancedConfig{Classes: 8, PerClass: 16})
//	for range epochs {
//		for _, batch := range s.Epoch() { // batch lists indices into labels
//			...
//		}
//	}
//
// Settings that the configuration leaves out depend on the sizes of the classes. Epochs differ,
// and each depends only on the seed and its number. State and Restore continue a sampler.
//
// Errors name the file and the line, and say what to do. Files that are left out are counted and
// named in LeftOut.
package data
