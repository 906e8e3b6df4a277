package tree

import (
	"context"
	"fmt"
	"io/fs"
	"path"
)

// Sharded is the tree of the images in shards, which are tar files or tables. A name is SHARD/IMAGE.
type Sharded struct {
	base   Tree // the tree that holds the shards
	names  []string
	index  map[string]int
	images Images
}

// Images reads images by their number.
type Images interface {
	Read(i int, buf []byte) ([]byte, error)
	// Place identifies an image by the state of its shard and its place in it. It is "" if the state is unknown.
	Place(i int) string
	Size(i int) int64
}

// NewSharded makes the tree of the images with the given names.
func NewSharded(base Tree, names []string, images Images) (*Sharded, error) {
	s := &Sharded{base, names, make(map[string]int, len(names)), images}
	for i, n := range names {
		if _, twice := s.index[n]; twice {
			return nil, fmt.Errorf("%s: there are two images of this name", path.Join(base.Location(), n))
		}
		s.index[n] = i
	}
	return s, nil
}

func (s *Sharded) Location() string { return s.base.Location() }

func (s *Sharded) Has(name string) bool {
	_, ok := s.index[name]
	return ok
}

func (s *Sharded) Walk(ctx context.Context, fn func(name, why string) error) error {
	return NewSelection(s.base, s.names).Walk(ctx, fn)
}

func (s *Sharded) find(name string) (int, error) {
	i, ok := s.index[name]
	if !ok {
		return 0, fmt.Errorf("%s: %w", path.Join(s.Location(), name), fs.ErrNotExist)
	}
	return i, nil
}

func (s *Sharded) Read(name string, buf []byte) ([]byte, error) {
	i, err := s.find(name)
	if err != nil {
		return nil, err
	}
	b, err := s.images.Read(i, buf)
	return b, WithName(path.Join(s.Location(), name), err)
}

func (s *Sharded) Digest(name string, buf []byte) (string, []byte, error) {
	i, err := s.find(name)
	if err != nil {
		return "", buf, err
	}
	if at := s.images.Place(i); at != "" && IsRemote(s.base) {
		return at, buf, nil
	}
	b, err := s.Read(name, buf)
	if err != nil {
		return "", buf, err
	}
	return SHA256Hex(b), b, nil
}

func (s *Sharded) Stat(name string) Stat {
	i, err := s.find(name)
	if err != nil {
		return Stat{Err: err}
	}
	return Stat{Size: s.images.Size(i)}
}

// Selection is a tree of the files of another tree that a pattern or a list names.
type Selection struct {
	Tree
	names []string
}

// NewSelection returns the tree of some files of t.
func NewSelection(t Tree, names []string) Selection {
	return Selection{Tree: t, names: names}
}

func (p Selection) Walk(ctx context.Context, fn func(name, why string) error) error {
	for _, n := range p.names {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w", p.Location(), err)
		}
		if err := fn(n, ""); err != nil {
			return err
		}
	}
	return nil
}

// Count returns the number of files.
func (p Selection) Count() int { return len(p.names) }
