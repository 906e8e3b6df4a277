// Package indexing fills an index or a store of a database with the items that the flags of a command name.
package indexing

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/items"
	"github.com/kindred-ml/kindred/internal/app/cli/queues"
	"github.com/kindred-ml/kindred/internal/app/cli/shards"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/run"
)

// Flags name the items to add to an index.
type Flags struct {
	Photos             inputs.PhotoFlags
	Embeddings, labels string
	columns, prefix    string
	Update, strict     bool
	forceNetwork       bool
	queued             queues.ShareFlags
}

// Add adds the flags.
func (f *Flags) Add(cmd *cobra.Command) {
	fs := flags.New(cmd)
	f.Photos.Add(cmd)
	cli.AddStrict(fs.FlagSet, &f.strict)
	fs.Text(&f.Embeddings, "embeddings", "", "embeddings by the same network, instead of photos "+
		"("+strings.Join(cli.EmbeddingFormats().Extensions(), ", ")+"); --data may name the folder of their photos",
		complete.Files)
	fs.ForceNetwork(&f.forceNetwork)
	fs.Labels(&f.labels, "labels of --embeddings")
	fs.Text(&f.columns, "columns", "", "file of further columns (.csv or .parquet); its column id or path "+
		"has the items' ids", complete.Files)
	fs.Text(&f.prefix, "prefix", "", "beginning of the ids, before the photos' names", complete.Nothing)
	f.queued.Add(cmd)
}

// Check refuses flags that do not apply to the items to add.
func (f *Flags) Check(cmd *cobra.Command) error {
	what := "a file of embeddings (--embeddings)"
	if f.Photos.Data == "" {
		what = "a file of embeddings"
		if f.Embeddings == "" {
			return cli.Usagef("missing photos (--data), or --embeddings: the items to add")
		}
	}
	return flags.Check(cmd, what,
		flags.When("labels", true, "embeddings", flags.ReasonOwnLabels),
		flags.When(provenance.ForceFlag, true, "embeddings", flags.ReasonFile),
		flags.When("allow-outside strict queue", f.Embeddings == "", "", "photos are not read"),
		flags.When("data-dir", f.Photos.Data != "", "", flags.ReasonDataset))
}

// Added is the JSON of 'kindred index create' and 'add'.
type Added struct {
	Index string `json:"index"`
	index.Added
	Items   int            `json:"items"`
	LeftOut []data.LeftOut `json:"left_out,omitempty"`
}

// Fill adds the items of a source and reports the result.
func Fill(ctx context.Context, a *console.Console, to *lookup.Items, s *Source, f *Flags) error {
	meter := a.NewMeter("embedding", console.Count)
	defer meter.Close()
	d := &items.Adder{Gallery: to, Update: f.Update, Prefix: f.prefix, Columns: s.columns, Progress: meter.ShowCount,
		From: f.Photos.Place(), Shared: s.shared}
	var left []data.LeftOut
	var err error
	if s.Table != nil {
		err = d.AddTable(ctx, s.Table, s.Root)
	} else {
		left, err = d.AddPhotos(ctx, s.Model, s.Data, s.Root)
	}
	meter.Close()
	if to.Index != nil && errors.Is(err, context.Canceled) {
		where := fmt.Sprintf("%d items are in %s", to.Index.Info().Items, to.Name)
		words := []string{"kindred", "index", "add", to.Name}
		for _, g := range [][2]string{{"data", f.Photos.Data}, {"embeddings", f.Embeddings}, {"labels", f.labels},
			{"columns", f.columns}, {"prefix", f.prefix}} {
			if g[1] != "" {
				words = append(words, "--"+g[0], g[1])
			}
		}
		words = append(words, f.queued.CommandWords()...)
		return cli.ResumableError{Err: err, Where: where, Command: escape.Command(words...)}
	}
	if err != nil {
		return err
	}
	inputs.PrintLeftOut(a, left)
	if said := d.UnmatchedWarning(); said != "" {
		fmt.Fprintln(a.Err, "kindred: "+said)
	}
	if err := printStale(ctx, a, d, s.Data, f.Photos.Data); err != nil {
		return err
	}
	info, err := to.Info(ctx)
	if err != nil {
		return err
	}
	res := Added{to.Name, d.Result, info.Items, left}
	return a.PrintResultf(res, "%s: %d items; %d added, %d replaced, %d skipped as already there\n", res.Index,
		res.Items, res.Added.Added, res.Replaced, res.Skipped)
}

// Source is the source of items: photos and a network, or a table.
type Source struct {
	lookup.Set
	Model   *run.Model
	columns *items.Columns
	shared  *shards.SharedDataset // nil without a queue
	leave   func()                // closes the queue
}

// Close closes the photos and the queue.
func (s *Source) Close() {
	if s.leave != nil {
		s.leave()
	}
	s.Set.Close()
}

// Open opens the items to add. model returns the network, or nil without a network. to returns the embeddings that
// those of a file join; nil without any.
func (f *Flags) Open(ctx context.Context, a *console.Console, model func() (*run.Model, error),
	to func(*run.Model) (*provenance.EmbeddingSource, error)) (s *Source, err error) {
	s = &Source{}
	if s.columns, err = items.ReadColumns(f.columns); err != nil {
		return nil, err
	}
	for _, said := range s.columns.DescribeUnread() {
		fmt.Fprintln(a.Err, "kindred: "+escape.Name(said))
	}
	if s.Model, err = model(); err != nil {
		return nil, err
	}
	if f.Embeddings != "" {
		if f.Photos.Data != "" {
			s.Root = f.Photos.Root()
		}
		t, err := cli.EmbeddingFormats().Read(f.Embeddings)
		if err == nil {
			err = t.CheckIDs()
		}
		if err == nil {
			t, err = inputs.AddAllLabels(a, t, f.labels)
		}
		if err == nil {
			err = provenance.CheckTable(t, f.Embeddings, s.Model, "the network")
		}
		if err != nil {
			return nil, err
		}
		others, err := to(s.Model)
		if err == nil && others != nil {
			err = provenance.CheckSameNetwork(provenance.SourceOfTable(t, f.Embeddings), *others, f.forceNetwork, a.Err)
		}
		if err != nil {
			return nil, err
		}
		for _, said := range items.DescribeUnread(t.Skipped, f.Embeddings) {
			fmt.Fprintln(a.Err, "kindred: "+escape.Name(said))
		}
		s.Table = t
		return s, nil
	}
	if s.Model == nil {
		return nil, fmt.Errorf("the index has no network, so photos cannot be embedded: add --embeddings")
	}
	s.Model.Config.Data.Strict = f.strict // without strict, photos that cannot be read are reported
	if s.Data, s.Root, err = f.Photos.OpenFor(ctx, s.Model, f.strict); err != nil {
		return nil, err
	}
	inputs.PrintNotes(a, s.Data)
	fmt.Fprintf(a.Err, "%d photos in %s\n", s.Data.Len(), escape.Name(f.Photos.Data))
	if f.queued.Queue != "" {
		s.shared, s.leave, err = f.queued.Share(ctx, a, s.Model, s.Data,
			shards.Source{Data: f.Photos.Data, Outside: f.Photos.Outside}, f.Photos.DataDir)
		if err != nil {
			s.Set.Close()
			return nil, err
		}
	}
	return s, nil
}

// printStale prints a remark about items that were not added again although their photos have changed.
func printStale(ctx context.Context, a *console.Console, d *items.Adder, set *data.Dataset, what string) error {
	gone, changed, err := d.CountStale(ctx, set)
	if err != nil || gone+changed == 0 {
		return err
	}
	words := []string{"kindred", "index", "sync", what, "--index", d.Gallery.Name}
	if d.Prefix != "" {
		words = append(words, "--prefix", d.Prefix)
	}
	_, err = fmt.Fprintf(a.Err, "of the items already there, %d are of photos that were deleted or renamed, "+
		"and %d of files that have changed since: '%s --dry-run' lists them; without --dry-run it updates the "+
		"index\n", gone, changed, escape.Command(words...))
	return err
}
