// Package cluster partitions embeddings by k-means and scores a partition
// against labels. In: embeddings, or two labelings of the same items. Out: an
// assignment with a statement of how it was made, or scores between a partition
// and classes: mutual information in its normalised and adjusted forms, Rand
// index, purity, pairwise F1, homogeneity and completeness.
package cluster
