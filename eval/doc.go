// Package eval measures embeddings: how well they retrieve, how well they
// cluster, and how well a threshold tells same from different.
//
//	metrics, err := eval.ParseMetrics("recall@1,map@r,nmi")
//	rep, err := eval.Evaluate(ctx, eval.Set{X: x, Labels: [][]int64{labels}}, nil, eval.Config{Metrics: metrics})
//	recall := rep.Columns[0].Values[0].Value
//
// In: a matrix of embeddings with one or more columns of labels, optionally a separate gallery, and a list of
// metrics. Out: a Report with a value for each metric and column of labels, the numbers of queries used and
// left out, confidence intervals and per-class and per-query values on request, and a statement of how every
// clustering was made. RecallAt is the short form for the one measure that all papers report.
//
// Retrieval measures are computed from the exact ranks that package eval/rank finds. Clusterings and their
// scores are in eval/cluster. Decisions by a threshold (are two items the same? which class is an item?) are in
// this package, too. Package eval/diagnose says whether an embedding has collapsed. docs/evaluation.md defines every
// measure and convention.
//
// # Decisions
//
// ComparePairs counts all pairs of two items by distance, CompareList those of a list,
// and Identify looks up probes whose class the gallery may lack. The words are those of
// ISO/IEC 19795-1 and of NIST's FRTE. A pair is genuine (mated) if both items have one
// label, else an impostor pair. It is accepted, taken for the same, if its distance is at
// most the threshold: the threshold itself is accepted.
//
//	FMR(t)  = accepted impostor pairs / impostor pairs    false match rate, also FAR
//	FNMR(t) = genuine pairs not accepted / genuine pairs  false non-match rate
//	TAR(t)  = 1 - FNMR(t)                                 true accept rate
//
// A probe is mated if the gallery has its class, else it should come out as unknown.
//
//	FPIR(t) = probes without a mate with any item within t / probes without a mate
//	FNIR(t) = mated probes with no item of their class within t / mated probes
//	DIR(t)  = mated probes whose nearest item is of their class and within t / mated probes
//
// All pairs are counted; none is sampled. A distance is that of rank.Between, in
// float64, and is rounded up to 20 significant bits, less than a part in 500,000. A
// threshold is always a number of 20 bits, and a distance is at most such a number
// exactly if the rounded one is: FMR and FNMR at a threshold are those of the distances
// themselves. Where two distances round to one number they count as a tie.
package eval
