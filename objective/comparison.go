package objective

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/internal/compute/pair"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
)

// termConfig is what a term computes. It stays as it is from step to step.
type termConfig struct {
	opts   Options
	weight float64
	loss   loss.Loss
	terms  loss.Terms
	traits loss.Traits // of the loss
	params []*loss.Param
}

// comparison is what a step compares: anchors with references, and which of these belong together. All
// but the memory is of the step under way; prepare makes it.
type comparison struct {
	termConfig
	memory memory // earlier batches, as further references

	rows          pair.Rows // the batch
	centred       pair.Rows // the batch, centred, for a loss that wants it
	proxies       pair.Rows
	p, pGrad      matrix.Dense // the proxies as parameters, and their gradient
	proxyLabels   []int64
	labels        []int64       // of the anchors
	withPositives int           // anchors that have positives, of a loss with proxies
	given         givenTriplets // in place of the miner, if used
	dE, dP        matrix.Dense  // gradients of the batch and of the proxies, for whoever goes through the table
	table         pair.Table
}

// prepare sets up anchors, references and groups.
func (t *comparison) prepare(x *matrix.Dense, b Batch, triplets [][3]int32) error {
	if err := t.rows.Set(x, t.opts.Normalize); err != nil {
		return err
	}
	if t.traits.Centered {
		t.centred.Center(&t.rows)
	}
	reshape(&t.dE, x.Rows, x.Cols)
	batch := t.lossRows()
	t.table.A, t.table.R = batch, batch
	labels := b.Labels
	t.labels = labels
	t.given.set(x.Rows, triplets)
	if t.given.used {
		t.table.Groups.BuildSingletons(x.Rows)
		return nil
	}
	if _, ok := t.loss.(loss.PerLabel); ok && len(t.params[0].Value) > 1 {
		if err := t.checkLabels(labels, len(t.params[0].Value)); err != nil {
			return err
		}
	}
	if t.traits.Proxies > 0 {
		return t.prepareProxies(labels)
	}
	if t.traits.Views {
		return t.groupViews(b)
	}
	refs := b
	if t.memory.size > 0 {
		var err error
		if t.table.R, refs, err = t.memory.references(batch, b); err != nil {
			return err
		}
	}
	if t.opts.Relate == nil {
		t.table.Groups.Build(labels, refs.Labels, true)
	} else {
		relate := t.opts.Relate
		t.table.Groups.BuildBy(len(labels), len(refs.Labels), true,
			func(i, j int) pair.Relation { return pair.Relation(relate(labels[i], refs.Labels[j])) })
	}
	if refs.IDs != nil {
		t.table.Groups.Merge(refs.IDs, t.traits.OtherViews)
	}
	if t.traits.CrossRows && !t.table.Groups.SharedNegatives() {
		return errors.New("this loss compares a positive with its anchor's negatives, so both must have the same " +
			"ones: a sample under two labels, or a relation of labels that is not transitive, does not suit it")
	}
	return nil
}

// groupViews groups the rows of a loss between views of the same sample.
func (t *comparison) groupViews(b Batch) error {
	if b.IDs == nil {
		return errors.New("this loss compares views of the same sample: the identities of the batch must say which " +
			"rows these are")
	}
	t.table.Groups.BuildBy(len(b.Labels), len(b.Labels), true, func(i, j int) pair.Relation {
		switch {
		case b.IDs[i] == b.IDs[j]:
			return pair.Positive
		case b.Labels[i] == b.Labels[j]:
			return pair.Negative
		}
		return pair.Ignored
	})
	return nil
}

func (t *comparison) checkLabels(labels []int64, classes int) error {
	for i, y := range labels {
		if y < 0 || y >= int64(classes) {
			return fmt.Errorf("sample %d has label %d, but the loss learns for labels 0 to %d", i, y, classes-1)
		}
	}
	return nil
}

func (t *comparison) prepareProxies(labels []int64) error {
	param := t.params[0]
	n, d := param.Shape[0], param.Shape[1]
	if d != t.rows.E.Cols {
		return fmt.Errorf("proxies have %d numbers, embeddings %d", d, t.rows.E.Cols)
	}
	if err := t.checkLabels(labels, n/t.traits.Proxies); err != nil {
		return err
	}
	t.p = matrix.Dense{Rows: n, Cols: d, Stride: d, Data: param.Value}
	t.pGrad = matrix.Dense{Rows: n, Cols: d, Stride: d, Data: param.Grad}
	if err := t.proxies.Set(&t.p, true); err != nil {
		return fmt.Errorf("proxies: %w", err)
	}
	t.proxyLabels = resize(t.proxyLabels, n)
	for k := range t.proxyLabels {
		t.proxyLabels[k] = int64(k / t.traits.Proxies)
	}
	reshape(&t.dP, n, d)
	if t.traits.ProxyAnchors {
		t.table.A = &t.proxies
		t.table.Groups.Build(t.proxyLabels, labels, false)
		t.labels = t.proxyLabels
		t.withPositives = 0
		for i := range n {
			if len(t.table.Groups.NonNegatives(i)) > 0 {
				t.withPositives++
			}
		}
	} else {
		t.table.R = &t.proxies
		t.table.Groups.Build(labels, t.proxyLabels, false)
		t.withPositives = len(labels)
	}
	return nil
}

// lossRows returns the batch as the loss sees it.
func (t *comparison) lossRows() *pair.Rows {
	if t.traits.Centered {
		return &t.centred
	}
	return &t.rows
}
