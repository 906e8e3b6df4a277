package imaging

import "bytes"

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
