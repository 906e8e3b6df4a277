// Package sample draws batches of samples by their labels.
//
// Balanced draws batches of indices. Every class in a batch has several samples, so that an anchor
// has positives. No sample occurs twice, so that no sample is its own positive. Hierarchical does
// the same with two labels: it draws coarse classes, fine classes of each coarse class, and
// samples of each fine class.
//
//	s, err := sample.NewBalanced(labels, sample.BalancedConfig{Classes: 8, PerClass: 16})
//	for range epochs {
//		for _, batch := range s.Epoch() { // batch lists indices into labels
//			...
//		}
//	}
//
// Settings that the configuration leaves out depend on the sizes of the classes. Epochs differ,
// and each depends only on the seed and its number. State and Restore continue a sampler.
package sample
