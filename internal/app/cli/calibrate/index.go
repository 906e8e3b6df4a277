package calibrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/store"
)

// FromIndex returns the Set of the items of an open index in dir, or of the photos of Options.Data.
func FromIndex(ctx context.Context, x *index.Index, dir string, opt Options) (*Photos, error) {
	s := &Photos{opt: opt}
	var err error
	if s.Source, err = provenance.IndexNetwork(x); err != nil {
		return nil, err
	}
	if s.Distance, err = opt.distance(x.Info().Distance); err != nil {
		return nil, err
	}
	if s.Model, err = provenance.LoadNetwork(x); err != nil {
		return nil, err
	}
	if opt.Data != "" && s.Model == nil {
		return nil, fmt.Errorf("%s has no network, so photos cannot be embedded", dir)
	}
	if s.Model != nil && s.Model.Config.Data.Path+s.Model.Config.Data.Name != "" {
		d, err := s.splitTraining(ctx)
		switch missing := errors.Is(err, fs.ErrNotExist); {
		case err == nil:
			defer d.Close()
		case !missing:
			return nil, err
		case opt.Data == "" && !opt.AllowSeen:
			return nil, fmt.Errorf("%w: the network of %s was trained on this data set, and its classes cannot be "+
				"compared without it; call kindred where it was trained, give photos of other "+
				"classes with --data, or accept the items with --allow-seen", err, dir)
		}
	}
	if opt.Data != "" {
		return s, s.embed(ctx)
	}
	t, err := readItems(x, dir, store.ClassColumn(x.Info().Columns, opt.Column))
	if err != nil {
		return nil, err
	}
	if t, _, err = opt.Labelled(t, dir, opt.Strict); err != nil {
		return nil, err
	}
	if err := s.useTable(t, dir); err != nil {
		return nil, err
	}
	switch {
	case s.trained != nil:
		return s, s.checkUnseen(&t.Columns[0], dir)
	case opt.AllowSeen:
		s.from = FromSeen
	default:
		fmt.Fprintf(opt.Remarks, "the training data of the network of %[1]s are unknown: thresholds hold only if it "+
			"was not trained on classes of %[1]s\n", escape.Name(dir))
	}
	return s, nil
}

// readItems returns the items of an index with a column of labels. At least one item must have a label.
func readItems(x *index.Index, dir, column string) (*embedding.Table, error) {
	var rows []float32
	var labels, ids []string
	for it, err := range x.All() {
		if err != nil {
			return nil, err
		}
		rows, ids = append(rows, it.Vector...), append(ids, it.ID)
		labels = append(labels, store.FormatValue(it.Columns[column]))
	}
	if !slices.ContainsFunc(labels, func(l string) bool { return l != "" }) {
		return nil, fmt.Errorf("no item of %s has a value of %s: a calibration needs classes", dir, column)
	}
	return &embedding.Table{X: matrix.FromSlice(len(labels), x.Info().Dim, rows), Files: ids,
		Columns: []embedding.Column{embedding.NewColumn(column, labels)}}, nil
}
