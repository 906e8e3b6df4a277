// Package onnx reads and writes the ONNX format: a network as a graph of
// operators, with its weights.
//
//	m, err := onnx.Read("model.onnx") // and the files of weights beside it
//	for _, n := range m.Graph.Nodes { // in an order in which they can be computed
//		fmt.Println(n.Op, n.Inputs, n.Outputs)
//	}
//	err = m.Write(w)
//
// A [Model] is what the format's messages say, with no more meaning: package
// nn/onnxnet turns a graph into a network and a network into a graph. What Read,
// Parse and [Model.Check] let through can be walked without further care: every
// name is given a value once and before it is used, nothing runs in circles,
// and tensors hold as many bytes as their type and shape ask for.
//
// Files come from strangers. Memory is bounded by package budget whatever a file
// claims, external weights are read from the model's own folder alone, and parts
// that are of no use here (functions, subgraphs of control flow, sparse tensors)
// are refused or kept unread. The messages are decoded with protobuf's own
// protowire, field by field: a dozen are needed, and generated code for all of
// them would be the larger part of the package.
//
// The format is described at https://onnx.ai/onnx/repo-docs/IR.html.
package onnx
