// Package xla runs and trains the networks of package nn on an accelerator. It
// compiles the description of a network to graphs of GoMLX, which run on GPUs by
// way of XLA and, for tests, on a backend in plain Go.
//
//	net, err := nn.New(spec, nn.Options{Seed: 1})
//	backend, err := xla.Open(xla.Choice{Devices: 1})   // the best that this machine has
//	dev, err := xla.New(backend, net, xla.Options{Seed: 1})
//	e := dev.Forward(x, n)                             // train.Loop does this
//	dev.Backward(dE)
//
// Losses, miners and samplers run on the CPU: only images, embeddings and their gradient
// cross the bus in a step.
//
// It is a separate module, so that the command and the library kindred need no cgo and
// stay small.
package xla
