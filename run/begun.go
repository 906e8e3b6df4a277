package run

import (
	"cmp"

	"github.com/kindred-ml/kindred/data"
)

// asBegun fills in what the configuration of a resumed run leaves open by what the run
// was begun with, as its folder says. The defaults of a resumed run would be others than
// those that it was begun with: a pretrained start cuts a validation part off, and its
// features decide about the positives.
//
// A key is open where zero lets the data or the start choose; any other zero is a value.
func (t *trainer) asBegun() {
	f, err := Open(t.opts.Dir)
	if err != nil {
		return // taking the folder will say it
	}
	was, err := f.Config()
	if err != nil {
		return // likewise
	}
	t.cfg.Data.fill(&was.Data)
	t.cfg.Network.fill(&was.Network)
	t.cfg.Sample.fill(&was.Sample)
	t.cfg.Train.fill(&was.Train, was.Network.pretrained())
	t.cfg.Mine.fill(was.Mine, "positives", "negatives")
	t.cfg.Loss.fill(was.Loss, "name")
}

func (d *DataConfig) fill(was *DataConfig) {
	d.Size, d.Channels = cmp.Or(d.Size, was.Size), cmp.Or(d.Channels, was.Channels)
	// Runs once did not write down what a split left to the data came to: it was the one
	// called benchmark.
	d.Split = cmp.Or(d.Split, was.Split, "benchmark")
	d.Validation = cmp.Or(d.Validation, was.Validation)
	d.Fit, d.Shorter = cmp.Or(d.Fit, was.Fit), cmp.Or(d.Shorter, was.Shorter)
	d.Augment, d.Views = cmp.Or(d.Augment, was.Augment), cmp.Or(d.Views, was.Views)
	d.Group = cmp.Or(d.Group, was.Group, data.GroupNone) // runs once divided bursts
	d.Pixels, d.Chroma = cmp.Or(d.Pixels, was.Pixels), cmp.Or(d.Chroma, was.Chroma)
}

func (n *NetworkConfig) fill(was *NetworkConfig) {
	n.Name, n.Pretrained = cmp.Or(n.Name, was.Name), cmp.Or(n.Pretrained, was.Pretrained)
	n.Dim, n.Head = cmp.Or(n.Dim, was.Dim), cmp.Or(n.Head, was.Head)
	if n.Normalize == Auto {
		n.Normalize = was.Normalize
	}
	if n.FrozenNorm == Auto {
		n.FrozenNorm = was.FrozenNorm
	}
}

func (s *SampleConfig) fill(was *SampleConfig) {
	if s.Name != was.Name {
		return
	}
	s.Classes, s.PerClass = cmp.Or(s.Classes, was.Classes), cmp.Or(s.PerClass, was.PerClass)
	s.Coarse, s.Fine = cmp.Or(s.Coarse, was.Coarse), cmp.Or(s.Fine, was.Fine)
	s.Batches = cmp.Or(s.Batches, was.Batches)
}

// fill leaves the patience alone where 0 stands for an end at the last epoch, as it does
// from scratch.
func (c *TrainConfig) fill(was *TrainConfig, pretrained bool) {
	c.LR, c.Depth = cmp.Or(c.LR, was.LR), cmp.Or(c.Depth, was.Depth)
	c.Best, c.Epochs = cmp.Or(c.Best, was.Best), cmp.Or(c.Epochs, was.Epochs)
	c.BestMargin = cmp.Or(c.BestMargin, was.BestMargin, noMargin) // runs once compared the scores alone
	c.Average = cmp.Or(c.Average, was.Average, noAverage)         // and kept the last weights
	if pretrained {
		c.Patience, c.Line = cmp.Or(c.Patience, was.Patience), cmp.Or(c.Line, was.Line)
	}
}

func (s Section) fill(was Section, keys ...string) {
	for _, k := range keys {
		if v, ok := was[k]; ok && s[k] == nil {
			s[k] = v
		}
	}
}
