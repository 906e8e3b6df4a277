package imaging

import (
	"bytes"
	"image"

	"golang.org/x/image/bmp"
)

var bmpFormat = format{name: "BMP", extensions: []string{".bmp"}, mediaType: "image/bmp", matches: hasPrefix("BM"),
	open: goDecoder(func(b []byte) (image.Config, error) { return bmp.DecodeConfig(bytes.NewReader(b)) }, bmp.Decode)}
