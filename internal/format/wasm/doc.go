// Package wasm runs decoders of image formats that are compiled to WebAssembly, in a sandbox: they see the bytes
// of one file and nothing else, and their memory and their work are bounded.
//
//	m, err := wasm.Compile(code)
//	r, err := m.Start(ctx, wasm.Limits{Memory: 1 << 30, Loops: 1 << 36})
//	defer r.Close()
//	at, err := r.Put(file)
//	ok, err := r.Call("decode", at, uint64(len(file)))
//
// The runtime is wazero, which translates the code once a process. The bound of the work is a count of loop
// iterations, which Meter adds to the code. So it is the same on every machine, unlike a time. Every few milliseconds
// the code stops for a moment, so that a run ends with its context, and other goroutines go on.
package wasm
