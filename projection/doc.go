// Package projection draws maps: it places embeddings in the plane so that
// neighbouring rows stay close. PCA keeps the directions of largest variance;
// TSNE keeps neighbourhoods, exactly for a few thousand rows and by an
// interpolated field for tens of thousands.
//
// A matrix of n rows goes in, n points come out. The same seed gives the same
// bits for any GOMAXPROCS.
package projection
