package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// archive writes the archive of a system: kindred-VERSION-OS-ARCH.tar.gz, .zip for Windows.
func (r *release) archive(b build) error {
	top := r.archiveName(b.system)
	files := []file{{top + "/" + b.system.binary(), 0o755, b.binary}, {top + "/THIRD-PARTY.txt", 0o644, b.notice}}
	for _, f := range r.shared {
		files = append(files, file{top + "/" + f.name, f.mode, f.content})
	}
	pack, name := tarGzip, r.archiveFile(b.system)
	if b.system.os == "windows" {
		pack = zipped
	}
	content, err := pack(files, r.source.when)
	if err != nil {
		return err
	}
	return r.write(name, content)
}

// archiveName returns the name of the folder in an archive.
func (r *release) archiveName(s system) string {
	return "kindred-" + r.version + "-" + s.os + "-" + s.arch
}

func (r *release) archiveFile(s system) string {
	if s.os == "windows" {
		return r.archiveName(s) + ".zip"
	}
	return r.archiveName(s) + ".tar.gz"
}

// folders returns the folders of the files, parents first.
func folders(files []file) []string {
	var out []string
	for _, f := range files {
		for dir := path.Dir(f.name); dir != "."; dir = path.Dir(dir) {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// tape returns a tar archive of the files and their folders, which belong to root and have the
// same time. A file whose mode has fs.ModeDir is a folder.
func tape(files []file, when time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	entries := slices.Clone(files)
	for _, dir := range folders(files) {
		if !slices.ContainsFunc(files, func(f file) bool { return f.name == dir }) {
			entries = append(entries, file{name: dir, mode: fs.ModeDir | 0o755})
		}
	}
	slices.SortFunc(entries, func(a, b file) int { return strings.Compare(a.name, b.name) })
	for _, f := range entries {
		h := &tar.Header{Name: f.name, Typeflag: tar.TypeReg, Mode: int64(f.mode.Perm()), Size: int64(len(f.content)),
			ModTime: when, Format: tar.FormatUSTAR}
		if f.mode.IsDir() {
			h.Name, h.Typeflag = f.name+"/", tar.TypeDir
		}
		if f.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// tarGzip returns a compressed tape.
func tarGzip(files []file, when time.Time) ([]byte, error) {
	content, err := tape(files, when)
	if err != nil {
		return nil, err
	}
	return gzipped(content)
}

// gzipped compresses without a file name and a time.
func gzipped(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// zipped returns a zip archive of the files.
func zipped(files []file, when time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	sorted := slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.name, b.name) })
	for _, f := range sorted {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: when}
		h.SetMode(f.mode)
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(to, bytes.NewReader(f.content)); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
