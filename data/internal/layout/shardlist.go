package layout

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/base/braces"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/base/rootfs"
)

// isShardName reports whether a file with this name holds many images.
func isShardName(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == tarExtension || ext == parquetExtension
}

// shards are files of images that a path means, with a name for the set.
type shards struct {
	tree.Selection
	name string
}

// findShards finds the shard, the shards of a pattern with braces, or the shards of a .txt list with a path on
// each line, that what means. It returns nil if what is none of these.
func findShards(ctx context.Context, what string, outside bool) (*shards, error) {
	in := rootfs.FromContext(ctx)
	info, missing := in.Stat(what)
	isFile := missing == nil && info.Mode().IsRegular()
	dir, file := tree.NewFolder(filepath.Dir(what), in), filepath.Base(what)
	name, names, err := setName(what), []string{file}, error(nil)
	switch {
	case isFile && isShardName(what):
	case isFile && strings.EqualFold(filepath.Ext(what), ".txt"):
		names, err = readShardList(dir, file, outside)
		if outside { // the paths are absolute or relative to the working folder, and may lead anywhere
			dir = tree.Folder{}
		}
	case missing != nil:
		dir, names, err = expandPattern(in, filepath.ToSlash(what))
	default:
		names = nil
	}
	if names == nil {
		return nil, err
	}
	return &shards{tree.NewSelection(dir, names), name}, err
}

// open reads the set in the shards: the tar files or, without any, the tables.
func (f *shards) open(ctx context.Context, opt Options) (*Set, error) {
	of := layout{name: "parquet", read: readPictures}
	if isShardsOf(tarExtension)(ctx, &listing{Tree: f.Selection}) {
		of = layout{name: "webdataset", read: readWebDataset}
	}
	return of.open(ctx, &listing{Tree: f.Selection}, nil, f.name, opt)
}

// expandPattern returns the folder of the files that a pattern with braces means, and their paths in it; none without
// braces.
func expandPattern(in *rootfs.Roots, pattern string) (dir tree.Folder, names []string, err error) {
	if !braces.HasBraces(pattern) {
		return dir, nil, nil
	}
	if names, err = braces.Expand(pattern); err != nil {
		return dir, nil, err
	}
	before, _, _ := strings.Cut(pattern, "{")
	base := filepath.FromSlash(path.Dir(before + "x")) // the folder before the first brace
	for i, full := range names {
		full = filepath.FromSlash(full)
		rel, err := filepath.Rel(base, full)
		if err != nil {
			return dir, nil, err
		}
		names[i] = filepath.ToSlash(rel)
		if _, err := in.Stat(full); err != nil {
			return dir, nil, fmt.Errorf("the pattern %s means %d files, but one is missing: %w",
				filepath.FromSlash(pattern), len(names), err)
		}
	}
	return tree.NewFolder(base, in), names, nil
}

// setName returns the name of a set of shards: the last part of their path up to the first brace.
func setName(what string) string {
	what = filepath.ToSlash(what)
	if dir, _, cut := strings.Cut(what, "{"); cut {
		what = strings.TrimRight(dir, "-_./0123456789")
	}
	name := strings.ToLower(path.Base(what))
	if name = strings.TrimSuffix(name, path.Ext(name)); name == "" || name == "." || name == "/" {
		return "shards"
	}
	return name
}

// readShardList reads a list of shards, whose paths are relative to the list in dir. With outside it returns paths
// relative to the working folder.
func readShardList(dir tree.Folder, list string, outside bool) (names []string, err error) {
	err = eachLine(dir, list, func(_ int, line string) error {
		if strings.HasPrefix(line, "#") {
			return nil
		}
		more, err := braces.Expand(filepath.ToSlash(line))
		for _, name := range more {
			local := filepath.IsLocal(filepath.FromSlash(name)) && !path.IsAbs(name)
			switch {
			case !isShardName(name):
				return fmt.Errorf("%.200q is not a shard: a list has the path of a .tar or .parquet file on each line",
					name)
			case !local && !outside:
				return option.Errorf("%s leads outside the folder of the list: %s permits that", name, optOutside)
			case outside && !filepath.IsAbs(filepath.FromSlash(name)):
				name = path.Join(filepath.ToSlash(dir.Location()), name)
			}
			names = append(names, name)
		}
		return err
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: the list is empty: it must have the path of a .tar or .parquet file on each line",
			filepath.Join(dir.Location(), list))
	}
	return names, err
}

// isShardsOf returns a function that reports whether t holds files with an extension and no image.
func isShardsOf(ext string) func(ctx context.Context, t *listing) bool {
	return func(ctx context.Context, t *listing) bool {
		if _, ok := t.Tree.(*tree.Archive); ok {
			return false
		}
		some := false
		err := t.Walk(ctx, func(name, why string) error {
			if why != "" {
				return nil
			}
			some = some || strings.EqualFold(path.Ext(name), ext)
			if tree.IsImageName(name) {
				return tree.ErrStop
			}
			return nil
		})
		return some && err == nil
	}
}

// listShards lists the files of a set with an extension in the natural order of their names. What the walk
// leaves out is counted.
func listShards(ctx context.Context, s *Set, ext string) (shards []string, err error) {
	err = s.walk(ctx, func(name, why string) error {
		switch {
		case why != "":
			s.leave(why, name)
		case strings.EqualFold(path.Ext(name), ext):
			shards = append(shards, name)
		}
		return nil
	})
	return shards, err
}

// shardRoles finds the official split in the names of shards, in their folders or in the words of the
// files' names: train-00000-of-00012.parquet, val/0.tar. It returns nil unless every shard has a role
// and there are two parts. It adds the note of resolveRoles.
func (s *Set) shardRoles(shards []string) []Role {
	roles := make([]Role, len(shards))
	for i, name := range shards {
		found := false
		for _, word := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("/-_.", r) }) {
			if r, ok := roleByName(word); ok && !found {
				roles[i], found = r, true
			}
		}
		if !found {
			return nil
		}
	}
	if !isSplit(roles) {
		return nil
	}
	roles, note := resolveRoles(roles)
	if note != "" {
		s.Notes = append(s.Notes, note)
	}
	return roles
}

// setShards makes the images in shards the content of the samples.
func (s *Set) setShards(images tree.Images) error {
	all, err := tree.NewSharded(s.tree.Tree, s.Names, images)
	if err == nil {
		s.Files = tree.NewFiles(all)
	}
	return err
}
