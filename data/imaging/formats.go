package imaging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/heic"
	"github.com/kindred-ml/kindred/internal/format/wasm"
)

// formats are all formats that a Decoder reads. All else that is known of a format is in its row, in a file of its
// own: lists of names and extensions elsewhere are made from this one.
var formats = []*format{&jpegFormat, &pngFormat, &webpFormat, &tiffFormat, &gifFormat, &bmpFormat, &pnmFormat,
	&avifFormat, &jxlFormat, &heicFormat}

// format is one way to store an image.
type format struct {
	name       string
	extensions []string // of file names, the usual one first
	mediaType  string

	// matches recognises a file by its first bytes.
	matches func(b []byte) bool
	// open reads the structure of a file of size bytes that begins with b.
	open func(ctx context.Context, b []byte, size int64) (*source, error)
	// exif returns the EXIF block of a file, or nil without one. It is nil for formats without EXIF.
	exif func(b []byte) []byte
	// colours returns what a file says about its colours. It is nil for formats whose colours are sRGB, and for those
	// whose source tells.
	colours func(b []byte) colourSpace

	// fastDecode decodes usual files with the buffers of a Decoder. It returns false for files that open is for.
	fastDecode func(d *Decoder, ctx context.Context, dst *Image, b []byte) (done bool, err error)
	// structureBytes returns more memory than open takes for a file of size bytes that begins with b, beside
	// a megabyte.
	structureBytes func(b []byte, size int64) int64
	// sandboxed is set if files are decoded in a sandbox.
	sandboxed bool
	// missing returns an error while the decoder is not installed. It is nil for decoders of the program.
	missing func() error
}

func (f *format) readable() bool { return f.missing == nil || f.missing() == nil }

// FileFormat is a format of image files.
type FileFormat struct {
	// Name is as in Header.Format.
	Name string `json:"name"`
	// Extensions are those of its files' names, in lower case.
	Extensions []string `json:"extensions"`
	// MediaType is the type of its files in HTTP.
	MediaType string `json:"media_type"`
	// Readable is false for HEIC without a decoder.
	Readable bool `json:"readable"`
}

func (f *format) public() FileFormat {
	return FileFormat{f.name, slices.Clone(f.extensions), f.mediaType, f.readable()}
}

// FileFormats returns the formats that a Decoder knows.
func FileFormats() []FileFormat {
	list := make([]FileFormat, len(formats))
	for i, f := range formats {
		list[i] = f.public()
	}
	return list
}

// FormatNames returns the names of all formats, for messages: "JPEG, PNG or TIFF".
func FormatNames() string {
	last := len(formats) - 1
	names := make([]string, last)
	for i, f := range formats[:last] {
		names[i] = f.name
	}
	return strings.Join(names, ", ") + " or " + formats[last].name
}

// FormatByName returns the format that files with this name have by their extension.
func FormatByName(name string) (FileFormat, bool) {
	ext := strings.ToLower(path.Ext(name))
	for _, f := range formats {
		if slices.Contains(f.extensions, ext) {
			return f.public(), true
		}
	}
	return FileFormat{}, false
}

// IsReadableName reports whether files with this name are taken for images, by the extension. Those of HEIC
// are if there is a decoder for it.
func IsReadableName(name string) bool {
	f, ok := FormatByName(name)
	return ok && f.Readable
}

// NeedsDecoder reports whether files with this name are images for which the decoder is missing: HEIC.
func NeedsDecoder(name string) bool {
	f, ok := FormatByName(name)
	return ok && !f.Readable
}

// IsReadable reports whether a file that begins with these bytes, at least 64 of a longer file, has a format that a
// Decoder reads, whatever its name.
func IsReadable(head []byte) bool {
	f, err := sniff(head)
	return err == nil && f.readable()
}

// IsDecoderError reports whether an error of a Decoder says nothing about the file: the decoder for its format is
// missing, or cannot run here.
func IsDecoderError(err error) bool {
	return errors.Is(err, heic.ErrMissing) || errors.Is(err, wasm.ErrDecoder)
}

// DecoderSet names the set of formats that can be read, for those who remember which files could not be. The number
// changes with what this program decodes.
func DecoderSet() string {
	if heic.IsInstalled() {
		return "3 with HEIC"
	}
	return "3"
}

// sniff recognises a format by its first bytes.
func sniff(b []byte) (*format, error) {
	if len(b) == 0 {
		return nil, errors.New("empty file")
	}
	for _, f := range formats {
		if f.matches(b) {
			return f, nil
		}
	}
	if what := describeNonImage(b); what != "" {
		return nil, errors.New(what)
	}
	if name := foreignFormat(b); name != "" {
		return nil, fmt.Errorf("no decoder for %s: convert the file to JPEG or PNG", name)
	}
	return nil, fmt.Errorf("not an image of a known format: it starts with %q", b[:min(len(b), 8)])
}

// StructureBytes returns more than the memory that Open takes for a file of size bytes which begins with b, besides
// the file itself.
func StructureBytes(b []byte, size int64) int64 {
	const usual = 1 << 20
	if f, err := sniff(b); err == nil && f.structureBytes != nil {
		return usual + f.structureBytes(b, size)
	}
	return usual
}

// IsSandboxed reports whether the file that begins with b is decoded in a sandbox.
func IsSandboxed(b []byte) bool {
	f, err := sniff(b)
	return err == nil && f.sandboxed
}

// hasPrefix returns a function that reports whether a file starts with one of some texts.
func hasPrefix(with ...string) func(b []byte) bool {
	return func(b []byte) bool {
		return slices.ContainsFunc(with, func(s string) bool { return bytes.HasPrefix(b, []byte(s)) })
	}
}

// brand returns the brand of a file of boxes (ISO/IEC 14496-12), or "" for other files.
func brand(b []byte) string {
	if len(b) < 12 || string(b[4:8]) != "ftyp" {
		return ""
	}
	return string(b[8:12])
}

// describeNonImage recognises what servers and programs leave in place of an image, and says what to do.
func describeNonImage(b []byte) string {
	head := b[:min(len(b), 512)]
	text := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))))
	const anew = " in place of an image: fetch the file again"
	switch {
	case hasPrefix("version https://git-lfs.github.com/")(b):
		return "a pointer of Git LFS in place of an image: git lfs pull fetches the file"
	case bytes.HasPrefix(text, []byte("<!doctype html")), bytes.HasPrefix(text, []byte("<html")):
		return "a web page" + anew
	case bytes.HasPrefix(text, []byte("<?xml")) && !bytes.Contains(text, []byte("<svg")):
		return "XML, such as a server's error," + anew
	case bytes.HasPrefix(text, []byte(`{"`)):
		return "JSON, such as a server's error," + anew
	case len(head) > 0 && len(bytes.Trim(b, "\x00")) == 0:
		return "nothing but zeros" + anew
	case hasPrefix("PK\x03\x04", "\x1f\x8b", "7z\xbc\xaf", "Rar!")(b):
		return "an archive in place of an image: unpack it"
	}
	return ""
}

// foreignFormat names the formats of others that cameras and programs write, often under another extension.
func foreignFormat(b []byte) string {
	head := b[:min(len(b), 512)]
	switch brand(b) {
	case "":
	case "jp2 ", "jpx ", "jpm ":
		return "JPEG 2000"
	case "crx ":
		return "Canon raw files"
	default:
		return "videos"
	}
	for _, f := range []struct{ start, name string }{
		{"\x00\x00\x00\x0cjP  ", "JPEG 2000"}, {"\xff\x4f\xff\x51", "JPEG 2000"}, {"II\xbc", "JPEG XR"},
		{"FUJIFILMCCD-RAW", "a camera's raw files"}, {"IIRO", "a camera's raw files"},
		{"IIU\x00", "a camera's raw files"}, {"8BPS", "Photoshop files"}, {"gimp xcf", "GIMP's files"},
		{"%PDF", "PDF"}, {"%!PS", "PostScript"}, {"<svg", "SVG"}, {"v/1\x01", "OpenEXR"},
		{"#?RADIANCE", "Radiance HDR"}, {"qoif", "QOI"}, {"DDS ", "DDS"}, {"\x00\x00\x01\x00", "icons (ICO)"},
		{"P7\n", "PAM (P7)"}, {"PF\n", "PFM"}, {"Pf\n", "PFM"},
	} {
		if bytes.HasPrefix(head, []byte(f.start)) {
			return f.name
		}
	}
	if bytes.Contains(bytes.ToLower(head), []byte("<svg")) {
		return "SVG"
	}
	return ""
}
