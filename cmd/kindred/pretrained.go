package main

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/remote/download"
	"github.com/kindred-ml/kindred/internal/app/remote/weights"
	"github.com/kindred-ml/kindred/run"
)

// weightsFolder is the folder of pretrained networks, with the address to fetch more from.
type weightsFolder struct {
	a       *app
	home    string
	from    string // address to fetch from instead of the official one
	offline bool
}

// weightsIn returns the folder of the flag, or the default one.
func (a *app) weightsIn(flag string) (*weightsFolder, error) {
	home, err := weights.Home(flag)
	return &weightsFolder{a: a, home: home}, err
}

// find returns the weights called name, or the default ones for photos if
// there is no name, and whether their file is in the folder.
func (w *weightsFolder) find(name string) (e weights.Entry, here bool, err error) {
	if name == "" {
		e, here = weights.DefaultStart(w.home)
		return e, here, nil
	}
	e, err = weights.Find(name)
	return e, err == nil && e.Cached(w.home), err
}

// get fetches the weights called name, or checks an existing file, and shows
// its progress.
func (w *weightsFolder) get(ctx context.Context, name string) (*weights.Result, error) {
	g := weights.Getter{Home: w.home, From: w.from, Offline: w.offline}
	var end func()
	g.Client, g.Progress, end = w.a.newDownload(name)
	defer end()
	return g.Get(ctx, name)
}

// newDownload returns a client that shows its progress, a function that prints a remark, and one that ends
// the progress.
func (a *app) newDownload(name string) (c download.Client, say func(line string), end func()) {
	m := a.newMeter(name, bytesUnit)
	return download.Client{Progress: m.show}, func(line string) {
		m.close()
		fmt.Fprintln(a.err, line)
	}, m.close
}

// findWeights finds pretrained networks for a run: by name, or the default one
// for photos.
func (a *app) findWeights(f cli.WeightsFlags) func(context.Context, string) (run.Start, error) {
	return f.Finder(func(ctx context.Context, home, name string) error {
		w := weightsFolder{a: a, home: home, offline: f.Offline}
		_, err := w.get(ctx, name)
		return err
	})
}
