// Package projection draws maps: it places embeddings in the plane so that
// neighbouring rows stay close.
//
//	m, err := projection.TSNE{Seed: 1}.Run(ctx, x) // m.X[i], m.Y[i] is where row i goes
//	c, err := projection.PCA(ctx, x, 2)            // or c.Scores.Row(i)
//
// PCA keeps the directions of largest variance, and with them large distances.
// TSNE keeps neighbourhoods, exactly up to a few thousand rows and by an
// interpolated field for tens of thousands; sizes of groups and the distances
// between them mean little. Of more rows Sampled places a sample by t-SNE, and the
// others beside their nearest of the sample; Anchors does so with rows that come
// later. Divergence says how well any map keeps neighbourhoods, so that maps can be
// compared.
//
// A matrix of n rows goes in, n points come out. The same seed gives the same
// bits for any GOMAXPROCS.
package projection
