package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/format/safetensors"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/sample"
)

// A checkpoint is one safetensors file, replaced by rename, so that there is
// always a whole one. Its tensors are the network's parameters and running
// statistics ("network."), the loss's parameters ("loss.") and the optimizer's
// moments ("optimizer."); its metadata hold the rest:
//
//	format    "kindred checkpoint"
//	version   "1"
//	state     JSON of state
//	optimizer JSON of the optimizer's own metadata
//	crc32c    Castagnoli checksum of all tensors' bytes in order
//	crc32c_state  of the texts of state and optimizer; older files have none
const (
	checkpointDir     = "checkpoint"
	checkpointFile    = "last.safetensors"
	checkpointFormat  = "kindred checkpoint"
	checkpointVersion = "1"
)

// CheckpointPath returns the path of the checkpoint of the run in dir.
func CheckpointPath(dir string) string { return filepath.Join(dir, checkpointDir, checkpointFile) }

// state is what a run needs, beside its tensors and its configuration, to go on
// as if it had never stopped.
type state struct {
	Data    string  `json:"data"`    // fingerprint of the training samples
	Epoch   int     `json:"epoch"`   // epochs completed
	Step    int     `json:"step"`    // batches done of the epoch under way
	Sums    Sums    `json:"sums"`    // of the epoch under way
	History []Epoch `json:"history"` // of the epochs completed

	Rate      float64         `json:"rate"`    // of the last step
	Sampler   sample.State    `json:"sampler"` // at the start of the epoch under way
	Objective objective.State `json:"objective"`
	Network   uint64          `json:"network"` // training passes so far
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(tensors []safetensors.Tensor) string {
	var sum uint32
	for _, t := range tensors {
		sum = crc32.Update(sum, castagnoli, t.Data)
	}
	return fmt.Sprintf("%08x", sum)
}

func stateChecksum(f *safetensors.File) string {
	return fmt.Sprintf("%08x", crc32.Checksum([]byte(f.Meta["state"]+f.Meta["optimizer"]), castagnoli))
}

// save writes the checkpoint.
func (t *trainer) save() error {
	if t.opts.Dir == "" {
		return nil
	}
	f, err := t.checkpoint()
	if err != nil {
		return err
	}
	return t.write(CheckpointPath(t.opts.Dir), f.Write)
}

// checkpoint returns the content of the checkpoint.
func (t *trainer) checkpoint() (*safetensors.File, error) {
	t.state.Objective = t.objective.State()
	t.state.Network = t.net.Step()
	meta, err := json.Marshal(t.state)
	if err != nil {
		return nil, err
	}
	f := &safetensors.File{}
	add := func(prefix string, tensors []safetensors.Tensor) {
		for _, x := range tensors {
			x.Name = prefix + x.Name
			f.Tensors = append(f.Tensors, x)
		}
	}
	for _, p := range t.net.Params() {
		v := make([]float32, len(p.Value))
		p.ToTorch(v)
		add("network.", []safetensors.Tensor{safetensors.Float32(p.Name, p.Shape, v)})
	}
	for _, p := range t.objective.Params() {
		add("loss.", []safetensors.Tensor{safetensors.Float32(p.Name, p.Shape, p.Value)})
	}
	o := t.optimizer.State()
	add("optimizer.", o.Tensors)
	om, err := json.Marshal(o.Meta)
	if err != nil {
		return nil, err
	}
	f.Meta = map[string]string{
		"format": checkpointFormat, "version": checkpointVersion,
		"state": string(meta), "optimizer": string(om), "crc32c": checksum(f.Tensors),
	}
	f.Meta["crc32c_state"] = stateChecksum(f)
	return f, nil
}

// restore continues from the checkpoint in the run folder, if there is one yet.
func (t *trainer) restore() error {
	path := CheckpointPath(t.opts.Dir)
	f, err := safetensors.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if err := t.load(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	switch done, epochs := t.state.Epoch, t.cfg.Train.Epochs; {
	case done > epochs:
		return fmt.Errorf("%s has done %d epochs, more than train.epochs=%d", t.opts.Dir, done, epochs)
	case done == epochs:
		t.note("%s has ended: all %d epochs are done; its files are written again", t.opts.Dir, done)
	default:
		t.note("%s continues in epoch %d after step %d of %d", t.opts.Dir, done+1, t.state.Step, t.sampler.Batches())
	}
	return nil
}

func (t *trainer) load(f *safetensors.File) error {
	switch {
	case f.Meta["format"] != checkpointFormat:
		return errors.New("not a checkpoint of kindred")
	case f.Meta["version"] != checkpointVersion:
		return fmt.Errorf("a checkpoint of version %q; this program reads version %s", f.Meta["version"],
			checkpointVersion)
	case f.Meta["crc32c"] != checksum(f.Tensors):
		return errors.New("the checksum does not match: the file is damaged")
	}
	if sum, ok := f.Meta["crc32c_state"]; ok && sum != stateChecksum(f) {
		return errors.New("the checksum of the state does not match: the file is damaged")
	}
	var s state
	if err := json.Unmarshal([]byte(f.Meta["state"]), &s); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if s.Data != t.state.Data {
		return errors.New("the training samples or their labels are not those of the checkpoint")
	}
	if s.Step < 0 || s.Step > t.sampler.Batches() || s.Epoch < 0 || len(s.History) != s.Epoch {
		return fmt.Errorf("state: epoch %d, step %d, %d rows of history", s.Epoch, s.Step, len(s.History))
	}
	parts := map[string]*safetensors.File{}
	for _, x := range f.Tensors {
		part, name, _ := strings.Cut(x.Name, ".")
		if parts[part] == nil {
			parts[part] = &safetensors.File{}
		}
		x.Name = name
		parts[part].Tensors = append(parts[part].Tensors, x)
	}
	for _, p := range t.net.Params() {
		v, err := tensorOf(parts["network"], p.Name, len(p.Value))
		if err != nil {
			return err
		}
		p.FromTorch(v)
	}
	for _, p := range t.objective.Params() {
		v, err := tensorOf(parts["loss"], p.Name, len(p.Value))
		if err != nil {
			return err
		}
		copy(p.Value, v)
	}
	o := parts["optimizer"]
	if o == nil {
		o = &safetensors.File{}
	}
	if err := json.Unmarshal([]byte(f.Meta["optimizer"]), &o.Meta); err != nil {
		return fmt.Errorf("optimizer: %w", err)
	}
	if err := t.optimizer.SetState(o); err != nil {
		return fmt.Errorf("optimizer: %w", err)
	}
	if err := t.sampler.Restore(s.Sampler); err != nil {
		return err
	}
	for _, m := range s.Objective.Memory {
		if len(m.IDs) != len(m.Labels) {
			return errors.New("its cross-batch memory, written by an earlier version, does not say which samples it " +
				"holds; start the run anew")
		}
	}
	if err := t.objective.Restore(s.Objective); err != nil {
		return err
	}
	t.net.SetStep(s.Network)
	t.state = s
	return nil
}

func tensorOf(f *safetensors.File, name string, n int) ([]float32, error) {
	if f == nil || f.Tensor(name) == nil {
		return nil, fmt.Errorf("no tensor %s: the network is not the checkpoint's", name)
	}
	v, err := f.Tensor(name).Float32s()
	if err != nil {
		return nil, err
	}
	if len(v) != n {
		return nil, fmt.Errorf("tensor %s has %d values, the network's has %d", name, len(v), n)
	}
	return v, nil
}
