// Package diagnose tells whether an embedding has collapsed its classes to
// points, and how well it orders the samples within a class.
//
//	r, err := diagnose.Run(ctx, diagnose.Input{X: x, Labels: classes, Fine: kinds}, diagnose.Options{})
//	fmt.Println(r.Verdict.Text)
//
// In: embeddings, the labels they were trained with and, if known, finer ones.
// Out: a Result of plain numbers, per class and overall, with a verdict in words
// and the figures behind it. The verdict follows from a few of them: Recall@1
// against chance says whether the classes are separated. Compactness (the distance within a class over
// that to the nearest other class), the share of classes of several kinds and the order by fine labels
// say whether classes have an inner structure.
//
// Distances are Euclidean between the rows as given, or between rows of length
// 1 if the cosine is asked for. Where a measure needs a common scale, distances
// are taken relative to the spread, the root mean square distance of the rows
// from their mean, so that embeddings of different scale can be compared.
package diagnose
