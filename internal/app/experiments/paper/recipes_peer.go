package paper

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// peerJob is what a script has to train, as JSON. bench/recipes.py describes the fields.
type peerJob struct {
	Recipe     string    `json:"recipe"`
	Network    string    `json:"network"`
	Seed       uint64    `json:"seed"`
	Seconds    float64   `json:"seconds"`
	Epochs     int       `json:"epochs"`
	Size       int       `json:"size"`
	Scale      []float32 `json:"scale"`
	Shift      []float32 `json:"shift"`
	Gallery    string    `json:"gallery"`
	Train      peerPart  `json:"train"`
	Validation peerPart  `json:"validation"`
	Test       peerPart  `json:"test"`
}

type peerPart struct {
	Images int     `json:"images"`
	Labels []int64 `json:"labels,omitempty"`
	Groups []int   `json:"groups,omitempty"` // bursts of the images
}

// peerResult is a script's report on a run.
type peerResult struct {
	Epochs []struct {
		Epoch  int     `json:"epoch"`
		Steps  int     `json:"steps"`
		Images int     `json:"images"`
		Loss   float64 `json:"loss"`
		Margin float64 `json:"margin"`
	} `json:"epochs"`
	Kept       int               `json:"kept"`
	Seconds    float64           `json:"seconds"`
	Parameters int               `json:"parameters"`
	Threads    int               `json:"threads"`
	Versions   map[string]string `json:"versions"`
}

// Files beside the job.
const (
	peerFolder = "peer"
	jobFile    = "job.json"
	startFile  = "start.npy"
	testFile   = "test.npy"
)

// minCosine is the smallest allowed cosine between kindred's and a script's embedding of an image
// before training.
const minCosine = 0.999

// peerTask is the task of an arm that the script of p trains by a recipe.
func (s *UnseenDataset) peerTask(r recipe, limit time.Duration, p Peer, plans *configPlanner) *Task {
	t := s.newTask(fmt.Sprintf("trained for %v by the recipe %s of %s", limit, r.name, r.from),
		func(ctx context.Context, v *seedRow, opts run.Options) (*run.Result, error) {
			name := v.cfg.Network.Pretrained
			if !strings.EqualFold(filepath.Ext(name), ".onnx") {
				return nil, fmt.Errorf("network.pretrained is %s: the recipes of others need an ONNX file", name)
			}
			cfg, err := plans.planFor(ctx, v, opts)
			if err != nil {
				return nil, err
			}
			parts, err := v.splitByConfig(cfg)
			if err != nil {
				return nil, err
			}
			m, err := importNetwork(ctx, name, pretrainedInput(cfg.Data))
			if err != nil {
				return nil, err
			}
			dir := filepath.Join(opts.Dir, peerFolder)
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return nil, err
			}
			job := &peerJob{Recipe: r.name, Seed: v.cfg.Train.Seed, Seconds: limit.Seconds(),
				Epochs: v.cfg.Train.Epochs, Size: m.Config.Data.Size}
			if job.Network, err = filepath.Abs(name); err != nil {
				return nil, err
			}
			err = job.write(ctx, dir, m, v.test, parts)
			if err == nil {
				err = p.run(ctx, filepath.Join(dir, jobFile))
			}
			if err = errors.Join(err, removePixels(dir)); err != nil {
				return nil, err
			}
			if err := v.checkSameStart(ctx, dir, m); err != nil {
				return nil, err
			}
			said, err := readPeer(dir)
			if err != nil {
				return nil, err
			}
			res := said.result()
			if res.Config = m.Config; said.Kept > 0 {
				res.Scores, err = v.scoreRows(ctx, filepath.Join(dir, testFile))
				return res, err
			}
			if m, err = s.untrainedModel(ctx, v, opts); err != nil { // at its own image size
				return nil, err
			}
			res.Config = m.Config
			res.Scores, err = v.score(ctx, m)
			return res, err
		})
	t.Timed = true
	return t
}

// write writes the job and the images of its parts, prepared as for m.
func (j *peerJob) write(ctx context.Context, dir string, m *run.Model, test *data.Part, parts *split.Parts) error {
	pixels, err := prepare.ParseNormalization(m.Config.Data.Pixels)
	if err != nil {
		return err
	}
	const channels = 3
	table := pixels.Table(channels)
	for c := range channels {
		j.Shift = append(j.Shift, table[c])
		j.Scale = append(j.Scale, (table[255*channels+c]-table[c])/255)
	}
	j.Gallery = "train"
	if parts.ValidationGallery == parts.Validation {
		j.Gallery = "validation"
	}
	j.Train = peerPart{Images: parts.Train.Len(), Labels: parts.Train.Label}
	j.Validation = peerPart{Images: parts.Validation.Len(), Labels: parts.Validation.Fine}
	j.Test = peerPart{Images: test.Len()}
	if parts.Groups != nil {
		for _, i := range parts.Validation.Index {
			j.Validation.Groups = append(j.Validation.Groups, parts.Groups[i])
		}
	}
	for _, p := range []struct {
		name string
		part *data.Part
	}{{"train", parts.Train}, {"validation", parts.Validation}, {"test", test}} {
		path := filepath.Join(dir, p.name+pixelsExt)
		err := atomic.WriteFile(path, func(w io.Writer) error { return writePixels(ctx, w, m, p.part) })
		if err != nil {
			return err
		}
	}
	return writeJSON(filepath.Join(dir, jobFile), j)
}

// pixelsExt is the extension of the files of pixels.
const pixelsExt = ".u8"

// writePixels writes the images of a part, prepared as for m and rounded to 8 bits.
func writePixels(ctx context.Context, w io.Writer, m *run.Model, p *data.Part) error {
	how, err := m.LoaderConfig()
	if err != nil {
		return err
	}
	how.Bytes, how.Strict, how.Image.Rounded = true, true, true
	l, err := data.NewLoader(p, how)
	if err != nil {
		return err
	}
	if _, _, c := l.Shape(); c != 3 {
		return fmt.Errorf("data set %s has images of %d channels: the recipes of others take 3", p.Data.Name, c)
	}
	s := l.Sequential(ctx, 64)
	defer s.Close()
	for {
		b, err := s.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if _, err := w.Write(b.Bytes); err != nil {
			return err
		}
	}
}

// removePixels removes the files of pixels, which are large.
func removePixels(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*"+pixelsExt))
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	return err
}

// run runs the script on a job.
func (p Peer) run(ctx context.Context, job string) error {
	cmd := exec.CommandContext(ctx, p.Python, p.Script, job)
	var said bytes.Buffer
	cmd.Stderr = &said
	if p.Log != nil {
		cmd.Stderr = io.MultiWriter(&said, p.Log)
	}
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return cmp.Or(ctx.Err(), fmt.Errorf("peer %s %s %s: %w\n%s", p.Python, p.Script, job, err, lines[len(lines)-1]))
	}
	return nil
}

// readPeer reads a script's report on its run in dir.
func readPeer(dir string) (*peerResult, error) {
	path := filepath.Join(dir, resultFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var said peerResult
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(said.Epochs) == 0 {
		return nil, fmt.Errorf("%s lists no epoch", path)
	}
	return &said, nil
}

// result converts the report into the result of a run, without scores.
func (r *peerResult) result() *run.Result {
	res := &run.Result{Epoch: r.Kept, Params: r.Parameters, Duration: time.Duration(r.Seconds * float64(time.Second)),
		Notes: []string{fmt.Sprintf("PyTorch %s, NumPy %s, %d threads", r.Versions["torch"], r.Versions["numpy"],
			r.Threads)}}
	for _, e := range r.Epochs {
		res.History = append(res.History, train.Epoch{Epoch: e.Epoch,
			Totals:  train.Totals{Steps: e.Steps, Samples: e.Images, Loss: e.Loss * float64(e.Steps)},
			Metrics: metrics("validation", "fine", map[string]float64{"margin": e.Margin})})
	}
	return res
}

// scoreRows scores the embeddings of the test part in a .npy file.
func (v *seedRow) scoreRows(ctx context.Context, path string) ([]train.Metric, error) {
	x, err := readRows(path, v.test.Len())
	if err != nil {
		return nil, err
	}
	return v.measure(ctx, x, v.test.Fine, v.test.Label)
}

// checkSameStart compares the script's embeddings of a few test images before training with those of m.
func (v *seedRow) checkSameStart(ctx context.Context, dir string, m *run.Model) error {
	const most = 32 // the script writes as many
	var pos []int
	for i := range min(most, v.test.Len()) {
		pos = append(pos, i)
	}
	path := filepath.Join(dir, startFile)
	theirs, err := readRows(path, len(pos))
	if err != nil {
		return err
	}
	rounded := m.Copy() // to 8 bits, as for the script
	rounded.Config.Data.Rounded = true
	ours, err := rounded.EmbedPart(ctx, v.test.Subset(pos))
	if err != nil {
		return err
	}
	if theirs.Cols != ours.X.Cols || len(ours.Pos) != len(pos) {
		return fmt.Errorf("%s has embeddings of %d values, kindred of %d: the network of the script is not %s", path,
			theirs.Cols, ours.X.Cols, v.cfg.Network.Pretrained)
	}
	a, b := eval.NormalizeRows(theirs), eval.NormalizeRows(ours.X)
	for i := range pos {
		cos := 0.0
		for k, x := range a.Row(i) {
			cos += float64(x) * float64(b.Row(i)[k])
		}
		if cos < minCosine {
			return fmt.Errorf("%s: before training, image %d has cosine %.4f with kindred's embedding, less than %v: "+
				"the network of the script is not %s", path, i, cos, minCosine, v.cfg.Network.Pretrained)
		}
	}
	return nil
}

// readRows reads a .npy file with n rows of numbers.
func readRows(path string, n int) (*matrix.Dense, error) {
	a, err := embedding.ReadNPYFile(path)
	if err != nil {
		return nil, err
	}
	if len(a.Shape) != 2 || a.Shape[0] != n || a.Floats == nil {
		return nil, fmt.Errorf("%s has shape %v of %s: %d rows of float32 are needed", path, a.Shape, a.DType, n)
	}
	x := matrix.New(n, a.Shape[1])
	copy(x.Data, a.Floats)
	return x, nil
}
