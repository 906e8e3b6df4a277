// Package pair treats a batch of embeddings as pairs. Package mine (which pairs
// count) and package loss (what a pair costs) both work on its table.
//
// In: anchors (rows) and references (columns) with labels. For an ordinary
// batch both are the batch itself; a memory of earlier batches or a set of
// proxies can be further references. Out: one row of similarities at a time for
// mining and loss and, once the loss has weighted the pairs, the gradient with
// respect to anchors and references.
//
// Every loss of this module reads embeddings only through a pair's similarity
// S, distance D or squared distance D², so its gradient is a sum over pairs of
// a weight times the gradient of that value (Wang et al. 2019, "Multi-similarity
// loss with general pair weighting"). Weights turns the weights into gradients,
// pair by pair where few pairs count and by a matrix product where many do.
package pair
