// Package run turns a configuration into a trained embedding.
//
// In: a Config, from YAML and overrides, that names a data set, a network, how
// batches are drawn and mined, a loss and an optimizer. Out: a run folder with
// the resolved configuration, the network, the metrics of every epoch, and the
// embeddings of the test split.
//
//	sampler -> loader -> network -> objective -> gradient -> step -> evaluation
//
// A run is a function of its configuration and its data: the same seed gives
// the same bits on any number of cores, and a run that was stopped or killed
// and then resumed from its checkpoint gives the same bits as one that was not.
// docs/training.md is the page for users; docs/design/train.md gives the
// reasons.
package run
