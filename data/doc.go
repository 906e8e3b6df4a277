// Package data reads image sets and prepares them for training.
//
//	Open -> Dataset -> Select -> Part -> Loader -> Batch (NHWC float32)
//
// A Dataset is a list of samples: a name each, a Source of their pixels (or ready
// Features), label Columns, and the roles of an official split if there is one.
// Open recognises how a set is stored: a benchmark's official files, a folder per
// class, a CSV manifest, a .zip archive of any of these. OpenFS does the same in
// an fs.FS, OpenFiles takes photos as they are, without labels, and New makes a
// set of your own in a few lines. A set that may hold files open has to be closed.
//
// Dataset.Select applies a label rule and a split, and says why it divided the
// samples as it did. Its Parts are what to train on, what to query, what to search
// and what to validate with.
//
// A Loader decodes, augments and normalises batches of a Part in the background
// (package data/imaging). The augmentation of a sample in an epoch depends on the seed
// alone, not on the number of workers.
//
// Balanced draws batches of indices. Every class in a batch has several samples, so
// that an anchor finds positives, and no sample occurs twice, so that none is its own
// positive. Hierarchical does the same with two labels: coarse classes, fine classes
// of each, samples of each.
//
//	s, err := data.NewBalanced(labels, data.BalancedConfig{Classes: 8, PerClass: 16})
//	for range epochs {
//		for _, batch := range s.Epoch() { // batch lists indices into labels
//			...
//		}
//	}
//
// Settings left out of the configuration follow from the sizes of the classes. Every
// epoch differs, and depends only on the seed and its number. State and Restore
// continue a sampler.
//
// Errors name the file, the line and the way out. Files left out are counted and
// named in LeftOut.
package data
