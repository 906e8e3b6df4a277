package remotedata

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"

	"github.com/kindred-ml/kindred/internal/base/braces"
)

// isShard reports whether a file holds many images, so that parts of it are read.
func isShard(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".tar" || ext == ".parquet"
}

// shard is such a file, opened: nothing of it is there yet.
type shard struct {
	entry
	*io.SectionReader
}

func (s *shard) Stat() (fs.FileInfo, error) { return s.entry, nil }
func (s *shard) Close() error               { return nil }
func (s *shard) Size() int64                { return s.entry.size }

// openShard opens a file by ranges.
func (f *files) openShard(name string, b *blob) (fs.File, error) {
	if b.size < 0 || !b.ranges {
		return nil, fmt.Errorf("%s: the server does not support ranges, or does not give the file's size, which a "+
			"shard needs: download it", b.name)
	}
	return &shard{entry{name: path.Base(name), size: b.size},
		io.NewSectionReader(&blockReader{f.ctx, b, &f.pool}, 0, b.size)}, nil
}

// openShards opens the shards of an address, which may be a pattern.
func (w *web) openShards(ctx context.Context, u *url.URL) (fs.FS, error) {
	dir, names, err := expandBraces(u.Path)
	if err != nil {
		return nil, err
	}
	f := newFiles(ctx, u.Redacted())
	above := *u
	above.Path, above.RawPath = dir, ""
	return f, w.addShards(ctx, f, &above, names)
}

// expandBraces cuts a path into the folder before its first brace, and what it stands for below
// that.
func expandBraces(p string) (dir string, names []string, err error) {
	before, _, _ := strings.Cut(p, "{")
	dir = before[:strings.LastIndexByte(before, '/')+1]
	names, err = braces.Expand(p[len(dir):])
	if err != nil {
		return "", nil, err
	}
	for _, n := range names {
		if !fs.ValidPath(n) {
			return "", nil, fmt.Errorf("%.200q means %.200q, which is not the path of a file", p, n)
		}
	}
	return dir, names, nil
}

// maxRequests is how many shards a server is asked for at once, which takes a round trip each.
const maxRequests = 8

// forEach calls fn for every name, several at once, and returns the error of the first that has
// one.
func forEach[T any](names []string, fn func(name string) (T, error)) ([]T, error) {
	out, errs := make([]T, len(names)), make([]error, len(names))
	var wait sync.WaitGroup
	room := make(chan struct{}, maxRequests)
	for i, n := range names {
		room <- struct{}{}
		wait.Go(func() {
			out[i], errs[i] = fn(n)
			<-room
		})
	}
	wait.Wait()
	return out, cmp.Or(errs...)
}

// addShards asks for the sizes of shards below an address, and adds them.
func (w *web) addShards(ctx context.Context, f *files, above *url.URL, names []string) error {
	blobs, err := forEach(names, func(name string) (*blob, error) { return w.head(ctx, above.JoinPath(name)) })
	if err != nil {
		return err
	}
	for i, n := range names {
		if err := f.add(n, blobs[i]); err != nil {
			return err
		}
	}
	return nil
}

// openShards opens the objects that a pattern, or a key, names.
func (s *s3) openShards(ctx context.Context, u *url.URL) (fs.FS, error) {
	dir, names, err := expandBraces(strings.TrimPrefix(u.Path, "/"))
	if err != nil {
		return nil, err
	}
	f := newFiles(ctx, u.String())
	blobs, err := forEach(names, func(name string) (*blob, error) {
		info, err := s.core.StatObject(ctx, s.bucket, dir+name, minio.StatObjectOptions{})
		if err != nil {
			return nil, s.explain("s3://"+s.bucket+"/"+dir+name, err)
		}
		return s.blob(info), nil
	})
	if err != nil {
		return nil, err
	}
	for i, n := range names {
		if err := f.add(n, blobs[i]); err != nil {
			return nil, err
		}
	}
	return f, nil
}
