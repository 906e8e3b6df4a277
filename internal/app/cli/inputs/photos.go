package inputs

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/remote/remotedata"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
	"github.com/kindred-ml/kindred/run"
)

// PhotoFlags name the data set with the photos of embedded items.
type PhotoFlags struct {
	Data, DataDir string
	Outside       bool
}

// Add adds the flags.
func (f *PhotoFlags) Add(cmd *cobra.Command) {
	fs := flags.New(cmd)
	fs.Outside(&f.Outside)
	fs.Text(&f.Data, "data", "", "data set of the pictures, by name or path", complete.Datasets)
	fs.DataDir(&f.DataDir)
}

// Open opens the data set; nil without one. files are the items' names, and
// source the file that should hold them.
func (f *PhotoFlags) Open(ctx context.Context, files []string, source string) (*data.Dataset, error) {
	if f.Data == "" {
		return nil, nil
	}
	if files == nil {
		return nil, fmt.Errorf("--data %s: neither %s nor the labels name the items; give labels with a column path",
			f.Data, source)
	}
	return remotedata.Open(ctx, f.Data, data.OpenOptions{Home: DataFolder(f.DataDir), Outside: f.Outside,
		Unlabelled: true, Distinct: true})
}

// OpenData opens the data set that a configuration names, on this machine or at an address.
func OpenData(ctx context.Context, c *run.DataConfig, home string) (*data.Dataset, error) {
	if remotedata.IsAddress(c.Path) {
		return remotedata.Open(ctx, c.Path, c.OpenOptions(home, cli.EmbeddingFormats()...))
	}
	return c.Open(ctx, home, cli.EmbeddingFormats()...)
}

// OpenWithColumns is OpenData with all columns of a manifest.
func OpenWithColumns(ctx context.Context, c *run.DataConfig, home string) (*data.Dataset, error) {
	opt := c.OpenOptions(home, cli.EmbeddingFormats()...)
	opt.OtherColumns = true
	return remotedata.Open(ctx, cmp.Or(c.Path, c.Name), opt)
}

// Root returns the folder of the items, if they are files.
func (f *PhotoFlags) Root() string { return photo.RootFolder(f.Data, DataFolder(f.DataDir)) }

// Place returns the absolute path of the data set: of its manifest, archive or folder.
func (f *PhotoFlags) Place() string {
	path := f.Root()
	if strings.EqualFold(filepath.Ext(f.Data), ".csv") {
		path = f.Data
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
