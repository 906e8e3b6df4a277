package data

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// shardedTree is the tree of the images in shards, which are tar files or tables. A name is SHARD/IMAGE.
type shardedTree struct {
	base   tree // the tree that holds the shards
	names  []string
	index  map[string]int
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
func newSharded(base tree, names []string, images shards) (*shardedTree, error) {
	s := &shardedTree{base, names, make(map[string]int, len(names)), images}
	for i, n := range names {
		if _, twice := s.index[n]; twice {
			return nil, fmt.Errorf("%s: there are two images of this name", path.Join(base.location(), n))
		}
		s.index[n] = i
	}
	return s, nil
}

func (s *shardedTree) location() string { return s.base.location() }

func (s *shardedTree) has(name string) bool {
	_, ok := s.index[name]
	return ok
}

func (s *shardedTree) walk(ctx context.Context, fn func(name, why string) error) error {
	return newShardSelection(s.base, s.names).walk(ctx, fn)
}

func (s *shardedTree) find(name string) (int, error) {
	i, ok := s.index[name]
	if !ok {
		return 0, fmt.Errorf("%s: %w", path.Join(s.location(), name), fs.ErrNotExist)
	}
	return i, nil
}

func (s *shardedTree) read(name string, buf []byte) ([]byte, error) {
	i, err := s.find(name)
	if err != nil {
		return nil, err
	}
	b, err := s.images.read(i, buf)
	return b, withName(path.Join(s.location(), name), err)
}

func (s *shardedTree) digest(name string, buf []byte) (string, []byte, error) {
	i, err := s.find(name)
	if err != nil {
		return "", buf, err
	}
	sum, buf, err := s.images.digest(i, buf)
	return sum, buf, withName(path.Join(s.location(), name), err)
}

// Close closes the files that the shards hold open.
func (s *shardedTree) Close() error {
	if c, ok := s.images.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (s *shardedTree) stat(name string) fileStat {
	i, err := s.find(name)
	if err != nil {
		return fileStat{Err: err}
	}
	return fileStat{Size: s.images.size(i)}
}

// shardSelection is a tree of the files of another tree that a pattern or a list names.
type shardSelection struct {
	tree
	names []string
}

// newShardSelection returns the tree of some files of t.
func newShardSelection(t tree, names []string) shardSelection {
	return shardSelection{tree: t, names: names}
}

func (p shardSelection) walk(ctx context.Context, fn func(name, why string) error) error {
	for _, n := range p.names {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w", p.location(), err)
		}
		if err := fn(n, ""); err != nil {
			return err
		}
	}
	return nil
}

// count returns the number of files.
func (p shardSelection) count() int { return len(p.names) }
