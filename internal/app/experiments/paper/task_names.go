package paper

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"

	"github.com/kindred-ml/kindred/internal/format/yamltext"
	"github.com/kindred-ml/kindred/run"
)

// taskName is a task as an experiment's file names it, with its parameters.
type taskName struct {
	do    string
	on    string   // set that is scored
	batch []string // settings of the second training
	// share of the labels are made wrong, to look-alikes if alike is set, and judged in folds.
	// labels says what happens to them then.
	share  float64
	alike  bool
	folds  int
	labels string
	// copies is the number of copied pictures, which are cut by a share, compressed as JPEG of a
	// quality, or made brighter.
	copies, quality int
	cut, brighter   float64
}

// task reads the name of a task, which must exist.
func (r *definitionReader) task(n ast.Node) *taskName {
	var t taskName
	r.Fields(n, "a task", []yamltext.Field{r.StringField("do", &t.do), r.StringField("on", &t.on),
		r.settings("batch", &t.batch),
		r.FloatField("share", &t.share), r.BoolField("alike", &t.alike), r.IntField("folds", &t.folds, 1),
		r.StringField("labels", &t.labels), r.IntField("copies", &t.copies, 1), r.IntField("quality", &t.quality, 1),
		r.FloatField("cut", &t.cut), r.FloatField("brighter", &t.brighter)})
	if _, err := t.newTask(); err != nil {
		r.Fail(n, "%v", err)
	}
	return &t
}

// newTask returns the named task, or nil.
func (t *taskName) newTask() (*Task, error) {
	if t == nil {
		return nil, nil
	}
	set := run.TestSet
	if t.on == run.SeenSet.String() {
		set = run.SeenSet
	} else if t.on != "" && t.on != run.TestSet.String() {
		return nil, fmt.Errorf("set %q is not scored: must be test or seen", t.on)
	}
	wrong := labelNoise{t.share, t.alike}
	switch t.do {
	case "find kinds":
		return kindsTask(set), nil
	case "train on kinds":
		return refineTask(set), nil
	case "train in batches of kinds":
		return twoLevelTask(set, t.batch...), nil
	case "find wrong labels":
		return noiseTask(wrong, t.folds), nil
	case "find wrong labels untrained":
		return untrainedNoiseTask(wrong), nil
	case "train on mended labels":
		for c := keepLabels; c <= knownLabels; c++ {
			if c.String() == t.labels {
				return retrain(wrong, t.folds, c), nil
			}
		}
		return nil, fmt.Errorf("labels: %q is not a cure", t.labels)
	case "decide":
		return decisionTask(), nil
	case "find copies":
		switch {
		case t.cut > 0 && t.cut < 1:
			return findCopies(cropping(t.cut), t.copies), nil
		case t.quality > 0:
			return findCopies(compressing(t.quality), t.copies), nil
		case t.brighter > 0:
			return findCopies(brightening(t.brighter), t.copies), nil
		}
		return nil, fmt.Errorf("copies need cut, quality or brighter")
	}
	return nil, fmt.Errorf("no task is called %q", t.do)
}
