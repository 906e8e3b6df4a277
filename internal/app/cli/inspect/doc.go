// Package inspect examines a data set before training: the number of samples of
// each class, the sizes of the images, images that cannot be read, and images that
// occur twice, with two labels or on both sides of the split. Contact draws a sheet
// of examples.
package inspect
