// Package eval measures embeddings: how well they retrieve, how well they
// cluster, and how well a threshold tells same from different.
//
//	metrics, err := eval.ParseMetrics("recall@1,map@r,nmi")
//	rep, err := eval.Evaluate(ctx, eval.Set{X: x, Labels: [][]int64{labels}}, nil, eval.Config{Metrics: metrics})
//	recall := rep.Columns[0].Values[0].Value
//
// In: a matrix of embeddings with one or more columns of labels, perhaps a gallery
// apart from the queries, and a list of metrics. Out: a Report with a value per
// metric and column of labels, the number of queries it is based on and of those
// left out, confidence intervals and per-class and per-query values on request,
// and a statement of how every clustering was made. RecallAt is the short form for
// the one measure that all papers report.
//
// Retrieval measures are functions of the ranks that package eval/rank finds,
// exactly; clusterings and their scores are in eval/cluster; decisions by a threshold,
// whether two items are the same or who one is, in eval/verify; whether an embedding has
// collapsed is for eval/diagnose to say. docs/evaluation.md defines every
// measure and convention.
package eval
