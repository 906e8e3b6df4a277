// Package decide turns distances into decisions with a stated error rate that holds on unseen classes:
// whether two items are the same, and which class an item has or that it is unknown.
//
//	c, err := decide.Calibrate(ctx, x, labels, decide.Options{})
//	t, err := c.Threshold(1e-3)         // a distance, and what it promises
//	p := c.Same(0.7, 0.5)               // how likely two photos show the same thing
//	d, err := c.Identify(gallery, [][]decide.Neighbour{near}, decide.IdentifyOptions{})
//
// The input is embeddings of classes that the network was not trained on, with their labels. The output
// is a Calibration, which can be written as JSON. It has the false-match rate of every distance with a
// bound at 95 %, the probability of "same", the rate of strangers in galleries of any size, and the
// distances of photos to their own class.
//
// The unit is the identity, which is a class. Two pairs that share a class are not independent, and a
// million pairs of fifty classes count as only fifty observations. Bounds are for as many new classes,
// drawn like those of the calibration. More photos cannot replace classes. Least returns the least rate
// that a number of classes can promise.
//
// The terms are those of ISO/IEC 19795-1. A false match is a pair of different classes within the
// threshold. A false positive identification is a probe that gets a label although its class is not in
// the gallery. A stranger is a photo whose class is not in the gallery.
//
// docs/decisions.md has derivations and measurements.
package decide
