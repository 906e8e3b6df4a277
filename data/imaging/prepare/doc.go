// Package prepare turns images into the float32 tensors that networks take. It resizes, augments and normalises.
//
// A Resizer resamples with antialiasing, as PIL and torchvision do. A Pipeline puts the steps together and writes one
// normalised sample, height x width x channels:
//
//	channels; crop, resize and mirror, in one resampling; affine map; colours;
//	normalization; shift; erasing
//
// All randomness comes from the generator that the caller passes. The same state of the generator
// gives the same bits with any number of workers, and the same values up to float32 rounding on
// another kind of processor. Without a generator it gives an image as evaluations use it.
//
// Fit, Filter, Normalization and Augment have text forms such as "cover", "bicubic", "imagenet" and
// "standard".
package prepare
