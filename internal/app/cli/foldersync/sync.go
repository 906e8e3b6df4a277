// Package foldersync makes an index match a folder of photos, once or for as long as a server runs.
package foldersync

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/items"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/internal/collection/mirror/changes"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// Sync makes an index match a data set of photos. It keeps the network of the index between two comparisons.
type Sync struct {
	Photos inputs.PhotoFlags
	Prefix string // beginning of the photos' ids, before their names
	Strict bool
	Yes    bool // allow removing more than changes.DefaultMaxRemovals of the items
	// Removals are the decisions about missing photos; nil reads them from the index.
	Removals *mirror.Removals
	// Progress is told of photos embedded; it may be nil.
	Progress func(done, total int)

	model    *run.Model // loaded when first needed
	modelDir string     // folder of model
}

// Compare opens the set, which the caller closes, and compares the index with it.
func (s *Sync) Compare(ctx context.Context, a *console.Console, x *index.Index) (*data.Dataset, *mirror.Plan,
	error) {
	set, err := s.open(ctx, x)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.newPlan(ctx, a, x, set)
	if err != nil {
		set.Close()
	}
	return set, p, err
}

// Apply makes the changes of a plan, and adds to res what was done.
func (s *Sync) Apply(ctx context.Context, a *console.Console, x *index.Index, p *mirror.Plan,
	res *Result) error {
	if p.TooMany(changes.DefaultMaxRemovals) && !s.Yes {
		return fmt.Errorf("%d of %d items would be removed, which is more than a tenth: nothing was changed; "+
			"--dry-run --json lists them, and --yes removes them", p.Counts[changes.Removed], len(p.Have))
	}
	meter := a.NewMeter("embedding", console.Count)
	done, err := p.Apply(ctx, x, func() (*run.Model, error) { return s.Network(x) }, func(done, total int) {
		meter.ShowCount(done, total)
		if s.Progress != nil {
			s.Progress(done, total)
		}
	})
	meter.Close()
	if err != nil {
		return err
	}
	if done.Note != nil {
		res.Notes = append(res.Notes, done.Note)
	}
	res.Applied, res.Embedded, res.LeftOut, res.Items = true, done.Embedded, done.LeftOut, x.Info().Items
	res.Kept, res.done = done.Kept, done
	for _, k := range []changes.Kind{changes.Added, changes.Changed} { // to what was done
		res.Counts[k.String()] -= done.Undone[k]
		res.Counts[NotDoneKey] += done.Undone[k]
	}
	return nil
}

// open opens the data set as the network of the index needs it.
func (s *Sync) open(ctx context.Context, x *index.Index) (*data.Dataset, error) {
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
	return data.Open(ctx, s.Photos.Data, data.OpenOptions{Home: inputs.DataFolder(s.Photos.DataDir), Unlabelled: true,
		Distinct: true, Crop: crop, Outside: s.Photos.Outside, Formats: cli.EmbeddingFormats(), Strict: s.Strict})
}

// newPlan compares the index with the set.
func (s *Sync) newPlan(ctx context.Context, a *console.Console, x *index.Index, set *data.Dataset) (*mirror.Plan,
	error) {
	labels, err := sampleLabels(set, x.Info().Columns)
	if err != nil {
		return nil, err
	}
	meter := a.NewMeter("looking", console.Count)
	defer meter.Close()
	return mirror.NewPlan(ctx, x, set, mirror.Options{Prefix: s.Prefix, Set: s.Photos.Place(), Labels: labels,
		Again: s.Strict, Removals: s.Removals, Progress: meter.ShowCount})
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

// Network loads the network of the index. It must be the one that made the index's embeddings.
func (s *Sync) Network(x *index.Index) (*run.Model, error) {
	if s.model == nil || s.modelDir != x.NetworkDir() { // 'kindred index reembed' gave the index another network
		m, err := provenance.LoadNetwork(x)
		if err != nil {
			return nil, err
		}
		if m == nil {
			return nil, fmt.Errorf("%s has no network, so photos cannot be embedded", x.Dir())
		}
		m.Config.Data.Strict = s.Strict
		s.model, s.modelDir = m, x.NetworkDir()
	}
	have := x.Info().Network
	is, err := s.model.Identity(have.Name)
	if have.IsFileDigest() {
		is, err = provenance.IdentityByFiles(s.model, x.NetworkDir(), true, have.Name)
	}
	if err != nil {
		return nil, err
	}
	if !is.IsSame(have.Network) {
		return nil, fmt.Errorf("%s is not the network that made the embeddings of %s, or it prepares photos "+
			"differently: restore the folder from a backup, or make the index again", x.NetworkDir(), x.Dir())
	}
	return s.model, nil
}
