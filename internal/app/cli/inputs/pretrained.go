package inputs

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/remote/download"
	"github.com/kindred-ml/kindred/internal/app/remote/weights"
	"github.com/kindred-ml/kindred/run"
)

// weightsFolder is the folder of pretrained networks, with the address to fetch more from.
type weightsFolder struct {
	a       *console.Console
	home    string
	From    string // address to fetch from instead of the official one
	Offline bool
}

// OpenWeightsDir returns the folder of the flag, or the default one.
func OpenWeightsDir(a *console.Console, flag string) (*weightsFolder, error) {
	home, err := weights.Home(flag)
	return &weightsFolder{a: a, home: home}, err
}

// Find returns the weights called name, or the default ones for photos if
// there is no name, and whether their file is in the folder.
func (w *weightsFolder) Find(name string) (e weights.Entry, here bool, err error) {
	if name == "" {
		e, here = weights.DefaultStart(w.home)
		return e, here, nil
	}
	e, err = weights.Find(name)
	return e, err == nil && e.Cached(w.home), err
}

// Get fetches the weights called name, or checks an existing file, and shows
// its progress.
func (w *weightsFolder) Get(ctx context.Context, name string) (*weights.Result, error) {
	g := weights.Getter{Home: w.home, From: w.From, Offline: w.Offline}
	var end func()
	g.Client, g.Progress, end = NewDownload(w.a, name)
	defer end()
	return g.Get(ctx, name)
}

// NewDownload returns a client that shows its progress, a function that prints a remark, and one that ends
// the progress.
func NewDownload(a *console.Console, name string) (c download.Client, say func(line string), end func()) {
	m := a.NewMeter(name, console.Bytes)
	return download.Client{Progress: m.Show}, func(line string) {
		m.Close()
		fmt.Fprintln(a.Err, line)
	}, m.Close
}

// FindWeights finds pretrained networks for a run: by name, or the default one
// for photos.
func FindWeights(a *console.Console, f cli.WeightsFlags) func(context.Context, string) (run.Start, error) {
	return f.Finder(func(ctx context.Context, home, name string) error {
		w := weightsFolder{a: a, home: home, Offline: f.Offline}
		_, err := w.Get(ctx, name)
		return err
	})
}
