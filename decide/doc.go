// Package decide turns distances into decisions with a stated error that holds on unseen
// classes: whether two items are the same, and which class an item has, or that it is
// unknown.
//
//	c, err := decide.Calibrate(ctx, x, labels, decide.Options{})
//	t, err := c.Threshold(1e-3)         // a distance, and what it promises
//	p := c.Same(0.7, 0.5)               // how likely two photos show the same thing
//	d, err := c.Identify(gallery, [][]decide.Neighbour{near}, decide.IdentifyOptions{})
//
// In: embeddings of classes that the network was not trained on, with their labels. Out:
// a Calibration, a value that is written as JSON: the false-match rate of every distance
// with a bound at 95 %, the probability "same", the nearest stranger in galleries of any
// size, and how far a photo is from its own class.
//
// The unit of all this is the identity, a class: two pairs that share a class are not
// independent, and a million pairs of fifty classes are worth only fifty observations.
// Bounds are for new classes drawn like those of the calibration, as many of them; no
// number of photos replaces classes. Least says what a number of classes can carry.
//
// Names are those of ISO/IEC 19795-1: a false match is a pair of different classes
// within the threshold; a false positive identification is a probe that is given a label
// although its class is not in the gallery.
//
// docs/decisions.md has the derivations in words, and measurements.
package decide
