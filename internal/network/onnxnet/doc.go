// Package onnxnet turns ONNX models into networks of package nn.
//
//	net, err := onnxnet.Read("resnet18.onnx", onnxnet.Options{})
//	made, err := nn.New(net.Spec, nn.Options{})
//	err = made.SetState(net.Weights) // a network like any other: run it, train it, save it
//
// A model is a graph of small operators, and each exporter writes a layer in its own way.
// Import first computes everything that does not depend on the image (shapes, reshaped
// weights). It then finds the values that every path passes through, and identifies the
// layer between each two of them. It recognises activations and norms by the values they
// compute, attention and class tokens by where each value comes from, so the order or
// spelling of the operators makes no difference. All else must be convolutions, weighted
// sums, pools, sums of branches and gates of the kinds that nn describes: one stride along
// both axes, no dilation, branches that are added, multiplied or joined by their channels.
// Anything else is an error that names the node, its operator and the way out.
//
// The classifier is left out unless asked for: see [Options].
package onnxnet
