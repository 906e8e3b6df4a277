// Package cluster partitions embeddings by k-means and scores a partition
// against labels.
//
//	res, err := cluster.KMeans(ctx, x, cluster.Config{K: 100, Seed: 1})
//	t, err := cluster.NewTable(labels, res.Assignment)
//	nmi := t.NMI(cluster.Arithmetic)
//
// KMeans is Lloyd's algorithm started by k-means++, optionally with restarts or in small batches. Its
// Result states how it was made. A Table counts the items that each class shares with each cluster,
// for any two labelings of the same items. Its methods are the scores: mutual information, normalised
// and adjusted for chance, the adjusted Rand index, purity, pairwise F1, homogeneity and completeness.
package cluster
