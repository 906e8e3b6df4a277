package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run/internal/embedder"
	"github.com/kindred-ml/kindred/run/internal/record"
	"github.com/kindred-ml/kindred/train"
)

// QuantizeOptions are the options of Quantize.
type QuantizeOptions struct {
	// Home is the data folder, as data.Home returns it. Formats are as in Options.
	Home    string
	Formats []embedding.Format
	// Dataset, if set, replaces the data set that the configuration names.
	Dataset *data.Dataset
	// Photos is the number of training samples for calibration, drawn by Seed; 0 means 256.
	Photos int
	Seed   uint64
	// Choice is the method that chooses the ranges of values.
	Choice nn.RangeChoice
	// Progress, if set, is called with the number of photos done in a stage.
	Progress func(stage string, done, total int)
}

// QuantizedModel is a model that evaluates in 8 bits, with its quality and speed before and after.
type QuantizedModel struct {
	Model *Model `json:"-"`
	// Photos is the number of samples that the ranges were chosen from, and Method the method.
	Photos int    `json:"photos"`
	Method string `json:"method"`
	// Tested is the number of test samples that both networks embedded.
	Tested int         `json:"tested"`
	Before Measurement `json:"before"`
	After  Measurement `json:"after"`
	// Test are the embeddings of the test samples by the model.
	Test *Embeddings `json:"-"`
}

// Measurement is the quality and the speed of a network.
type Measurement struct {
	Precision string  `json:"precision"`
	Recall1   float64 `json:"recall@1"` // on the test samples, by fine label
	MAPAtR    float64 `json:"map@r"`
	// Seconds is the time of the network for a photo, in batches and without reading it: the
	// median of several turns.
	Seconds float64 `json:"seconds_per_photo"`
}

// quantizePhotos is the default of QuantizeOptions.Photos.
const quantizePhotos = 256

// Quantize calibrates the model on some training samples of its run, and compares the model in
// 8 bits with the original on the run's test samples. Except for the times, the results depend
// on the seed only, not on the number of cores.
func (m *Model) Quantize(ctx context.Context, opt QuantizeOptions) (*QuantizedModel, error) {
	if m.Net.Quantization() != nil {
		return nil, errors.New("the network is in 8 bits already: give the run that it was made from")
	}
	d := opt.Dataset
	if d == nil {
		var err error
		if d, err = m.Config.Data.Open(ctx, opt.Home, opt.Formats...); err != nil {
			return nil, err
		}
		defer d.Close()
	}
	sel, err := m.SplitDataset(ctx, d)
	if err != nil {
		return nil, err
	}
	q := &QuantizedModel{}
	photos, net, err := m.calibrate(ctx, sel.Train, &opt)
	if err != nil {
		return nil, err
	}
	made := m.Copy()
	made.Net, made.Config = net, m.Config.clone()
	made.Config.Network.Precision = string(nn.Int8)
	q.Model, q.Photos, q.Method = made, net.Quantization().Photos, net.Quantization().Method
	sets := listScoredSets(sel, &m.Config)[:1] // the test samples
	for _, of := range []struct {
		stage string
		model *Model
		to    *Measurement
	}{{"embedding as before", m, &q.Before}, {"embedding in 8 bits", made, &q.After}} {
		if err := of.model.measure(ctx, sets[0], of.to, &opt, of.stage); err != nil {
			return nil, err
		}
	}
	q.Tested, q.Test = sets[0].q.X.Rows, sets[0].q
	q.Before.Seconds, q.After.Seconds = timeAlternately(m.Net, net, photos)
	return q, ctx.Err()
}

// calibrate returns the network in 8 bits, and the last batch that it was calibrated on.
func (m *Model) calibrate(ctx context.Context, p *data.Part, opt *QuantizeOptions) (*train.Batch, *nn.Net, error) {
	n := cmp.Or(opt.Photos, quantizePhotos)
	if n < 1 {
		return nil, nil, fmt.Errorf("calibration on %d photos: must be at least 1", n)
	}
	rnd := rand.New(rand.NewPCG(opt.Seed, 0x6b9))
	pos := rnd.Perm(p.Len())[:min(n, p.Len())]
	slices.Sort(pos)
	part := p.Subset(pos)
	f, err := newFeed(part, m.Config.Data, opt.Seed, false, false)
	if err != nil {
		return nil, nil, err
	}
	c, err := nn.NewCalibration(m.Net)
	if err != nil {
		return nil, nil, err
	}
	var last train.Batch
	done := 0
	for b, err := range f.Data.Epoch(ctx, 0, slices.Collect(slices.Chunk(lists.Indices(part.Len()), 32))) {
		if err != nil {
			return nil, nil, adviseSkipping(err)
		}
		if len(b.Pos) == 0 {
			continue
		}
		c.Add(b.X, len(b.Pos))
		if len(b.Pos) >= len(last.Pos) {
			last = train.Batch{X: slices.Clone(b.X), Pos: slices.Clone(b.Pos)}
		}
		if done += len(b.Pos); opt.Progress != nil {
			opt.Progress("calibrating", done, part.Len())
		}
	}
	quantization, err := c.Quantization(opt.Choice)
	if err != nil {
		return nil, nil, err
	}
	net, err := m.Net.Quantized(quantization)
	return &last, net, err
}

// measure scores the model on a set.
func (m *Model) measure(ctx context.Context, s *scoredSet, to *Measurement, opt *QuantizeOptions, stage string) error {
	if err := s.openFeeds(&m.Config, false); err != nil {
		return err
	}
	for i, f := range s.feeds() {
		name := stage + []string{"", ", the gallery"}[i]
		if opt.Progress != nil {
			f.ReportProgress(func(done int) { opt.Progress(name, done, f.Part.Len()) })
		}
	}
	metrics := []eval.Metric{{Kind: eval.Recall, K: 1}, {Kind: eval.MAPAtR}}
	scores, err := s.score(ctx, m.Net, &m.Config, map[string][]eval.Metric{fineColumn: metrics})
	if err != nil {
		return adviseSkipping(err)
	}
	to.Precision = cmp.Or(m.Config.Network.Precision, "float32")
	to.Recall1, to.MAPAtR = scores[0].Value, scores[1].Value
	return nil
}

// timeAlternately times two networks alternately on a batch, and returns the median seconds for a photo.
func timeAlternately(a, b *nn.Net, batch *train.Batch) (seconds, other float64) {
	const turns = 5
	embedder.CacheFilters(a)
	embedder.CacheFilters(b)
	nets, times := []*nn.Net{a, b}, [2][]float64{}
	for turn := range turns + 1 { // the first one warms up
		for i, net := range nets {
			began := time.Now()
			net.Infer(batch.X, len(batch.Pos))
			if turn > 0 {
				times[i] = append(times[i], time.Since(began).Seconds()/float64(len(batch.Pos)))
			}
		}
	}
	for i := range times {
		slices.Sort(times[i])
	}
	return times[0][turns/2], times[1][turns/2]
}

// Save writes the model, and the embeddings of the test samples with their labels. Load and
// every command for a finished run can read the folder.
func (q *QuantizedModel) Save(dir string) error {
	if err := q.Model.Save(dir); err != nil {
		return err
	}
	by, err := q.Model.Identity(q.Model.Net.Spec().Name)
	if err != nil {
		return err
	}
	return record.Dir{Path: dir}.WriteEmbeddings(TestSet.prefix(), q.Test.recorded(), by)
}

// QuantizedFiles returns the names of the files that Quantized.Save writes.
func QuantizedFiles() []string {
	embeddings := TestSet.prefix() + record.EmbeddingsSuffix
	return []string{record.ConfigFile, nn.SpecFile, nn.WeightsFile, nn.QuantizationFile, embeddings,
		embedding.NetworkFile(embeddings), TestSet.prefix() + record.LabelsSuffix}
}
