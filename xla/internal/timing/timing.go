// Package timing holds the cases of kindred-gpu bench: steps of training and of
// evaluation of the networks of the papers, timed as kindred bench times its own.
package timing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/internal/app/bench"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"
	"github.com/kindred-ml/kindred/xla"
	"github.com/kindred-ml/kindred/xla/internal/bus"
)

// Case is a step to be timed. Its name is NETWORK-SIZE-train-bBATCH, with infer for
// evaluation, and -bf16 behind it for bfloat16; a peer's script reads it so.
type Case struct {
	Name, Network string
	Options       zoo.Options
	Batch         int
	Training      bool
	Precision     nn.Precision
}

// Cases lists them: those that need an accelerator, then the tiny ones.
func Cases() []Case {
	var list []Case
	add := func(name, network string, size, channels, batch int, o zoo.Options, precisions ...nn.Precision) {
		o.Input = nn.Shape{H: size, W: size, C: channels}
		for _, p := range precisions {
			for _, training := range []bool{true, false} {
				c := Case{Network: network, Options: o, Batch: batch, Training: training, Precision: p}
				what := map[bool]string{true: "train", false: "infer"}[training]
				c.Name = fmt.Sprintf("%s-%d-%s-b%d", name, size, what, batch)
				if p == nn.BFloat16 {
					c.Name += "-bf16"
				}
				list = append(list, c)
			}
		}
	}
	both := []nn.Precision{nn.Float32, nn.BFloat16}
	add("resnet50", "resnet50", 227, 3, 112, zoo.Options{Dim: 128, Normalize: true}, both...)
	add("vit_s16", "vit_s16", 224, 3, 112, zoo.Options{Dim: 128, Normalize: true}, both...)
	add("conv4", "conv4", 40, 1, 112, zoo.Options{Dim: 64}, both...)
	add("tiny", "conv4", 16, 1, 6, zoo.Options{Dim: 8, Width: 4}, nn.Float32)
	return list
}

// tinyPrefix starts the names of the cases that are for trying it out.
const tinyPrefix = "tiny"

// Select picks the cases whose names are one of those given, or begin with one that is no
// case's own; without any, all but the tiny ones.
func Select(names []string) ([]Case, error) {
	var out []Case
	for _, name := range names {
		found := false
		whole := slices.ContainsFunc(Cases(), func(c Case) bool { return c.Name == name })
		for _, c := range Cases() {
			if c.Name == name || !whole && strings.HasPrefix(c.Name, name+"-") {
				out, found = append(out, c), true
			}
		}
		if !found {
			var known []string
			for _, c := range Cases() {
				known = append(known, c.Name)
			}
			return nil, fmt.Errorf("unknown case %q: want one of %s", name, strings.Join(known, ", "))
		}
	}
	if len(names) > 0 {
		return out, nil
	}
	for _, c := range Cases() {
		if !strings.HasPrefix(c.Name, tinyPrefix) {
			out = append(out, c)
		}
	}
	return out, nil
}

// Result is what a case took.
type Result struct {
	bench.Result
	Devices  int               `json:"devices"`
	Variants []bench.PeerTimes `json:"variants,omitempty"` // of the peer
	// Of a step: megabytes up to the devices and down, and the milliseconds that the
	// host spent in these transfers, which for what comes down includes the wait for
	// the computation.
	UpMB   float64 `json:"up_mb"`
	DownMB float64 `json:"down_mb"`
	BusMS  float64 `json:"bus_ms"`
	// Device is what nvidia-smi saw meanwhile; nil without it.
	Device *Usage `json:"device,omitempty"`
}

// Run times a case on devices, beside a peer if it is not nil.
func Run(ctx context.Context, c Case, devices []xla.Device, peer *bench.Peer) (Result, error) {
	var buses []*bus.Bus
	on := make([]xla.Device, len(devices))
	for i, d := range devices {
		// Devices of one backend share a bus, as they share what is compiled.
		shared := -1
		for k := range i {
			if devices[k].Backend == d.Backend {
				shared = k
			}
		}
		if shared >= 0 {
			on[i] = xla.Device{Backend: on[shared].Backend, Number: d.Number}
			continue
		}
		b := bus.On(d.Backend)
		buses, on[i] = append(buses, b), xla.Device{Backend: b, Number: d.Number}
	}
	steps := 0
	var watching *watch
	var begun, ended [2]bus.Total
	sum := func() (t [2]bus.Total) {
		for _, b := range buses {
			for k, op := range []bus.Op{bus.Upload, bus.Download} {
				x := b.Total(op)
				t[k].Bytes, t[k].Took = t[k].Bytes+x.Bytes, t[k].Took+x.Took
			}
		}
		return t
	}
	work, err := c.work(on)
	if err != nil {
		return Result{}, fmt.Errorf("bench %s: %w", c.Name, err)
	}
	counted := func() error {
		err := work()
		if steps++; steps == 1 { // which compiled
			watching = look(ctx)
			begun = sum()
		}
		ended = sum()
		return err
	}
	r := Result{Devices: len(devices)}
	r.Result, err = bench.Run(ctx, bench.Case{Name: c.Name, Items: c.Batch,
		Setup: func() (func() error, float64, error) { return counted, 0, nil }}, peer)
	if watching != nil {
		r.Device = watching.end()
	}
	r.Variants = r.Result.Variants
	if err != nil {
		return Result{}, err
	}
	if n := float64(steps - 1); n > 0 {
		r.UpMB = float64(ended[0].Bytes-begun[0].Bytes) / n / 1e6
		r.DownMB = float64(ended[1].Bytes-begun[1].Bytes) / n / 1e6
		r.BusMS = float64((ended[0].Took + ended[1].Took - begun[0].Took - begun[1].Took).Microseconds()) / n / 1e3
	}
	return r, nil
}

// work makes a case's step: images as bytes to the devices, each batch while the one
// before is computed, and of training the loss of multi-similarity and a step of Adam.
func (c *Case) work(devices []xla.Device) (func() error, error) {
	spec, err := zoo.Network(c.Network, c.Options)
	if err != nil {
		return nil, err
	}
	host, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		return nil, err
	}
	pixels, err := prepare.ParseNormalization("imagenet")
	if err != nil {
		return nil, err
	}
	net, err := xla.New(devices, host, xla.Options{Seed: 1, Precision: c.Precision, Pixels: pixels})
	if err != nil {
		return nil, err
	}
	const perClass = 4
	b := train.Batch{Bytes: make([]uint8, c.Batch*spec.Input.Len())}
	labels := objective.Batch{}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range b.Bytes {
		b.Bytes[i] = uint8(r.Uint32())
	}
	for i := range c.Batch {
		b.Pos, labels.Labels = append(b.Pos, i), append(labels.Labels, int64(i/perClass))
	}
	obj, err := objective.New(objective.Options{Loss: loss.MultiSimilarity{}, Normalize: true})
	if err != nil {
		return nil, err
	}
	opt, err := train.NewDeviceOptimizer(train.OptimizerConfig{}, train.Params(net, obj), net)
	if err != nil {
		return nil, err
	}
	grad := matrix.New(c.Batch, net.Dim())
	step := func(s train.Staged) error {
		if !c.Training {
			s.Infer()
			return net.Err()
		}
		e := s.Forward()
		if err := net.Err(); err != nil {
			return err
		}
		if _, err := obj.Step(context.Background(), e, labels, grad); err != nil {
			return err
		}
		net.Backward(grad)
		opt.Step()
		return net.Err()
	}
	var next train.Staged
	return func() error {
		if next == nil {
			if next, err = net.Stage(b, c.Training); err != nil {
				return err
			}
		}
		type staged struct {
			train.Staged
			err error
		}
		ahead, now := make(chan staged, 1), next
		go func() {
			s, err := net.Stage(b, c.Training)
			ahead <- staged{s, err}
		}()
		failed := step(now)
		now.Release()
		then := <-ahead
		next = then.Staged
		if failed == nil {
			failed = then.err
		}
		return failed
	}, nil
}
