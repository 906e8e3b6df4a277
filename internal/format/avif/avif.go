// Package avif decodes AVIF pictures in the sandbox of package wasm.
//
// avif.wasm.gz is libavif 1.4.2 with dav1d 1.5.3: the file lib/avif.wasm.gz of github.com/gen2brain/avif v0.6.0.
// The licences are beside it.
package avif

import (
	_ "embed" // for the module

	"github.com/kindred-ml/kindred/internal/format/wasm"
)

//go:embed avif.wasm.gz
var module []byte

var decoder = wasm.Decoder{Gzip: module, HasWideSamples: func(bits int) bool { return bits > 8 }}

// Decoder returns the decoder, which all goroutines share.
func Decoder() *wasm.Decoder { return &decoder }
