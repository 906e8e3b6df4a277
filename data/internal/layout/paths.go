package layout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/base/rootfs"
)

// OpenFiles lists the images at paths; see data.OpenFiles.
func OpenFiles(ctx context.Context, paths []string) (*Set, error) {
	s := newSet("files", "files", nil, Options{})
	among := fmt.Sprintf("among %d paths", len(paths))
	if len(paths) == 1 {
		among = "in " + paths[0]
		s.Name = strings.ToLower(strings.TrimSuffix(filepath.Base(paths[0]), filepath.Ext(paths[0])))
	}
	if err := s.addPaths(ctx, paths); err != nil {
		return nil, errors.Join(err, s.Files.Close())
	}
	if len(s.Names) == 0 {
		return nil, fmt.Errorf("no image %s%s", among, tree.Sentence(s.LeftOut))
	}
	return s, nil
}

// addPaths adds the images at the paths.
func (s *Set) addPaths(ctx context.Context, paths []string) error {
	in := rootfs.FromContext(ctx)
	seen, walked := make(map[string]bool), make(map[string]bool)
	add := func(t tree.Tree, name, full string) {
		full = path.Clean(full)
		switch {
		case tree.UnwritableReason(full) != "":
			s.leave(tree.UnwritableNameReason(full), full)
		case !tree.IsImage(t, name):
			s.leave(tree.NotImageReason(full), full)
		case seen[full]:
			s.leave("listed twice", full)
		default:
			seen[full] = true
			s.Files.Add(t, name)
			s.Names = append(s.Names, full)
		}
	}
	for _, p := range paths {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		full := filepath.ToSlash(p)
		info, err := in.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.leave("no such file", full)
		case err != nil:
			s.leave(reasonWithoutPath(err), full)
		case info.IsDir(), info.Mode().IsRegular() && strings.EqualFold(filepath.Ext(p), ".zip"):
			if walked[path.Clean(full)] { // a short list must not cause a walk for each of its lines
				s.leave("listed twice", full)
				continue
			}
			walked[path.Clean(full)] = true
			t, err := tree.Open(in, p)
			if err != nil {
				return err
			}
			before := len(s.Names)
			err = t.Walk(ctx, func(name, why string) error {
				if why != "" {
					s.leave(why, path.Join(full, name))
				} else {
					add(t, name, path.Join(full, name))
				}
				return nil
			})
			if err != nil || len(s.Names) == before {
				tree.Close(t)
			}
			if err != nil {
				return err
			}
		case !info.Mode().IsRegular():
			s.leave(fileinfo.KindOf(info.Mode()), full)
		default:
			add(tree.NewFolder("", in), full, full)
		}
	}
	return nil
}

// reasonWithoutPath returns the reason in an error about a file, without the path, which is named elsewhere.
func reasonWithoutPath(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
