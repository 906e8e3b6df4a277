package cluster

// countPairs counts the unordered pairs of items: pairs together in both labelings, in the same class, in
// the same cluster, and all pairs. Counts of up to 4e9 items would fit in 2^63, but later products need
// float64.
func (t *Table) countPairs() (both, class, clust, all float64) {
	choose2 := func(n int) float64 { return float64(n) * float64(n-1) / 2 }
	for _, c := range t.cells {
		both += choose2(c.count)
	}
	for _, n := range t.classes {
		class += choose2(n)
	}
	for _, n := range t.clusters {
		clust += choose2(n)
	}
	return both, class, clust, choose2(t.n)
}

// ARI is the adjusted Rand index (Hubert and Arabie 1985): (RI - E[RI]) /
// (max RI - E[RI]), 1 for equal partitions, about 0 for independent ones.
func (t *Table) ARI() float64 {
	both, class, clust, all := t.countPairs()
	if both == class && both == clust {
		return 1
	}
	expected := class * clust / all
	return (both - expected) / ((class+clust)/2 - expected)
}

// F1 is the harmonic mean of pairwise precision (pairs in one cluster that
// share a class) and recall (pairs of one class that share a cluster). It is 0
// if no pair shares both, including when there are no pairs at all.
func (t *Table) F1() float64 {
	both, class, clust, _ := t.countPairs()
	if both == 0 {
		return 0
	}
	return 2 * both / (class + clust)
}

// Purity is the share of items that belong to the most frequent class of their
// cluster. It grows with the number of clusters and reaches 1 for singletons.
func (t *Table) Purity() float64 {
	best := make([]int, len(t.clusters))
	for _, c := range t.cells {
		best[c.cluster] = max(best[c.cluster], c.count)
	}
	sum := 0
	for _, b := range best {
		sum += b
	}
	return float64(sum) / float64(t.n)
}
