package paper

import (
	"cmp"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/run"
)

// planFile holds the settings a run was asked for, before the data resolved
// them.
const planFile = "plan.yaml"

// samePlan reports whether a kept plan asks for the run of plan. One that was
// written before a setting was known had what is now that setting's default, and
// one without a split had papersSplit, which was the default.
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
	oneView(&now)
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
	oneView(&cfg)
	if !strings.Contains(string(kept), "\n  average:") {
		asBefore(&cfg)
		asBefore(&now)
	}
	return string(cfg.YAML()) == string(now.YAML())
}

// oneView fills in that a batch has each sample once, which runs were told before two views
// could be a default. From scratch with nothing set of the loss it is another default.
func oneView(c *run.Config) {
	if len(c.Loss)+len(c.Mine) > 0 || c.Network.Pretrained != "" {
		c.Sample.Views = cmp.Or(c.Sample.Views, 1)
	}
}

// asBefore fills in what runs had before it could be set: the last weights of an epoch,
// bursts divided, and ten epochs. The papers' experiments leave it open or ask for just
// that. What becomes of images that cannot be read makes no difference to one that ended.
func asBefore(c *run.Config) {
	c.Data.Strict = false
	c.Train.Average, c.Train.Line = cmp.Or(c.Train.Average, "none"), cmp.Or(c.Train.Line, 1)
	c.Train.Epochs, c.Data.Group = c.Train.Length(), cmp.Or(c.Data.Group, data.GroupNone)
	if c.Train.Best == "validation_map@r" { // the default, from a pretrained start
		c.Train.Best = ""
	}
	if c.Train.Patience == 3 {
		c.Train.Patience = 0
	}
}
