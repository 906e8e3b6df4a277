package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data/sample"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/critical"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/objective"
)

// A checkpoint is one safetensors file. Its tensors are:
//
//	network.          parameters and running statistics of the network
//	loss.             parameters of the loss
//	optimizer.        moments of the optimizer
//	best.network.     the network after the best epoch, with Config.BestRule
//	best.loss.        the loss after the best epoch, with Config.BestRule
//	average.network.  the average of the weights, with Config.Average
//	start.network.    the weights before training, if the run may end with them or uses Line
//
// Its metadata hold the rest:
//
//	format    "kindred checkpoint"
//	version   "1"
//	state     JSON of Checkpoint
//	optimizer JSON of the optimizer's own metadata
//	crc32c    Castagnoli checksum of all tensors' bytes in order
//	crc32c_state  of the texts of state and optimizer
const (
	checkpointFormat  = "kindred checkpoint"
	checkpointVersion = "1"
)

// Checkpoint holds what a run needs to go on as if it had never stopped. Its tensors are not
// exported.
type Checkpoint struct {
	Origin
	Epoch   int     `json:"epoch"`   // epochs completed
	Step    int     `json:"step"`    // batches done in the epoch under way
	Totals  Totals  `json:"sums"`    // sums over the epoch under way
	History []Epoch `json:"history"` // rows of the completed epochs

	Rate      float64         `json:"rate"`    // learning rate of the last step
	Sampler   sample.State    `json:"sampler"` // state at the start of the epoch under way
	Objective objective.State `json:"objective"`
	Network   uint64          `json:"network"` // number of training passes so far

	// Untrained are the scores before the first step, with Config.Untrained.
	Untrained []Metric `json:"untrained,omitempty"`

	Best *Selected `json:"best,omitempty"` // with Config.BestRule
	// Start are the scores before training that compete with those of epochs, with Untrained and
	// Best. Returned says that the run ended with the network before training, and Compared has
	// the comparison of Best.Paired.
	Start    []Metric          `json:"start,omitempty"`
	Returned bool              `json:"returned,omitempty"`
	Compared *PairedComparison `json:"compared,omitempty"`
	// Spent is the Config.Budget that ended the run, in nanoseconds; 0 if no budget did.
	Spent time.Duration `json:"spent,omitempty"`
	// Final are the scores of the network that the run ended with, with Config.BestRule or
	// Config.Average.
	Final []Metric `json:"final,omitempty"`

	// Name is the checkpoint's source, for messages. It is not written.
	Name string `json:"-"`
	// Trained says that the run ends with this network, which may still have to be scored. It is
	// set in one checkpoint of a run, and is not written.
	Trained bool `json:"-"`

	file *safetensors.File
}

// Origin describes the data and settings of a run. Run copies it into checkpoints for the Store,
// and does not read it.
type Origin struct {
	Data     string `json:"data"`               // fingerprint of the training samples
	Settings string `json:"settings,omitempty"` // the configuration
	// Earlier is the configuration before a change. It is kept until the change is complete.
	Earlier string `json:"settings_before,omitempty"`
}

// Selected describes the best epoch so far.
type Selected struct {
	Metric string  `json:"metric"`
	Epoch  int     `json:"epoch"`
	Value  float64 `json:"value"` // value of the metric
	Score  float64 `json:"score"` // score by which epochs are compared; see Best.Smooth
	Since  int     `json:"since"` // number of evaluations since then
	// Place is the network's place on the line from the start (0) to the network of the epoch
	// (1). It is 0 without Config.Interpolation, and before Line has searched.
	Place float64 `json:"place,omitempty"`
}

// Store keeps checkpoints.
type Store interface {
	// Save stores c and drops the checkpoint before it. The run does not change c afterwards.
	Save(c *Checkpoint) error
}

func castagnoli(sum uint32, data []byte) uint32 {
	return crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), data)
}

func checksum(tensors []safetensors.Tensor) string {
	var sum uint32
	for _, t := range tensors {
		sum = castagnoli(sum, t.Data)
	}
	return fmt.Sprintf("%08x", sum)
}

func stateChecksum(f *safetensors.File) string {
	return fmt.Sprintf("%08x", castagnoli(0, []byte(f.Meta["state"]+f.Meta["optimizer"])))
}

// Write writes the checkpoint as a safetensors file.
func (c *Checkpoint) Write(w io.Writer) error {
	if c.file == nil {
		return errors.New("the checkpoint has no tensors: use one that Run made or ReadCheckpoint read")
	}
	state, err := json.Marshal(c)
	if err != nil {
		return err
	}
	c.file.Meta["state"] = string(state)
	c.file.Meta["crc32c_state"] = stateChecksum(c.file)
	return c.file.Write(w)
}

// ReadCheckpoint reads a file that Write wrote. A damaged file, or one of another format, is an
// error.
func ReadCheckpoint(r io.Reader) (*Checkpoint, error) {
	data, err := budget.ReadAll("a checkpoint", r)
	if err != nil {
		return nil, err
	}
	f, err := safetensors.Parse(data)
	if err != nil {
		return nil, err
	}
	return parseCheckpoint(f)
}

func parseCheckpoint(f *safetensors.File) (*Checkpoint, error) {
	switch {
	case f.Meta["format"] != checkpointFormat:
		return nil, errors.New("this is not a checkpoint of kindred")
	case f.Meta["version"] != checkpointVersion:
		return nil, fmt.Errorf("the checkpoint has version %q, but this program reads version %s", f.Meta["version"],
			checkpointVersion)
	case f.Meta["crc32c"] != checksum(f.Tensors):
		return nil, errors.New("the checksum does not match: the file is damaged")
	}
	switch sum, ok := f.Meta["crc32c_state"]; {
	case !ok:
		return nil, errors.New("the checkpoint is of an unreleased version, whose state has no checksum: " +
			"start the run again in another folder")
	case sum != stateChecksum(f):
		return nil, errors.New("the checksum of the state does not match: the file is damaged")
	}
	c := &Checkpoint{file: f}
	if err := strictjson.UnmarshalLoose([]byte(f.Meta["state"]), c); err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	return c, nil
}

// networkPrefix starts the names of the network's tensors, after any other prefix.
const networkPrefix = "network."

// copyNetworkTensors returns copies of a network's parameters.
func copyNetworkTensors(prefix string, net Network) []safetensors.Tensor {
	var out []safetensors.Tensor
	for _, p := range net.Params() {
		v := make([]float32, len(p.Value))
		p.ToTorch(v)
		out = append(out, safetensors.Float32(prefix+networkPrefix+p.Name, p.Shape, v))
	}
	return out
}

// copyTensors returns copies of the parameters of network and loss, for a checkpoint.
func copyTensors(prefix string, net Network, o Objective) []safetensors.Tensor {
	out := copyNetworkTensors(prefix, net)
	for _, p := range o.Params() {
		out = append(out, safetensors.Float32(prefix+lossPrefix+p.Name, p.Shape, p.Value))
	}
	return out
}

// setNetwork sets a network's parameters from a checkpoint.
func setNetwork(f *safetensors.File, prefix string, net Network) error {
	for _, p := range net.Params() {
		v, err := readValues(f, prefix+networkPrefix+p.Name, len(p.Value))
		if err != nil {
			return err
		}
		p.FromTorch(v)
	}
	return nil
}

// setTensors sets the parameters of network and loss from a checkpoint.
func setTensors(f *safetensors.File, prefix string, net Network, o Objective) error {
	if err := setNetwork(f, prefix, net); err != nil {
		return err
	}
	for _, p := range o.Params() {
		v, err := readValues(f, prefix+lossPrefix+p.Name, len(p.Value))
		if err != nil {
			return err
		}
		copy(p.Value, v)
	}
	return nil
}

func readValues(f *safetensors.File, name string, n int) ([]float32, error) {
	x := f.Tensor(name)
	if x == nil {
		return nil, fmt.Errorf("there is no tensor %s: the checkpoint is of another network", name)
	}
	v, err := x.Float32s()
	if err != nil {
		return nil, err
	}
	if len(v) != n {
		return nil, fmt.Errorf("tensor %s has %d values, but the network needs %d", name, len(v), n)
	}
	return v, nil
}

// optimizerState returns the optimizer's part of a checkpoint file.
func optimizerState(f *safetensors.File) (*safetensors.File, error) {
	out := &safetensors.File{}
	for _, x := range f.Tensors {
		if name, ok := strings.CutPrefix(x.Name, "optimizer."); ok {
			x.Name = name
			out.Tensors = append(out.Tensors, x)
		}
	}
	if err := strictjson.UnmarshalLoose([]byte(f.Meta["optimizer"]), &out.Meta); err != nil {
		return nil, fmt.Errorf("optimizer: %w", err)
	}
	return out, nil
}

// checkpoint returns a checkpoint of the current state.
func (t *Trainer) checkpoint() (*Checkpoint, error) {
	c := t.state
	c.Origin = t.cfg.Origin
	c.Objective = t.cfg.Objective.State()
	if n, ok := t.cfg.Network.(stepCounter); ok {
		c.Network = n.Step()
	}
	f := &safetensors.File{Tensors: t.latest}
	if t.latest == nil {
		if err := pull(t.cfg.Network); err != nil {
			return nil, err
		}
		f.Tensors = copyTensors("", t.cfg.Network, t.cfg.Objective)
	}
	o := t.cfg.Optimizer.State()
	if err := deviceError(t.cfg.Network); err != nil { // the optimizer's moments are on the same device
		return nil, err
	}
	for _, x := range o.Tensors {
		x.Name = "optimizer." + x.Name
		f.Tensors = append(f.Tensors[:len(f.Tensors):len(f.Tensors)], x)
	}
	f.Tensors = slices.Concat(f.Tensors, t.best, t.average.tensors(t.cfg.Network), t.startTensors)
	meta, err := json.Marshal(o.Meta)
	if err != nil {
		return nil, err
	}
	f.Meta = map[string]string{"format": checkpointFormat, "version": checkpointVersion, "optimizer": string(meta),
		"crc32c": checksum(f.Tensors)}
	c.file = f
	return &c, nil
}

// save stores a checkpoint of the current state. trained says that the network has its final
// weights.
func (t *Trainer) save(ctx context.Context, trained bool) error {
	if t.cfg.Store == nil {
		return nil
	}
	defer critical.Begin(ctx, 0)()
	c, err := t.checkpoint()
	if err != nil {
		return err
	}
	c.Trained = trained
	if err := t.cfg.Store.Save(c); err != nil {
		return err
	}
	t.endUnsaved()
	return nil
}

// restore restores the state of a checkpoint.
func (t *Trainer) restore(c *Checkpoint) error {
	if c.file == nil {
		return errors.New("the checkpoint has no tensors")
	}
	steps := t.cfg.Sampler.Batches()
	if c.Step < 0 || c.Step > steps || c.Epoch < 0 || len(c.History) != c.Epoch {
		return fmt.Errorf("state: epoch %d, step %d, %d rows of history", c.Epoch, c.Step, len(c.History))
	}
	if c.Epoch > t.cfg.Epochs {
		return fmt.Errorf("%d epochs are done, more than the %d of Config.Epochs", c.Epoch, t.cfg.Epochs)
	}
	net, obj := t.cfg.Network, t.cfg.Objective
	if err := setTensors(c.file, "", net, obj); err != nil {
		return err
	}
	o, err := optimizerState(c.file)
	if err != nil {
		return err
	}
	if err := t.cfg.Optimizer.SetState(o); err != nil {
		return fmt.Errorf("optimizer: %w", err)
	}
	if err := t.cfg.Sampler.Restore(c.Sampler); err != nil {
		return err
	}
	for _, m := range c.Objective.Memory {
		if len(m.IDs) != len(m.Labels) && t.cfg.IDs != nil {
			return fmt.Errorf("state: a cross-batch memory of %d labels and %d samples", len(m.Labels), len(m.IDs))
		}
	}
	if err := obj.Restore(c.Objective); err != nil {
		return err
	}
	if n, ok := net.(stepCounter); ok {
		n.SetStep(c.Network)
	}
	if err := push(net); err != nil {
		return err
	}
	t.state = *c
	t.state.file = nil
	if err := t.average.restore(c.file, net); err != nil {
		return err
	}
	if err := t.readStart(c.file); err != nil {
		return err
	}
	return t.restoreBest(c)
}
