package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/remote/remotedata"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
	"github.com/kindred-ml/kindred/run"
)

// photoFlags name the data set with the photos of embedded items.
type photoFlags struct {
	data, dataDir string
	outside       bool
}

func (f *photoFlags) add(cmd *cobra.Command) {
	fs := newFlags(cmd)
	fs.outside(&f.outside)
	fs.text(&f.data, "data", "", "data set of the pictures, by name or path", completeDatasets)
	fs.dataDir(&f.dataDir)
}

// open opens the data set; nil without one. files are the items' names, and
// source the file that should hold them.
func (f *photoFlags) open(ctx context.Context, files []string, source string) (*data.Dataset, error) {
	if f.data == "" {
		return nil, nil
	}
	if files == nil {
		return nil, fmt.Errorf("--data %s: neither %s nor the labels name the items; give labels with a column path",
			f.data, source)
	}
	return remotedata.Open(ctx, f.data, data.OpenOptions{Home: dataFolder(f.dataDir), Outside: f.outside,
		Unlabelled: true, Distinct: true})
}

// openData opens the data set that a configuration names, on this machine or at an address.
func openData(ctx context.Context, c *run.DataConfig, home string) (*data.Dataset, error) {
	if remotedata.IsAddress(c.Path) {
		return remotedata.Open(ctx, c.Path, c.OpenOptions(home, embeddingFormats()...))
	}
	return c.Open(ctx, home, embeddingFormats()...)
}

// openWhole is openData with all columns of a manifest.
func openWhole(ctx context.Context, c *run.DataConfig, home string) (*data.Dataset, error) {
	opt := c.OpenOptions(home, embeddingFormats()...)
	opt.OtherColumns = true
	return remotedata.Open(ctx, cmp.Or(c.Path, c.Name), opt)
}

// root returns the folder of the items, if they are files.
func (f *photoFlags) root() string { return photo.RootFolder(f.data, dataFolder(f.dataDir)) }

// place returns the absolute path of the data set: of its manifest, archive or folder.
func (f *photoFlags) place() string {
	path := f.root()
	if strings.EqualFold(filepath.Ext(f.data), ".csv") {
		path = f.data
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
