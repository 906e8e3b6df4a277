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
//
// # The order of calls
//
// One step, driven by package objective. Time runs down; what is between the
// bars is done for each block of anchors, and in it for each chunk of Grain
// anchors by one goroutine, the anchors of a chunk in ascending order.
//
//	caller             Rows          Groups        Table            Weights
//	  |-- Set(x) ------>|              |             |                 |    divide by norms
//	  |-- Build(labels) -------------->|             |                 |    who is whose positive
//	  |-- A, R = rows ------------------------------>|                 |
//	  |-- Reset(table, measure, dA, dR) ------------------------------>|    no weights yet
//	==|============= for each block lo..hi of the anchors ============ |
//	  |-- Load(lo, hi) ----------------------------->|                 |    similarities S
//	  |-- Room() ----------------------------------------------------->|
//	--|------------- for each anchor i of a chunk -------------------- |
//	  |-- Positives(i), Own(i) ------->|             |                 |    mining
//	  |-- Nearness(i), Near(i, j) ------------------>|                 |
//	  |-- Values(measure, i, ...), Negatives(...) -->|                 |    what the loss reads
//	  |-- Add(i, ...), Many(i, ...), Anchor(i, ...) ------------------>|    its derivatives
//	  |-- End(i) ----------------------------------------------------->|
//	--|--------------------------------------------------------------- |
//	  |-- Flush() ---------------------------------------------------->|    what Many kept dense
//	==|=============================================================== |
//	  |-- Unload() --------------------------------->|                 |
//	  |-- Gradient() ------------------------------------------------->|    dA and dR are whole
//	  |-- Backward(dA) ->|             |             |                 |    through the norms
//
// A pass that only reads the pairs, as a loss in several passes makes before its
// terms, is the part between the double bars without Add, End and Flush. A block
// that is still Loaded from such a pass is not loaded again. Many may put weights
// in the place of an anchor's similarities: nobody reads these after it unless Keep
// is set.
package pair
