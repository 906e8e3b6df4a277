// Package jxl decodes JPEG XL pictures in the sandbox of package wasm.
//
// jxl.wasm.gz is libjxl 0.11.2: the file lib/decode.wasm.gz of github.com/gen2brain/jpegxl v0.6.0. The licences are
// beside it.
package jxl

import (
	"bytes"
	_ "embed" // for the module
	"errors"
	"io"

	"github.com/dsnet/compress/brotli"

	"github.com/kindred-ml/kindred/internal/format/isobmff"
	"github.com/kindred-ml/kindred/internal/format/wasm"
)

//go:embed jxl.wasm.gz
var module []byte

var decoder = wasm.Decoder{Gzip: module, HasWideSamples: func(bits int) bool { return bits == 16 }, Header: HeaderBytes}

// HeaderBytes is how much of a codestream has the size of its picture: more than its header can take.
const HeaderBytes = 4 << 10

// Decoder returns the decoder, which all goroutines share.
func Decoder() *wasm.Decoder { return &decoder }

// Codestream returns the codestream of a JPEG XL file, the only part of it that decoders need. In a container it is in
// a box jxlc, or in pieces in boxes jxlp, each after its number (ISO/IEC 18181-2).
func Codestream(b []byte) ([]byte, error) {
	if bytes.HasPrefix(b, []byte("\xff\x0a")) {
		return b, nil
	}
	const number = 4 // bytes before each piece
	var out []byte
	for name, content := range isobmff.Boxes(b) {
		switch {
		case name == "jxlc" && out == nil:
			return content, nil
		case name == "jxlp" && len(content) >= number:
			out = append(out, content[number:]...)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the container has no codestream")
	}
	return out, nil
}

// Exif returns the EXIF block of a JPEG XL file, a TIFF file, or nil without one. Such a block is in a box of the
// container (ISO/IEC 18181-2), which may be compressed.
func Exif(b []byte) []byte {
	if exif, ok := isobmff.Find(b, "Exif"); ok {
		return isobmff.Exif(exif)
	}
	packed, _ := isobmff.Find(b, "brob")
	content, ok := bytes.CutPrefix(packed, []byte("Exif"))
	if !ok {
		return nil
	}
	r, err := brotli.NewReader(bytes.NewReader(content), nil)
	if err != nil {
		return nil
	}
	const most = 1 << 20 // much more than cameras write
	exif, err := io.ReadAll(io.LimitReader(r, most))
	if err != nil {
		return nil
	}
	return isobmff.Exif(exif)
}
