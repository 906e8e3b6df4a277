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
package objective
