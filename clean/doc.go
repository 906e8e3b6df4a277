// Package clean finds what is wrong with a labelled set, by its embeddings and
// pictures: items whose label their neighbours deny, copies of one picture, items
// unlike anything, and classes that overlap so much that they look like one.
//
//	res, err := clean.Labels(ctx, labels, clean.Options{}, clean.Fold{X: x})
//	for _, i := range res.Suspects(0.5) {
//		fmt.Println(i, labels[i], res.Suggested[i], res.Score[i])
//	}
//
// In: labels, and embeddings in which an item's own label had no say. A single
// embedding is read with each item left out of what judges it; but a network that
// was trained on a wrong label has learned to defend it, and the better, the longer it
// trained. Folds are embeddings by networks that were each trained without some of
// the items, which are judged in that embedding alone.
//
// Out: scores that are probabilities. How an item with a wrong label scores is
// learned from wrong labels given on purpose, and the share of wrong labels follows
// from how many items score so (see Labels).
//
// Duplicates compares pictures, Outliers and Overlaps distances.
package clean
