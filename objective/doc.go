// Package objective joins a loss with its miner. In: a batch of embeddings and
// labels. Out: the loss, its gradient with respect to the embeddings as given,
// and counts of what mining found.
//
// Options name the loss, of package loss or your own, and the policies of package
// mine. The default policies are easy positives and FaceNet's negatives; Customary
// has the usual ones of each loss.
//
//	obj, err := objective.New(objective.Options{Normalize: true, Loss: loss.NCA{}})
//	for ... {
//		e := net.Forward(images, n)
//		r, err := obj.Step(ctx, e, objective.Batch{Labels: labels}, gradient)
//		net.Backward(gradient)
//	}
//
// Several losses add up (Plus), earlier batches serve as further references
// (Memory), the terms with the highest loss can be left out (Trim), and labels may
// be sets or have classes above them (Relate). The parameters of a loss, such as
// proxies, are in Params, for an optimizer. Parse makes Options from a
// configuration, in which losses and policies have names.
//
// The similarities of a batch of up to MatrixRows anchors are held all at once;
// those of a larger batch are computed one block of anchors at a time, so that
// memory grows with the batch and not with its square.
//
// # Mining
//
// Mining chooses which pairs and triplets of a batch count.
//
// A MiningConfig has a policy for positives (easy: the nearest of the same label, hard:
// the farthest, semihard: the farthest that is nearer than the negative, random, all,
// ms, histogram) and one for negatives (easy, hard, semihard, facenet, distance,
// random, all, ms, angular, histogram). Any two can be combined, except semi-hard
// positives with negatives that depend on the positive: MiningConfig.Check returns an error
// for these. docs/policies.md describes each, and says what it does inside a
// class. PositiveRange and NegativeRange leave out references that are too near or too
// far. An Objective mines by itself, as its options say. SelectTuples mines without an
// objective:
//
//	chosen, err := objective.SelectTuples(embeddings, labels, objective.MiningConfig{
//		Positives: objective.EasyPositive,
//		Negatives: objective.SemiHardNegative,
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
package objective
