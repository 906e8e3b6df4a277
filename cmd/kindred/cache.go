package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/home"
)

// trainingCache is one cache of training.
type trainingCache struct {
	Name   string `json:"name"`
	Dir    string `json:"dir"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	suffix string // of its files' names
}

// listCaches returns all caches.
func listCaches() ([]trainingCache, error) {
	features, err1 := home.Features()
	images, err2 := data.CacheHome()
	return []trainingCache{{Name: "features", Dir: features, suffix: ".safetensors"}, {Name: "images", Dir: images,
		suffix: ".pack"}}, errors.Join(err1, err2)
}

// files returns the paths of the cache's files.
func (c *trainingCache) files() ([]string, error) {
	entries, err := os.ReadDir(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var out []string
	c.Files, c.Bytes = 0, 0
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), c.suffix) {
			continue // not a file of the cache, or removed in the meantime
		}
		out = append(out, filepath.Join(c.Dir, e.Name()))
		c.Files, c.Bytes = c.Files+1, c.Bytes+info.Size()
	}
	return out, nil
}

func newCache(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Show and remove the caches of training",
		Long: `Training keeps decoded images (data.cache) and the features of frozen networks
(network.freeze=body) in the user's cache folder. All of it can be removed at any
time and is made again when it is needed.`,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "list",
		Short: "Show the caches, their folders and sizes",
		Args:  exactArgs(),
		RunE:  func(*cobra.Command, []string) error { return a.printCaches() },
	}, &cobra.Command{
		Use:       "drop features|images",
		Short:     "Remove a cache",
		Args:      exactArgs("features or images"),
		ValidArgs: []string{"features", "images"},
		RunE:      func(_ *cobra.Command, args []string) error { return a.dropCache(args[0]) },
	})
	return cmd
}

func (a *app) printCaches() error {
	all, err := listCaches()
	if err != nil {
		return err
	}
	for i := range all {
		if _, err := all[i].files(); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(map[string]any{"caches": all})
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tFILES\tSIZE\tFOLDER")
	for _, c := range all {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", c.Name, c.Files, budget.Format(c.Bytes), c.Dir)
	}
	return w.Flush()
}

func (a *app) dropCache(name string) error {
	all, err := listCaches()
	if err != nil {
		return err
	}
	at, err := enum.Index("cache", name, mapList(all, func(c trainingCache) string { return c.Name }))
	if err != nil {
		return usageError(err)
	}
	c := all[at]
	files, err := c.files()
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return a.printResultf(c, "%s: %d files, %s, removed from %s\n", c.Name, c.Files, budget.Format(c.Bytes), c.Dir)
}
