package paper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/home"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// folderSample draws a small folder of photographs from a training part, another one for each seed.
type folderSample struct {
	each int // photographs of each class
	// heap, if set, names a folder of the set whose classes become one class, with all of their
	// photographs.
	heap string
}

func (d *folderSample) about() string {
	text := fmt.Sprintf("%d drawn photos of each class", d.each)
	if d.heap != "" {
		text += fmt.Sprintf("; all photos of the classes in %s are in one folder", d.heap)
	}
	return text
}

// draw returns the folder drawn from a part.
func (d *folderSample) draw(p *data.Part, seed uint64) (*data.Dataset, error) {
	rng := rand.New(rand.NewPCG(seed, 0xd4a3))
	var keep []int // positions
	taken := map[int64]int{}
	for _, pos := range rng.Perm(p.Len()) {
		if d.isInHeap(p, pos) {
			keep = append(keep, pos)
		} else if y := p.Fine[pos]; taken[y] < d.each {
			taken[y]++
			keep = append(keep, pos)
		}
	}
	slices.Sort(keep)
	from := pickedSource{set: p.Data}
	var names, labels []string
	for _, pos := range keep {
		i := p.Index[pos]
		from.at = append(from.at, i)
		names = append(names, p.Data.Names[i])
		label := p.FineClasses[p.Fine[pos]]
		if d.isInHeap(p, pos) {
			label = d.heap
		}
		labels = append(labels, label)
	}
	return data.New(p.Data.Name, names, labels, from)
}

// isInHeap reports whether the sample at a position belongs to the heap.
func (d *folderSample) isInHeap(p *data.Part, pos int) bool {
	return d.heap != "" && slices.Contains(strings.Split(p.Data.Names[p.Index[pos]], "/"), d.heap)
}

// pickedSource is a data source of some pictures of a data set.
type pickedSource struct {
	set *data.Dataset
	at  []int
}

func (p pickedSource) Shape() (w, h, c int) { return p.set.Source.Shape() }

func (p pickedSource) Read(ctx context.Context, i int, dst *imaging.Image, dec *imaging.Decoder) error {
	return p.set.Image(ctx, p.at[i], dst, dec)
}

// seedRow is a row with one seed.
type seedRow struct {
	set  *data.Dataset // has the scored part
	own  *data.Dataset // the data set to train on
	test *data.Part
	name string // of the scored set
	cfg  run.Config
}

// openRow opens the data set of a row. The caller closes visit.set.
func (s *UnseenDataset) openRow(ctx context.Context, cfg run.Config, opts run.Options) (*seedRow, error) {
	set, err := cfg.Data.Open(ctx, opts.Home)
	if err != nil {
		return nil, err
	}
	v := &seedRow{set: set, own: set, name: s.setName(), cfg: cfg}
	if err := v.splitDataset(ctx, s.Draw); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	return v, nil
}

// splitDataset finds the scored part of a row and, if d is set, draws the folder to train on.
func (v *seedRow) splitDataset(ctx context.Context, d *folderSample) error {
	c := &v.cfg.Data
	sel, err := split.Select(ctx, v.set, split.Selection{Label: c.Label, Fine: c.Fine, Split: c.Split,
		TrainClasses: c.TrainClasses,
		TestClasses:  c.TestClasses, Seed: v.cfg.Train.Seed})
	if err != nil {
		return err
	}
	if sel.Query != sel.Gallery {
		return fmt.Errorf("data set %s has a gallery apart from its queries, which the table of the defaults does not "+
			"know", v.set.Name)
	}
	v.test = firstPerClass(sel.Query, c.TestLimit)
	if d == nil {
		return nil
	}
	v.own, err = d.draw(sel.Train, v.cfg.Train.Seed)
	c.Label = "" // the folders' names
	return err
}

// score measures a network on the row's test part.
func (v *seedRow) score(ctx context.Context, m *run.Model) ([]train.Metric, error) {
	e, err := m.EmbedPart(ctx, v.test)
	if err != nil {
		return nil, err
	}
	return v.measure(ctx, e.X, e.FineLabels(), e.Labels())
}

// measure measures embeddings of the row's test part with their labels.
func (v *seedRow) measure(ctx context.Context, x *matrix.Dense, fine, label []int64) ([]train.Metric, error) {
	wanted := []eval.Metric{{Kind: eval.Recall, K: 1}, {Kind: eval.MAPAtR}}
	set := eval.Set{X: x, Labels: [][]int64{fine, label}}
	rep, err := eval.Evaluate(ctx, set, nil, eval.Config{Metrics: wanted, Columns: []string{"fine", "label"},
		Distance: eval.Cosine})
	if err != nil {
		return nil, err
	}
	var out []train.Metric
	for k, column := range []string{"fine", "label"} {
		for _, value := range rep.Columns[k].Values {
			out = append(out, train.Metric{Set: v.name, Column: column, Name: value.Metric.String(),
				Value: value.Value})
		}
	}
	return out, nil
}

// newTask is a task of a row: do runs with the opened data.
func (s *UnseenDataset) newTask(plan string, do func(context.Context, *seedRow, run.Options) (*run.Result,
	error)) *Task {
	if s.Draw != nil {
		plan += "; " + s.Draw.about()
	}
	return &Task{Plan: plan, Do: func(ctx context.Context, cfg run.Config, opts run.Options) (*run.Result, error) {
		v, err := s.openRow(ctx, cfg, opts)
		if err != nil {
			return nil, err
		}
		res, err := do(ctx, v, opts)
		return res, errors.Join(err, v.set.Close())
	}}
}

// trainTask trains as kindred train does, and scores the network in the run folder.
func (s *UnseenDataset) trainTask() *Task {
	return s.newTask("trained, and the network of the run folder scored",
		func(ctx context.Context, v *seedRow, opts run.Options) (*run.Result, error) {
			opts.Dataset = v.own
			res, err := run.Train(ctx, v.cfg, opts)
			if err != nil {
				return nil, err
			}
			return v.rescore(ctx, res)
		})
}

// rescore is the result of a run, with the scores of the network in its folder.
func (v *seedRow) rescore(ctx context.Context, res *run.Result) (*run.Result, error) {
	m, err := run.Load(res.Dir)
	if err != nil {
		return nil, err
	}
	res.Config.Data.Size = m.Config.Data.Size // the size of the kept network
	res.Scores, err = v.score(ctx, m)
	return res, err
}

// untrainedTask scores the network before training: a pretrained one at its own image size, as kindred
// embed --network uses it.
func (s *UnseenDataset) untrainedTask() *Task {
	return s.newTask("the untrained network scored",
		func(ctx context.Context, v *seedRow, opts run.Options) (*run.Result, error) {
			m, err := s.untrainedModel(ctx, v, opts)
			if err != nil {
				return nil, err
			}
			return v.scoreOnly(ctx, m)
		})
}

// scoreOnly is the result of a run that only scores m.
func (v *seedRow) scoreOnly(ctx context.Context, m *run.Model) (*run.Result, error) {
	scores, err := v.score(ctx, m)
	if err != nil {
		return nil, err
	}
	res := untrainedResult(scores)
	res.Config = m.Config
	return res, nil
}

// untrainedModel returns the network that a row starts from.
func (s *UnseenDataset) untrainedModel(ctx context.Context, v *seedRow, opts run.Options) (*run.Model, error) {
	if !s.Photos {
		return v.newNetwork(ctx, opts, nil)
	}
	m, err := loadPretrained(ctx, v.cfg.Network.Pretrained, opts)
	if err == nil {
		m.Cache, _ = home.Features() // without one each seed computes them again
	}
	return m, err
}

// loadPretrained returns a network from an ONNX file or by its name.
func loadPretrained(ctx context.Context, name string, opts run.Options) (*run.Model, error) {
	if strings.EqualFold(filepath.Ext(name), ".onnx") {
		return importNetwork(ctx, name, run.DataConfig{})
	}
	if opts.Weights == nil {
		return nil, fmt.Errorf("network.pretrained: %s is not an ONNX file, and there are no weights by name", name)
	}
	w, err := opts.Weights(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("network.pretrained: %w; give an ONNX file or a name of 'kindred weights list'", err)
	}
	return run.LoadPretrained(w.Network, w.Path, run.DataConfig{Size: cmp.Or(w.Size, 224), Pixels: w.Pixels})
}

// newNetwork returns the network that training starts from without pretrained weights, or, if layers are
// given, such a network on the same images.
func (v *seedRow) newNetwork(ctx context.Context, opts run.Options, layers []nn.Layer) (*run.Model, error) {
	setup, err := run.Plan(ctx, v.cfg, run.Options{Home: opts.Home, Dataset: v.own})
	if err != nil {
		return nil, err
	}
	spec := setup.Spec
	if layers != nil {
		spec = &nn.Spec{Name: "pixels", Input: spec.Input, Layers: layers}
	}
	net, err := nn.New(spec, nn.Options{Seed: v.cfg.Train.Seed})
	if err != nil {
		return nil, err
	}
	return &run.Model{Config: setup.Config, Net: net}, nil
}

// pixelTask scores the images that the network gets, as vectors.
func (s *UnseenDataset) pixelTask() *Task {
	return s.newTask("the pixels scored", func(ctx context.Context, v *seedRow, opts run.Options) (*run.Result, error) {
		m, err := v.newNetwork(ctx, opts, []nn.Layer{{Name: "flat", Kind: nn.Flatten}})
		if err != nil {
			return nil, err
		}
		return v.scoreOnly(ctx, m)
	})
}
