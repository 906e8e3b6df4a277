package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/base/rootfs"
	"github.com/kindred-ml/kindred/internal/format/plaintext"
)

// OpenFiles makes a set without labels from the paths of images, for embedding and search. A path is
// an image file, a folder, or a .zip archive. All images in a folder and below are taken. The name of
// a sample is its path as given.
//
// Files that are not images, do not exist or are listed twice are counted and named
// in LeftOut. It is an error if no image remains. If ctx ends first, the error
// wraps ctx.Err().
func OpenFiles(ctx context.Context, paths []string) (*Dataset, error) {
	b := newBuilder("files", "files", OpenOptions{})
	among := fmt.Sprintf("among %d paths", len(paths))
	if len(paths) == 1 {
		among = "in " + paths[0]
		b.d.Name = strings.ToLower(strings.TrimSuffix(filepath.Base(paths[0]), filepath.Ext(paths[0])))
	}
	if err := b.addPaths(ctx, paths); err != nil {
		return nil, errors.Join(err, b.files.Close())
	}
	d := b.d
	if d.Len() == 0 {
		return nil, fmt.Errorf("no image %s%s", among, leftOutSentence(d.LeftOut))
	}
	return d.mustBeConsistent(), nil
}

// addPaths adds the images at the paths.
func (b *builder) addPaths(ctx context.Context, addPaths []string) error {
	in := rootfs.FromContext(ctx)
	seen, walked := make(map[string]bool), make(map[string]bool)
	leave := func(why, name string) { b.d.LeftOut = countLeftOut(b.d.LeftOut, why, name) }
	add := func(t tree, name, full string) {
		full = path.Clean(full)
		switch {
		case unwritableReason(full) != "":
			leave(unwritableNameReason(full), full)
		case !isImage(t, name):
			leave(notImageReason(full), full)
		case seen[full]:
			leave("listed twice", full)
		default:
			seen[full] = true
			b.files.list = append(b.files.list, file{t, name})
			b.d.Names = append(b.d.Names, full)
		}
	}
	for _, p := range addPaths {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		full := filepath.ToSlash(p)
		info, err := in.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			leave("no such file", full)
		case err != nil:
			leave(reasonWithoutPath(err), full)
		case info.IsDir(), info.Mode().IsRegular() && strings.EqualFold(filepath.Ext(p), ".zip"):
			if walked[path.Clean(full)] { // a short list must not cause a walk for each of its lines
				leave("listed twice", full)
				continue
			}
			walked[path.Clean(full)] = true
			t, err := openTree(in, p)
			if err != nil {
				return err
			}
			before := b.d.Len()
			err = t.walk(ctx, func(name, why string) error {
				if why != "" {
					leave(why, path.Join(full, name))
				} else {
					add(t, name, path.Join(full, name))
				}
				return nil
			})
			if err != nil || b.d.Len() == before {
				closeTree(t)
			}
			if err != nil {
				return err
			}
		case !info.Mode().IsRegular():
			leave(fileinfo.KindOf(info.Mode()), full)
		default:
			add(folder{"", in}, full, full)
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

// ReadPaths reads a list of paths for OpenFiles. There is one on each line, as ls and find write them,
// or they are separated by zero bytes, as find -print0 writes them, which allows every name. Blank
// lines are ignored.
func ReadPaths(r io.Reader) ([]string, error) {
	text, err := budget.ReadAll("the list of files", r)
	if err != nil {
		return nil, err
	}
	var out []string
	marked := bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff"))
	if bytes.IndexByte(text, 0) >= 0 && !marked {
		for p := range bytes.SplitSeq(text, []byte{0}) {
			if len(p) > 0 {
				out = append(out, string(p))
			}
		}
		return out, nil
	}
	if text, err = plaintext.Bytes(text); err != nil {
		return nil, err
	}
	for _, line := range textLines(text) {
		out = append(out, line)
	}
	return out, nil
}
