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
	"github.com/kindred-ml/kindred/internal/format/plaintext"
)

// isShardName reports whether a file with this name holds many images.
func isShardName(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == tarExtension || ext == parquetExtension
}

// openShards opens a shard, the shards of a pattern with braces, or the shards of a .txt list with a path on
// each line. ok is false if what is none of these.
func openShards(ctx context.Context, what string, outside bool) (t tree.Selection, name string, ok bool, err error) {
	in := rootfs.FromContext(ctx)
	info, missing := in.Stat(what)
	switch {
	case missing != nil && braces.HasBraces(what):
		all, err := braces.Expand(filepath.ToSlash(what))
		if err != nil {
			return t, "", true, err
		}
		dir, _, _ := strings.Cut(filepath.ToSlash(what), "{")
		dir = path.Dir(dir + "x") // the folder before the first brace
		for i, full := range all {
			rel, err := filepath.Rel(filepath.FromSlash(dir), filepath.FromSlash(full))
			if err != nil {
				return t, "", true, err
			}
			all[i] = filepath.ToSlash(rel)
			if _, err := in.Stat(filepath.FromSlash(full)); err != nil {
				return t, "", true, fmt.Errorf("the pattern %s means %d files, but one is missing: %w", what,
					len(all), err)
			}
		}
		return tree.NewSelection(tree.NewFolder(filepath.FromSlash(dir), in), all), setName(what), true, nil
	case missing != nil || !info.Mode().IsRegular():
		return t, "", false, nil
	case strings.EqualFold(filepath.Ext(what), ".txt"):
		names, err := shardList(in, what, outside)
		dir := tree.NewFolder(filepath.Dir(what), in)
		if outside { // the paths are absolute or relative to the working folder, and may lead anywhere
			dir = tree.Folder{}
		}
		return tree.NewSelection(dir, names), setName(what), true, err
	case isShardName(what):
		dir := tree.NewFolder(filepath.Dir(what), in)
		return tree.NewSelection(dir, []string{filepath.Base(what)}), setName(what), true, nil
	}
	return t, "", false, nil
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

// shardList reads a list of shards, whose paths are relative to the list. With outside it returns paths
// relative to the working folder.
func shardList(in *rootfs.Roots, list string, outside bool) ([]string, error) {
	text, err := in.ReadFile(list)
	if err != nil {
		return nil, err
	}
	if text, err = plaintext.Bytes(text); err != nil {
		return nil, tree.WithName(list, err)
	}
	var names []string
	for n, line := range textLines(text) {
		if line = strings.TrimSpace(filepath.ToSlash(line)); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		more, err := braces.Expand(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", list, n, err)
		}
		for _, name := range more {
			local := filepath.IsLocal(filepath.FromSlash(name)) && !path.IsAbs(name)
			switch {
			case !isShardName(name):
				return nil, fmt.Errorf("%s:%d: %.200q is not a shard: a list has the path of a .tar or .parquet "+
					"file on "+
					"each line", list, n, name)
			case !local && !outside:
				return nil, option.Errorf("%s:%d: %s leads outside the folder of the list: %s permits that", list, n,
					name, optOutside)
			case outside && !filepath.IsAbs(filepath.FromSlash(name)):
				name = path.Join(filepath.ToSlash(filepath.Dir(list)), name)
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: the list is empty: it must have the path of a .tar or .parquet file on each "+
			"line", list)
	}
	return names, nil
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
