// Package objective joins a loss with its miner. In: a batch of embeddings and
// labels. Out: the loss, its gradient with respect to the embeddings as given,
// and what mining met on the way.
//
// Up to MatrixRows anchors the similarities of a batch are held as a whole;
// above it they are computed a block of anchors at a time, so that memory grows
// with the batch and not with its square.
package objective
