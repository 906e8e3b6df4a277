package imaging

import (
	"errors"
	"path"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/heic"
	"github.com/kindred-ml/kindred/internal/format/wasm"
)

// FileFormat is a format of image files.
type FileFormat struct {
	// Name is as in Header.Format.
	Name string `json:"name"`
	// Extensions are those of its files' names.
	Extensions []string `json:"extensions"`
	// Readable is false for HEIC without a decoder.
	Readable bool `json:"readable"`
}

// FileFormats returns the formats that a Decoder knows.
func FileFormats() []FileFormat {
	return []FileFormat{{"JPEG", []string{".jpg", ".jpeg"}, true}, {"PNG", []string{".png"}, true},
		{"WebP", []string{".webp"}, true}, {"TIFF", []string{".tif", ".tiff"}, true}, {"GIF", []string{".gif"}, true},
		{"BMP", []string{".bmp"}, true}, {formatAVIF, []string{".avif"}, true}, {formatJPEGXL, []string{".jxl"}, true},
		{formatHEIC, []string{".heic", ".heif", ".hif"}, heic.Present()}}
}

// Reads reports whether files with this name are taken for images, by the extension. Those of HEIC are if there is a
// decoder for it.
func Reads(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff", ".gif", ".bmp", ".avif", ".jxl":
		return true
	}
	return isHEICName(name) && heic.Present()
}

// LacksDecoder reports whether files with this name are images for which the decoder is missing: HEIC.
func LacksDecoder(name string) bool { return isHEICName(name) && !heic.Present() }

func isHEICName(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".heic", ".heif", ".hif":
		return true
	}
	return false
}

// IsOfDecoder reports whether an error of a Decoder says nothing about the file: the decoder for its format is
// missing, or cannot run here.
func IsOfDecoder(err error) bool {
	return errors.Is(err, heic.ErrMissing) || errors.Is(err, wasm.ErrDecoder)
}

// Decoders names the set of formats that can be read, for those who remember which files could not be.
func Decoders() string {
	if heic.Present() {
		return "2 with HEIC"
	}
	return "2"
}
