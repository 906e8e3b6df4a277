// Package published reads how a network was published: the files that Hugging Face's transformers, timm and
// OpenCLIP write beside the weights. They say what the weights do not: the heads of attention, the activation, the
// epsilon of norms, the padding of convolutions, and how images are prepared.
//
// Every key that changes the numbers is followed, compared with the weights, or refused by its name: see the table
// in keys.go. Read gives all of a folder; Beside gives the preparation of images alone, for networks such as ONNX
// files that say the rest themselves.
package published
