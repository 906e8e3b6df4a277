// Package graphrun runs graphs of ONNX operators as they stand. The operators are in packages of their own: operator,
// product and spatial, on tensors of package tensor.
//
//	p, err := graphrun.Compile(model, graphrun.Options{Input: "image", Shape: shape, Outputs: []string{"embedding"}})
//	out, err := p.Run(pixels)
//
// Compile computes what does not depend on the input once, joins operators that one kernel
// does together, and runs the graph for a first time, which gives the shape of every value.
// Run takes one input. It goes through the nodes in order, on all cores within a node, with
// the same bits for any number of them, and lets each value go after its last reader.
//
// Floating-point values are float32 whatever the graph says; integers of all types and
// truths are int64, cut to the range of their type. Images lie channels first, as in ONNX, or
// channels last between operators that work on them; see tensor.Tensor.
package graphrun
