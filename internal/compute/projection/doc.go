// Package projection draws maps: it places embeddings in the plane so that
// neighbouring rows stay close.
//
//	m, err := projection.TSNE{Seed: 1}.Run(ctx, x) // m.X[i], m.Y[i] is where row i goes
//	c, err := projection.PCA(ctx, x, 2)            // or c.Scores.Row(i)
//
// PCA keeps the directions of largest variance, and so large distances. TSNE keeps neighbourhoods. It is exact up
// to a few thousand rows, and uses an interpolated field for tens of thousands. In its maps, sizes of groups and
// distances between them mean little. For more rows, Sampled places a sample by t-SNE and the others beside their
// nearest rows of the sample. Anchors places later rows in the same way. Divergence measures how well a map keeps
// neighbourhoods, so that maps can be compared.
//
// The input is a matrix of n rows, and the output is n points. The same seed gives the same bits for any
// GOMAXPROCS.
package projection
