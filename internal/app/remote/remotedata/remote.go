// Package remotedata opens data sets that lie elsewhere: objects of S3 and what speaks
// its protocol, and files of web servers.
//
//	s3://bucket/prefix        the objects below a prefix, as the files of a folder
//	s3://bucket/set.zip       an archive; only what is asked for is read
//	https://host/set.zip      the same
//	https://host/set.csv      a manifest; its images stand beside it
//	https://host/list.txt     a list of images or of shards, a path beside it on each line
//	https://host/set.tar      a shard (.tar or .parquet), which is read by ranges
//	https://host/set-{00..63}.tar, s3://bucket/set-{00..63}.tar
//	                          the shards that a pattern stands for
//
// Every object is read whole or by ranges, under the ETag that it was listed with, and
// the ETag, the time of the last change, the size and the range of every answer are
// compared, so that one that changes meanwhile is an error and not a mixture, whether or
// not the server knows of If-Match. Where the ETag is the MD5 of the content, that is
// compared, and of an archive's entries the CRC-32.
//
// What concerns one file alone (it is not there, it is damaged) is an error of its
// sample. All else, a server that is out of reach or an archive that changes, is a
// data.SourceError.
package remotedata

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/braces"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/zipfile"
)

// IsAddress tells whether a data set is named by an address of a kind that Open knows.
func IsAddress(what string) bool {
	return slices.ContainsFunc([]string{"s3://", "https://", "http://"}, func(scheme string) bool {
		return strings.HasPrefix(what, scheme)
	})
}

// Open is data.Open for addresses, too. The end of ctx also ends what is read from the data set later.
func Open(ctx context.Context, what string, o data.OpenOptions) (*data.Dataset, error) {
	if !IsAddress(what) {
		return data.Open(ctx, what, o)
	}
	u, err := url.Parse(what)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%.200q is not an address: want s3://BUCKET/PREFIX or https://HOST/PATH", what)
	}
	name := nameOfSet(u)
	var files fs.FS
	if u.Scheme == "s3" {
		files, err = openS3(ctx, u)
	} else {
		files, err = openWeb(ctx, u)
	}
	if err != nil {
		return nil, err
	}
	return data.OpenFS(ctx, files, name, o)
}

// nameOfSet is the name of the set at an address, of a pattern what stands before its braces.
func nameOfSet(u *url.URL) string {
	where, _, pattern := strings.Cut(u.Path, "{")
	if pattern {
		where = strings.TrimRight(where, "-_./0123456789")
	}
	name := strings.ToLower(path.Base(strings.Trim(where, "/")))
	if name == "." || name == "/" {
		return strings.ToLower(u.Hostname())
	}
	return strings.TrimSuffix(name, path.Ext(name))
}

// textShare is the part of the memory that the text of a list may take: the list takes more.
const textShare = 16

// openWeb opens what an address of a web server names.
func openWeb(ctx context.Context, u *url.URL) (fs.FS, error) {
	w := newWeb()
	if isShard(u.Path) {
		return w.openShards(ctx, u)
	}
	b, err := w.head(ctx, u)
	if err != nil {
		return nil, err
	}
	switch ext := strings.ToLower(path.Ext(u.Path)); ext {
	case ".zip":
		return openZip(ctx, b)
	case ".csv":
		s := newFiles(ctx, u.Redacted())
		if err := s.add("manifest.csv", b); err != nil {
			return nil, err
		}
		s.beside = func(name string) *blob { return w.blob(u.JoinPath("..", name)) }
		return s, nil
	}
	b.most = budget.Limit() / textShare
	text, err := b.readAll(ctx)
	if err != nil {
		return nil, err
	}
	s := newFiles(ctx, u.Redacted())
	var shards []string
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		name := strings.TrimSpace(lines.Text())
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		if !fs.ValidPath(name) {
			return nil, fmt.Errorf("%s:%d: %.200q is not the path of a file beside the list, such as class/image.jpg",
				u.Redacted(), n, name)
		}
		if isShard(name) {
			more, err := braces.Expand(name)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", u.Redacted(), n, err)
			}
			for _, name := range more {
				if err := s.countMemory(len(name)); err != nil {
					return nil, err
				}
			}
			shards = append(shards, more...)
			continue
		}
		if err := s.add(name, w.blob(u.JoinPath("..", name))); err != nil {
			return nil, err
		}
	}
	if err := w.addShards(ctx, s, u.JoinPath(".."), shards); err != nil {
		return nil, err
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", u.Redacted(), err)
	}
	if len(s.files) == 0 {
		return nil, fmt.Errorf("%s: an empty list: give a .zip archive, a .csv manifest, or a text with the path of "+
			"an image or a shard on each line", u.Redacted())
	}
	return s, nil
}

// archive is a zip archive elsewhere. Its files are known by the size and the CRC-32
// that reading compares.
type archive struct{ *zip.Reader }

func openZip(ctx context.Context, b *blob) (fs.FS, error) {
	if b.size < 0 || !b.ranges {
		return nil, fmt.Errorf("%s: the server does not support ranges, or does not give the file's size, which an "+
			"archive needs: download it", b.name)
	}
	z, err := zipfile.NewReader(&blockReader{ctx, b, new(blockCache)}, b.size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.name, err)
	}
	return archive{z}, nil
}

// Digest tells a file's content from others without reading it.
func (a archive) Digest(name string) (string, error) {
	f, err := a.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	h, ok := info.Sys().(*zip.FileHeader)
	if !ok {
		return "", nil
	}
	if err := budget.Check(name, int64(min(h.UncompressedSize64, 1<<62))); err != nil {
		return "", err
	}
	return fmt.Sprintf("zip %d %08x", h.UncompressedSize64, h.CRC32), nil
}
