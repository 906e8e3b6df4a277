// Package onnxnet turns ONNX models into networks of package nn.
//
//	net, err := onnxnet.Read("resnet18.onnx", onnxnet.Options{})
//	made, err := nn.New(net.Spec, nn.Options{})
//	err = made.SetState(net.Weights) // a network like any other: run it, train it, save it
//
// A model is a graph of small operators, and each exporter spells a layer in its
// own way. Import computes what depends on no image (shapes, reshaped weights),
// then goes along the values that everything runs through and asks of each
// stretch between two of them what it computes. Activations and norms are found
// by their values, attention and class tokens by where each value comes from, so
// that another order or spelling of the operators makes no difference. What is
// left are convolutions, weighted sums, pools, sums of branches and gates, which
// must be those that nn describes: one stride along both axes, no dilation,
// branches that are added, multiplied or joined by their channels. Anything else
// is an error that names the node, its operator and the way out.
//
// The classifier is left out unless asked for: see [Options].
package onnxnet
