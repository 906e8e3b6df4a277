package datasets

import (
	"compress/gzip"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/idx"
)

// check verifies that the folder dir holds the set: by checksum where the set is
// a list of files, and otherwise by opening it.
func (s *Set) check(ctx context.Context, dir string) ([]CheckedFile, error) {
	if len(s.Files) == 0 {
		d, err := data.Open(ctx, dir, data.OpenOptions{})
		if err != nil {
			return nil, err
		}
		return nil, d.Close()
	}
	var out []CheckedFile
	for _, f := range s.Files {
		path, err := idx.Find(dir, f.Name)
		if err != nil {
			return nil, err
		}
		c, err := f.check(path)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func (f File) check(path string) (CheckedFile, error) {
	file, err := fileinfo.Open(path)
	if err != nil {
		return CheckedFile{}, err
	}
	defer file.Close()
	if f.GzMD5 != "" {
		if err := sameMD5(path, f.GzMD5); err != nil {
			return CheckedFile{}, err
		}
	}
	var r io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		zr, err := gzip.NewReader(file)
		if err != nil {
			return CheckedFile{}, fmt.Errorf("%s: damaged gzip header: %w", path, err)
		}
		r = zr
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(r, f.Bytes+1))
	if err != nil {
		return CheckedFile{}, fmt.Errorf("%s: after %d bytes: %w", path, n, err)
	}
	if n != f.Bytes {
		more := ""
		if n > f.Bytes {
			more = "more than "
		}
		return CheckedFile{}, fmt.Errorf("%s: %s%d bytes uncompressed where the official file has %d", path, more,
			min(n, f.Bytes), f.Bytes)
	}
	got := hex.EncodeToString(sum.Sum(nil))
	if f.SHA256 != "" && got != f.SHA256 {
		return CheckedFile{},
			fmt.Errorf("%s: SHA-256 of the uncompressed bytes is %s, of the official file %s", path, got, f.SHA256)
	}
	return CheckedFile{path, n, got}, nil
}

func sameMD5(path, want string) error {
	file, err := fileinfo.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := md5.New()
	if _, err := io.Copy(sum, file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("%s: MD5 is %s, of the official file %s", path, got, want)
	}
	return nil
}
