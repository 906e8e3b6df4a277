package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/items"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/internal/collection/mirror/changes"
	"github.com/kindred-ml/kindred/internal/collection/mirror/watch"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

type syncFlags struct {
	photos          photoFlags
	index, prefix   string
	dry, watch, yes bool
	strict          bool
	every           time.Duration
	model           *run.Model            // loaded when first needed
	modelDir        string                // folder of model
	most            float64               // of serve: share of the items that may be removed without a decision
	waits, leftOut  string                // of serve: what the log has told last
	removals        *mirror.Removals      // nil reads them from the index
	said            string                // the last remark of --watch, which is not repeated
	progress        func(done, total int) // told of photos embedded; may be nil
}

func newIndexSync(a *app) *cobra.Command {
	var f syncFlags
	cmd := &cobra.Command{
		Use:               "sync PHOTOS --index INDEX",
		ValidArgsFunction: completeOne(completeDatasets),
		Short:             "Make an index match a folder of photos",
		Long: `sync compares an index with a folder of photos, or another data set of image files.
It prints which photos were added, changed, moved, relabelled and removed, and then
changes the index in one step: completely, or not at all. --data means the same as the
argument. The default of --index is the folder PHOTOS.index.

Only new content is embedded, with the network of the index. A photo that was moved to
another place or class keeps its embedding and its columns. A class that was changed by
hand in a server stays until the file moves to another class. A file with the same size
and time as before is not opened; for any other file the content is compared. Items
from other sources stay as they are. Removing more than a tenth of the items needs --yes.

--watch repeats this until Ctrl-C, after each change in the folder and at least every
minute.`,
		Example: `  kindred index sync photos/ --index photos.index --dry-run
  kindred index sync photos/ --index photos.index
  kindred index sync photos/ --watch`,
		Args: func(_ *cobra.Command, args []string) error { return f.readArgs(args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	fs := newFlags(cmd)
	f.photos.add(cmd)
	cli.AddStrict(fs.FlagSet, &f.strict)
	fs.text(&f.index, "index", "", "folder of the index; default: PHOTOS.index", completeFolders)
	fs.text(&f.prefix, "prefix", "", "beginning of the photos' ids, before their names; items whose ids "+
		"begin otherwise stay as they are", completeNothing)
	fs.BoolVar(&f.dry, "dry-run", false, "print the changes, and make none")
	fs.BoolVar(&f.yes, "yes", false, "allow removing more than a tenth of the items")
	fs.BoolVar(&f.watch, "watch", false, "repeat after each change in the folder, until Ctrl-C")
	fs.DurationVar(&f.every, "every", time.Minute, "with --watch: longest time between two comparisons, "+
		"even if no change was reported")
	return cmd
}

// readArgs reads the arguments.
func (f *syncFlags) readArgs(args []string) error {
	switch {
	case len(args) > 1:
		return usagef("unexpected argument %q: want PHOTOS alone", args[1])
	case len(args) == 1 && f.photos.data != "":
		return usagef("give PHOTOS as an argument or by --data, not both")
	case len(args) == 1:
		f.photos.data = args[0]
	case f.photos.data == "":
		return usagef("missing argument PHOTOS: the folder to follow")
	}
	f.index = cmp.Or(f.index, filepath.Clean(f.photos.data)+".index")
	switch {
	case f.dry && f.watch:
		return usagef("--dry-run compares once: leave out --watch")
	case f.every <= 0:
		return usagef("--every %v: want more than 0", f.every)
	case !isIndex(f.index):
		return fmt.Errorf("%s is not an index: make one with 'kindred index create RUN %s --out %s', or name one "+
			"with --index",
			f.index, f.photos.data, f.index)
	}
	return nil
}

func (f *syncFlags) run(ctx context.Context, a *app) error {
	if !f.watch {
		return f.syncOnce(ctx, a)
	}
	opt := watch.Options{Every: f.every, Except: f.index, OnChange: func(err error) {
		fmt.Fprintf(a.err, "the folder is compared every %v: %s\n", f.every, escape.Text(err.Error()))
	}}
	return watch.Watch(ctx, f.photos.place(), opt, func(ctx context.Context) error {
		err := f.syncOnce(ctx, a)
		if err != nil && ctx.Err() == nil { // such as a folder that is missing for a while
			f.printOnce(a, err.Error())
		} else if err == nil {
			f.said = ""
		}
		return nil
	})
}

// printOnce prints a remark, unless it repeats the last one.
func (f *syncFlags) printOnce(a *app, text string) {
	if f.said != text {
		fmt.Fprintln(a.err, "kindred: "+escape.Text(text))
	}
	f.said = text
}

// syncOnce opens the index and makes it match the data set.
func (f *syncFlags) syncOnce(ctx context.Context, a *app) error {
	if f.dry {
		x, err := a.readIndex(f.index)
		if err != nil {
			return err
		}
		defer x.Close()
		return f.syncIndex(ctx, a, x)
	}
	err := changeIndex(f.index, func(x *index.Index) error { return f.syncIndex(ctx, a, x) })
	var held *lock.HeldError
	if errors.As(err, &held) {
		err = fmt.Errorf("%w; --dry-run works meanwhile", err)
	}
	return err
}

// syncIndex compares the index with the set and, without --dry-run, changes it.
func (f *syncFlags) syncIndex(ctx context.Context, a *app, x *index.Index) error {
	set, p, err := f.compare(ctx, a, x)
	if err != nil {
		return err
	}
	defer set.Close()
	res := newSyncResult(p, x, f.photos.data)
	defer func() {
		for _, note := range res.notes {
			fmt.Fprintln(a.err, "kindred: "+escape.Text(note.Error()))
		}
	}()
	if f.watch && p.IsEmpty() {
		return f.apply(ctx, a, x, p, res) // it may note times
	}
	res.LeftOut = set.AllLeftOut()
	if !a.json {
		if !f.watch {
			a.printNotes(set)
		}
		if err := res.print(a, p); err != nil {
			return err
		}
	}
	if !f.dry {
		if err := f.apply(ctx, a, x, p, res); err != nil {
			return err
		}
	}
	if n := res.Counts[notDoneKey]; n > 0 && !a.json {
		if _, err := fmt.Fprintf(a.out, "%8d  of these left out, see below\n", n); err != nil {
			return err
		}
	}
	a.printLeftOut(res.LeftOut)
	if n := len(res.Kept); n > 0 {
		fmt.Fprintf(a.err, "%s could not be read, so the index keeps the older content: %s\n",
			enum.Count(n, "changed photo"), lookup.FormatFirstNames(res.Kept))
	}
	if a.json {
		return a.printJSON(res)
	}
	return nil
}

// compare opens the set, which the caller closes, and compares the index with it.
func (f *syncFlags) compare(ctx context.Context, a *app, x *index.Index) (*data.Dataset, *mirror.Plan, error) {
	set, err := f.open(ctx, x)
	if err != nil {
		return nil, nil, err
	}
	p, err := f.newPlan(ctx, a, x, set)
	if err != nil {
		set.Close()
	}
	return set, p, err
}

func (f *syncFlags) apply(ctx context.Context, a *app, x *index.Index, p *mirror.Plan, res *syncResult) error {
	if p.TooMany(changes.DefaultMaxRemovals) && !f.yes {
		return fmt.Errorf("%d of %d items would be removed, which is more than a tenth: nothing was changed; "+
			"--dry-run --json lists them, and --yes removes them", p.Counts[changes.Removed], len(p.Have))
	}
	meter := a.newMeter("embedding", countUnit)
	done, err := p.Apply(ctx, x, func() (*run.Model, error) { return f.network(x) }, func(done, total int) {
		meter.showCount(done, total)
		if f.progress != nil {
			f.progress(done, total)
		}
	})
	meter.close()
	if err != nil {
		return err
	}
	if done.Note != nil {
		res.notes = append(res.notes, done.Note)
	}
	res.Applied, res.Embedded, res.LeftOut, res.Items = true, done.Embedded, done.LeftOut, x.Info().Items
	res.Kept, res.done = done.Kept, done
	for _, k := range []changes.Kind{changes.Added, changes.Changed} { // to what was done
		res.Counts[k.String()] -= done.Undone[k]
		res.Counts[notDoneKey] += done.Undone[k]
	}
	return nil
}

// open opens the data set as the network of the index needs it.
func (f *syncFlags) open(ctx context.Context, x *index.Index) (*data.Dataset, error) {
	var crop bool
	if of := x.Info().Network; of.Fingerprint != "" && !of.External {
		folder, err := run.Open(x.NetworkDir())
		if err != nil {
			return nil, err
		}
		cfg, err := folder.Config()
		if err != nil {
			return nil, err
		}
		crop = cfg.Data.Crop
	}
	return data.Open(ctx, f.photos.data, data.OpenOptions{Home: dataFolder(f.photos.dataDir), Unlabelled: true,
		Distinct: true,
		Crop:     crop, Outside: f.photos.outside, Formats: embeddingFormats(), Strict: f.strict})
}

// newPlan compares the index with the set.
func (f *syncFlags) newPlan(ctx context.Context, a *app, x *index.Index, set *data.Dataset) (*mirror.Plan, error) {
	labels, err := sampleLabels(set, x.Info().Columns)
	if err != nil {
		return nil, err
	}
	meter := a.newMeter("looking", countUnit)
	defer meter.close()
	return mirror.NewPlan(ctx, x, set, mirror.Options{Prefix: f.prefix, Set: f.photos.place(), Labels: labels,
		Again: f.strict, Removals: f.removals, Progress: meter.showCount})
}

// sampleLabels returns the columns of labels of each sample, as far as the index has such columns.
func sampleLabels(set *data.Dataset, have []store.Column) ([]map[string]any, error) {
	e := &run.Embeddings{Part: set.All()}
	if e.Part.Fine == nil {
		return nil, nil
	}
	for i := range set.Names {
		e.Pos = append(e.Pos, i)
	}
	return items.LabelColumns(e.Table(), have)
}

// network loads the network of the index. It must be the one that made the index's embeddings.
func (f *syncFlags) network(x *index.Index) (*run.Model, error) {
	if f.model == nil || f.modelDir != x.NetworkDir() { // 'kindred index reembed' gave the index another network
		m, err := provenance.LoadNetwork(x)
		if err != nil {
			return nil, err
		}
		if m == nil {
			return nil, fmt.Errorf("%s has no network, so photos cannot be embedded", x.Dir())
		}
		m.Config.Data.Strict = f.strict
		f.model, f.modelDir = m, x.NetworkDir()
	}
	have := x.Info().Network
	is, err := f.model.Identity(have.Name)
	if have.IsFileDigest() {
		is, err = provenance.IdentityByFiles(f.model, x.NetworkDir(), true, have.Name)
	}
	if err != nil {
		return nil, err
	}
	if !is.IsSame(have.Network) {
		return nil, fmt.Errorf("%s is not the network that made the embeddings of %s, or it prepares photos "+
			"differently: restore the folder from a backup, or make the index again", x.NetworkDir(), x.Dir())
	}
	return f.model, nil
}

// syncResult is the JSON of 'kindred index sync'.
type syncResult struct {
	Index string `json:"index"`
	Data  string `json:"data"`
	// Items counts the items of the index, after the change if it is applied. Photos counts the photos of
	// the set. Others counts items from other sources.
	Items  int `json:"items"`
	Photos int `json:"photos"`
	Others int `json:"others"`
	// Counts has the number of photos by kind of change: after the change, those of the changes that were made, and
	// as left_out the photos that were to be added or changed and were not.
	Counts   map[string]int `json:"counts"`
	Applied  bool           `json:"applied"`
	ToEmbed  int            `json:"to_embed"`
	Embedded int            `json:"embedded"`
	Changes  []syncedItem   `json:"changes"`
	LeftOut  []data.LeftOut `json:"left_out,omitempty"`
	// Kept lists changed photos that could not be read, so that their items stay.
	Kept []string `json:"kept,omitempty"`

	notes []error        // about lists in the folder of the index
	done  *mirror.Result // nil before the change
}

// notDoneKey is the count of photos that were to be added or changed, but could not be read or changed meanwhile.
const notDoneKey = "left_out"

// syncedItem is one change.
type syncedItem struct {
	Kind       string `json:"kind"`
	ID         string `json:"id"`
	From       string `json:"from,omitempty"` // old name of a photo that was moved
	Relabelled bool   `json:"relabelled,omitempty"`
}

func newSyncResult(p *mirror.Plan, x *index.Index, what string) *syncResult {
	s := &syncResult{Index: x.Dir(), Data: what, Items: x.Info().Items, Photos: len(p.Want), Others: p.Others,
		ToEmbed: p.Embed, Counts: map[string]int{}, Changes: []syncedItem{}}
	if p.Note != nil {
		s.notes = append(s.notes, p.Note)
	}
	for k, n := range p.Counts {
		s.Counts[changes.Kind(k).String()] = n
	}
	for _, c := range p.Changes {
		item := syncedItem{Kind: c.Kind.String(), Relabelled: c.Relabelled}
		switch {
		case c.Kind == changes.Same:
			continue
		case c.To >= 0:
			item.ID = p.Want[c.To].ID
		default:
			item.ID = p.Have[c.From].ID
		}
		if c.Kind == changes.Moved {
			item.From = p.Have[c.From].ID
		}
		s.Changes = append(s.Changes, item)
	}
	return s
}

// syncKinds returns the words for each kind of change, in the order of printing.
func syncKinds() []struct {
	kind  changes.Kind
	words string
} {
	return []struct {
		kind  changes.Kind
		words string
	}{{changes.Added, "added"}, {changes.Changed, "changed"}, {changes.Moved, "moved"},
		{changes.Relabelled, "relabelled"}, {changes.Removed, "removed"},
		{changes.Touched, "touched (same content, other time)"}, {changes.Unread, "cannot be opened, left as they are"},
		{changes.Refused, "unreadable, unchanged since: passed over"},
		{changes.Held, "missing, kept by a decision"}, {changes.Same, "unchanged"}}
}

// print writes the table: a line for each kind of change, and below it the first few photos.
func (s *syncResult) print(a *app, p *mirror.Plan) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s in %s\n", escape.Name(s.Index), enum.Count(s.Items, "item"),
		enum.Count(s.Photos, "photo"), escape.Name(s.Data))
	for _, k := range syncKinds() {
		n := p.Counts[k.kind]
		if n == 0 {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(s.Changes), func(c syncedItem) bool { return c.Kind != k.kind.String() })
		fmt.Fprintf(&b, "%8d  %s", n, k.words)
		relabelled, kept := 0, 0
		for _, c := range p.Changes {
			if c.Kind == k.kind && c.Relabelled {
				relabelled++
			}
			if c.Kind == k.kind && c.Kind == changes.Refused && c.From >= 0 {
				kept++
			}
		}
		if relabelled > 0 {
			fmt.Fprintf(&b, ", %d of them to another class", relabelled)
		}
		if kept > 0 {
			fmt.Fprintf(&b, ", %d of them with an item of older content", kept)
		}
		b.WriteByte('\n')
		for i, c := range of {
			if i == maxPrinted && len(of) > maxPrinted+1 {
				fmt.Fprintf(&b, "          ... and %d more (--json lists all)\n", len(of)-maxPrinted)
				break
			}
			from := ""
			if c.From != "" && c.From != c.ID {
				from = escape.Name(c.From) + " -> "
			}
			fmt.Fprintf(&b, "          %s%s\n", from, escape.Name(c.ID))
		}
	}
	if s.Others > 0 {
		fmt.Fprintf(&b, "%8d  from other sources, left as they are\n", s.Others)
	}
	if n := len(p.Twice); n > 0 {
		fmt.Fprintf(&b, "%8d  listed twice, the first is used: %s\n", n, escape.Name(p.Twice[0]))
	}
	fmt.Fprintf(&b, "%8d  to embed\n", s.ToEmbed)
	_, err := a.out.Write([]byte(b.String()))
	return err
}

// printStale prints a remark about items that were not added again although their photos have changed.
func (a *app) printStale(ctx context.Context, d *items.Adder, set *data.Dataset, what string) error {
	gone, changed, err := d.CountStale(ctx, set)
	if err != nil || gone+changed == 0 {
		return err
	}
	words := []string{"kindred", "index", "sync", what, "--index", d.Gallery.Name}
	if d.Prefix != "" {
		words = append(words, "--prefix", d.Prefix)
	}
	_, err = fmt.Fprintf(a.err, "of the items already there, %d are of photos that were deleted or renamed, "+
		"and %d of files that have changed since: '%s --dry-run' lists them; without --dry-run it updates the "+
		"index\n", gone, changed, escape.Command(words...))
	return err
}
