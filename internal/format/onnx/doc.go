// Package onnx reads and writes the ONNX format: a network as a graph of
// operators, with its weights.
//
//	m, err := onnx.Read("model.onnx") // and the files of weights beside it
//	for _, n := range m.Graph.Nodes { // in an order in which they can be computed
//		fmt.Println(n.Op, n.Inputs, n.Outputs)
//	}
//	err = m.Write(w)
//
// A [Model] holds the format's messages without interpreting them: package
// internal/network/onnxnet turns a graph into a network, internal/network/onnxexport a network into a graph. A model
// that passes Read, Parse or [Model.Check] is safe to walk: every name gets a value once
// and before its use, there are no cycles, and tensors have the number of bytes of
// their type and shape.
//
// Files are not trusted. Memory is bounded by package budget whatever a file
// claims, external weights are read only from the model's own folder, and parts that
// nothing here uses (sparse tensors, other types of attributes) are refused or kept unread.
// Functions that a model defines stand in the place of their calls. The messages are decoded
// with protobuf's own protowire, field by field: a dozen are needed, and generated code for
// all of them would be the larger part of the package.
//
// The format is described at https://onnx.ai/onnx/repo-docs/IR.html.
package onnx
