// Package clean finds errors in a labelled set, by its embeddings and pictures: items
// with labels that contradict their neighbours', copies of one picture, items unlike
// all others, and classes that overlap so much that they look like one.
//
//	res, err := clean.Labels(ctx, labels, clean.Options{}, clean.Fold{X: x})
//	for _, i := range res.Suspects(0.5) {
//		fmt.Println(i, labels[i], res.Suggested[i], res.Score[i])
//	}
//
// In: labels, and embeddings that do not depend on an item's own label. With a single
// embedding, each item is left out of the classifiers that judge it; but a network
// that was trained on a wrong label has learned it, the better, the longer it trained.
// Folds are embeddings by networks that were each trained without some of the items;
// these items are judged in that embedding alone.
//
// Out: scores that are probabilities, and a rank. The rank says how clearly a label is denied.
// The probability also asks how often right labels of the same set are denied as clearly, in
// the tails of their classes and where these overlap (see Labels).
//
// Duplicates compares pictures; Outliers and Overlaps compare distances.
package clean
