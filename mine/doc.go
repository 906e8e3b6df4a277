// Package mine chooses which pairs and triplets of a batch count.
//
// A Config has a policy for positives (easy: the nearest of the same label, hard:
// the farthest, semihard: the farthest that is nearer than the negative, random, all,
// ms, histogram) and one for negatives (easy, hard, semihard, facenet, distance,
// random, all, ms, angular, histogram). Any two can be combined, except semi-hard
// positives with negatives that depend on the positive: Config.Check returns an error
// for these. docs/policies.md describes each, and says what it does inside a
// class. PositiveRange and NegativeRange leave out references that are too near or too
// far. Package objective mines by itself, as its options say. Select mines without an
// objective:
//
//	chosen, err := mine.SelectTuples(embeddings, labels, mine.MiningConfig{
//		Positives: mine.EasyPositive,
//		Negatives: mine.SemiHardNegative,
//	})
//	for anchor, s := range chosen {
//		for positive, negative := range s.Tuples() {
//			...
//		}
//	}
//
// Policies compare Euclidean distances between the embeddings as the loss sees
// them, except multi-similarity, which compares similarities. Ties go to the
// lowest index. An anchor is never its own positive; it is excluded by its
// index.
//
// Random policies draw from a separate stream for each anchor of each step,
// seeded by (seed, step, anchor), so the draws do not depend on how anchors are
// distributed over cores.
package mine
