package calibrate

import (
	"context"
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/cli"
)

// embed embeds the photos of Options.Data, whose classes training must not have seen.
func (s *Set) embed(ctx context.Context) error {
	d, err := s.opt.Others(ctx, s.Model.Config.Data.Crop)
	if err != nil {
		return err
	}
	defer d.Close()
	s.Model.Config.Data.Strict = s.opt.Strict
	e, err := s.opt.Embed(ctx, s.Model, d.All())
	if err != nil {
		return err
	}
	t, err := e.Table().Select(s.opt.columns()...)
	if err != nil {
		return err
	}
	if err := s.table(t, s.opt.Data); err != nil || s.trained == nil {
		return err
	}
	if err := s.unseen(&t.Columns[0], s.opt.Data); err != nil {
		return err
	}
	strangers := decide.Labelled{X: s.New.X}
	for _, l := range s.New.Labels { // not among the numbers of the classes that training saw
		strangers.Labels = append(strangers.Labels, -1-l)
	}
	if err := s.takeAll(ctx); err != nil {
		return err
	}
	s.strangers = strangers
	return nil
}

// unseen refuses classes that training saw, unless they are allowed.
func (s *Set) unseen(classes *embedding.Column, where string) error {
	seen := s.trained.Saw(classes)
	switch {
	case len(seen) == 0 && s.opt.AllowSeen:
		return cli.Usagef("--allow-seen: training saw no class of %s", where)
	case len(seen) == 0:
		return nil
	case s.opt.AllowSeen:
		s.from = FromSeen
		return nil
	}
	some := strings.Join(seen[:min(len(seen), 3)], ", ")
	if len(seen) > 3 {
		some += fmt.Sprintf(" and %d more", len(seen)-3)
	}
	way := "give photos of other classes, ten or more"
	if s.opt.Data == "" {
		way = fmt.Sprintf("copy the calibration of its run, which tells these classes (kindred calibrate RUN, then "+
			"RUN/%s to %s), give photos of other classes with --data, or take them nevertheless with --allow-seen",
			decide.FileName, where)
	}
	return fmt.Errorf("%s holds classes that training saw (%s): they lie farther apart than new ones, so that "+
		"thresholds learned from them let more strangers in than they say; %s", where, some, way)
}
