// Package objective joins a loss with its miner. In: a batch of embeddings and
// labels. Out: the loss, its gradient with respect to the embeddings as given,
// and counts of what mining found.
//
// Options name the loss, of package loss or of your own, and the policies of
// package mine. Without mining policies they are easy positives and FaceNet's
// negatives; Customary has those that go with a loss.
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
// be sets or have classes above them (Relate). What a loss learns, such as
// proxies, is in Params, for an optimizer to change. Parse makes Options from a
// configuration, in which losses and policies have names.
//
// The similarities of a batch of up to MatrixRows anchors are held all at once;
// those of a larger batch are computed one block of anchors at a time, so that
// memory grows with the batch and not with its square.
package objective
