package inputs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/experiments/paper"
	"github.com/kindred-ml/kindred/internal/app/remote/datasets"
)

// NewFetcher fetches known data sets and shows its progress.
func NewFetcher(a *console.Console, home string) *datasets.Getter {
	bar := a.NewMeter("", console.Bytes)
	return &datasets.Getter{Home: home, Bytes: bar.ShowPiece, Progress: func(line string) {
		bar.Close()
		fmt.Fprintln(a.Err, line)
	}}
}

// FetchData fetches the experiment's data set by name, unless it is on this machine or the
// settings name a path.
func FetchData(ctx context.Context, a *console.Console, e *paper.Experiment, o paper.Options) error {
	cfg, err := e.Config(o)
	if err != nil {
		return err
	}
	name := cfg.Data.Name
	if _, err := datasets.Find(datasets.Catalog(), name); cfg.Data.Path != "" || err != nil {
		return nil
	}
	if o.Home == "" {
		_, err := data.Home("")
		return err
	}
	for _, home := range []string{o.Home, data.DebianHome} {
		if _, err := os.Stat(filepath.Join(home, name)); err == nil {
			return nil
		}
	}
	_, err = NewFetcher(a, o.Home).Get(ctx, name)
	return err
}
