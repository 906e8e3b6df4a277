package data

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// sharded is the tree of the images in shards, which are tar files or tables. A name is SHARD/IMAGE.
type sharded struct {
	base   tree // the tree that holds the shards
	names  []string
	at     map[string]int
	images shards
}

// shards reads images by their number.
type shards interface {
	read(i int, buf []byte) ([]byte, error)
	// digest is as in tree.
	digest(i int, buf []byte) (sum string, room []byte, err error)
	size(i int) int64
}

// newSharded makes the tree of the images with the given names.
func newSharded(base tree, names []string, images shards) (*sharded, error) {
	s := &sharded{base, names, make(map[string]int, len(names)), images}
	for i, n := range names {
		if _, twice := s.at[n]; twice {
			return nil, fmt.Errorf("%s: there are two images of this name", path.Join(base.where(), n))
		}
		s.at[n] = i
	}
	return s, nil
}

func (s *sharded) where() string { return s.base.where() }

func (s *sharded) has(name string) bool {
	_, ok := s.at[name]
	return ok
}

func (s *sharded) walk(ctx context.Context, fn func(name, why string) error) error {
	return picked{s.base, s.names}.walk(ctx, fn)
}

func (s *sharded) find(name string) (int, error) {
	i, ok := s.at[name]
	if !ok {
		return 0, fmt.Errorf("%s: %w", path.Join(s.where(), name), fs.ErrNotExist)
	}
	return i, nil
}

func (s *sharded) read(name string, buf []byte) ([]byte, error) {
	i, err := s.find(name)
	if err != nil {
		return nil, err
	}
	b, err := s.images.read(i, buf)
	return b, named(path.Join(s.where(), name), err)
}

func (s *sharded) digest(name string, buf []byte) (string, []byte, error) {
	i, err := s.find(name)
	if err != nil {
		return "", buf, err
	}
	sum, buf, err := s.images.digest(i, buf)
	return sum, buf, named(path.Join(s.where(), name), err)
}

// Close closes the files that the shards hold open.
func (s *sharded) Close() error {
	if c, ok := s.images.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
