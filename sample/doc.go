// Package sample draws batches of dataset indices. In: the labels of a training
// set. Out: batches in which every class present has several samples, so that
// an anchor finds positives, and in which no sample comes up twice, so that
// none is its own positive.
//
// Balanced draws so many classes and so many samples of each. Hierarchical does
// it with two labels: coarse classes, fine classes of each, samples of each.
//
//	s, err := sample.New(labels, sample.Config{Classes: 8, PerClass: 16})
//	for range epochs {
//		for _, batch := range s.Epoch() { // batch lists indices into labels
//			...
//		}
//	}
//
// With Views every sample of a batch is listed so many times, for losses between
// augmentations of a sample.
//
// What is left out of a Config follows from the sizes of the classes. Epochs
// differ, and depend only on the seed and their number: State and Restore go on
// where a sampler was.
package sample
