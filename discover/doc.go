// Package discover finds sub-classes inside the classes of an embedding, called kinds here:
// groups of rows that share a label and yet lie apart, as the letters of an alphabet do in
// a network that was only told alphabets.
//
//	res, err := discover.Find(ctx, x, labels, discover.Options{})
//	for _, c := range res.Classes {
//		fmt.Println(c.Label, len(c.Kinds), c.P)
//	}
//	finer := res.Kind // a label for each row, by which classes are split
//
// In: embeddings, a row for each item, with a label each. Out: for each class the
// kinds it falls into, with the members of each, the one in the middle, those that
// differ most, and how well the kind comes back when rows are left out; and the
// probability that a class of one kind would look as much like several as this class
// does, which is learned from the set's own classes where they are enough. Judge says
// no more than that.
//
// It finds only what the embedding has kept. A network that pulls all samples of a class
// together leaves nothing to find; easy positive sampling (mine.EasyPositive) keeps
// unlabelled kinds apart. docs/discover.md has the measurements.
package discover
