package paper

import (
	"cmp"
	"strings"

	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/run"
)

// planFile holds the settings that a run was asked for, before the data decide the rest.
const planFile = "plan.yaml"

// samePlan reports whether a kept plan asks for the same run as plan. A setting that a kept plan
// does not name has its present default; a plan without a split has papersSplit, the former
// default.
func samePlan(kept []byte, plan string) bool {
	if string(kept) == plan {
		return true
	}
	_, keptTask, _ := strings.Cut(string(kept), taskMark)
	settings, task, _ := strings.Cut(plan, taskMark)
	if keptTask != task {
		return false
	}
	now, err := run.Parse(planFile, []byte(settings))
	if err != nil {
		return false
	}
	fillOneView(&now)
	if string(kept) == string(now.YAML())+plan[len(settings):] {
		return true
	}
	cfg, err := run.Parse(planFile, kept)
	if err == nil && cfg.Data.Split == "" {
		cfg, err = run.Parse(planFile, kept, papersSplit)
	}
	if err != nil {
		return false
	}
	fillOneView(&cfg)
	if !strings.Contains(string(kept), "\n  average:") {
		fillEarlierDefaults(&cfg)
		fillEarlierDefaults(&now)
	}
	return string(cfg.YAML()) == string(now.YAML())
}

// fillOneView fills in one view of each sample, which every run had before two views could be a
// default. It applies to runs that set the loss or start from a pretrained network: from scratch
// without a loss the default differs.
func fillOneView(c *run.Config) {
	if len(c.Loss)+len(c.Mine) > 0 || c.Network.Pretrained != "" {
		c.Sample.Views = cmp.Or(c.Sample.Views, 1)
	}
}

// fillEarlierDefaults fills in what runs had before these settings existed: the last weights of an epoch,
// bursts divided, and ten epochs. The papers' experiments set the same or leave it open. Whether
// unreadable images are an error makes no difference to a finished run.
func fillEarlierDefaults(c *run.Config) {
	c.Data.Strict = false
	c.Train.Average, c.Train.Line = cmp.Or(c.Train.Average, "none"), cmp.Or(c.Train.Line, 1)
	c.Train.Epochs, c.Data.Group = c.Train.NumEpochs(), cmp.Or(c.Data.Group, split.GroupNone)
	if c.Train.Best == "validation_map@r" { // the default, from a pretrained start
		c.Train.Best = ""
	}
	if c.Train.Patience == 3 {
		c.Train.Patience = 0
	}
}
