// Package inspect examines a data set before anyone trains on it: how many
// samples each class has, what sizes the images are, which cannot be read, which
// occur twice, and which of those have two labels or stand on both sides of the
// split. Contact draws a sheet of examples.
package inspect
