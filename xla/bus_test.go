package xla_test

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
	"github.com/kindred-ml/kindred/xla"
	"github.com/kindred-ml/kindred/xla/internal/bus"
)

// onBus starts devices in plain Go with a bus each.
func onBus(t testing.TB, count int) (devices []xla.Device, buses []*bus.Bus) {
	t.Helper()
	for _, d := range open(t, count) {
		b := bus.On(d.Backend)
		buses, devices = append(buses, b), append(devices, xla.Device{Backend: b})
	}
	return devices, buses
}

// tiny writes pictures of 16 x 16 pixels, a folder for each of four colours.
func tiny(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 1))
	for c, name := range []string{"red", "green", "blue", "grey"} {
		for i := range 6 {
			m := image.NewRGBA(image.Rect(0, 0, 16, 16))
			for p := range 16 * 16 {
				v := [3]uint8{uint8(r.IntN(120)), uint8(r.IntN(120)), uint8(r.IntN(120))}
				if c < 3 {
					v[c] += 100
				}
				m.Set(p%16, p/16, color.RGBA{v[0], v[1], v[2], 255})
			}
			path := filepath.Join(dir, name, string(rune('a'+i))+".png")
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(png.Encode(f, m), f.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// tinyRun is a run on such pictures of a small network with batch norm and dropout.
func tinyRun(t testing.TB, data string, set ...string) run.Config {
	t.Helper()
	cfg, err := run.Parse("test", nil, append([]string{fmt.Sprintf("data.path=%q", data), "network.name=conv4",
		"network.width=4", "network.dim=4", "network.dropout=0.1", "data.size=16",
		"data.split=images:0.4", "data.augment=light", "data.pixels=imagenet", "sample.batches=2",
		"sample.classes=3", "sample.per_class=2", "train.epochs=2", "train.checkpoint=1", "train.lr=0.01"},
		set...)...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// runOn trains on devices, into a folder if dir is not "".
func runOn(cfg run.Config, devices []xla.Device, dir string, resume bool) (*run.Result, error) {
	return run.Train(context.Background(), cfg, run.Options{Dir: dir, Resume: resume,
		Engine: func(net *nn.Net, cfg *run.Config) (run.Engine, error) {
			pixels, err := prepare.ParseNormalization(cfg.Data.Pixels)
			if err != nil {
				return nil, err
			}
			return xla.New(devices, net, xla.Options{Seed: cfg.Train.Seed, Pixels: pixels})
		}})
}

// TestBytesAreNormalized: of images that are given as bytes a device makes the very
// embeddings, in both modes, and the gradients that it makes of their values.
func TestBytesAreNormalized(t *testing.T) {
	for _, name := range []string{"imagenet", "bn_inception"} {
		t.Run(name, func(t *testing.T) { bytesAreNormalized(t, name) })
	}
}

func bytesAreNormalized(t *testing.T, name string) {
	pixels, err := prepare.ParseNormalization(name)
	if err != nil {
		t.Fatal(err)
	}
	spec := newProblem().spec
	spec.Input.C = 3
	bytes, values, table := make([]uint8, 5*spec.Input.Len()), []float32(nil), pixels.Table(3)
	r := rand.New(rand.NewPCG(3, 3))
	for i := range bytes {
		bytes[i] = uint8(r.IntN(256))
		values = append(values, table[int(bytes[i])*3+i%3])
	}
	var made [2][]float32
	for k, b := range []train.Batch{{Bytes: bytes}, {X: values}} {
		host, err := nn.New(spec, nn.Options{Seed: 2})
		if err != nil {
			t.Fatal(err)
		}
		dev, err := xla.New(open(t, 1), host, xla.Options{Seed: 2, Pixels: pixels})
		if err != nil {
			t.Fatal(err)
		}
		b.Pos = []int{0, 1, 2, 3, 4}
		for _, training := range []bool{false, true} {
			s, err := dev.Stage(b, training)
			if err != nil {
				t.Fatal(err)
			}
			if training {
				e := s.Forward()
				made[k] = append(made[k], e.Data...)
				dev.Backward(matrix.FromSlice(e.Rows, e.Cols, slices.Clone(e.Data)))
			} else {
				made[k] = append(made[k], s.Infer().Data...)
			}
			s.Release()
		}
		if err := dev.PullGradients(); err != nil {
			t.Fatal(err)
		}
		for _, p := range host.Params() {
			made[k] = append(made[k], p.Grad...)
		}
	}
	if !slices.Equal(made[0], made[1]) {
		t.Error("bytes and their values do not come to the same")
	}
}

// TestImagesCrossAsBytes: a run whose images are bytes takes the way of one whose
// images are values, to the bit, and the images are a quarter of what crosses.
func TestImagesCrossAsBytes(t *testing.T) {
	data := tiny(t)
	var ends [2][]float32
	var up [2]int64
	var images int64
	for k := range ends {
		cfg := tinyRun(t, data, "data.rounded=true")
		devices, buses := onBus(t, 1)
		res, err := run.Train(context.Background(), cfg, run.Options{
			Engine: func(net *nn.Net, cfg *run.Config) (run.Engine, error) {
				pixels, err := prepare.ParseNormalization(cfg.Data.Pixels)
				if err != nil {
					return nil, err
				}
				dev, err := xla.New(devices, net, xla.Options{Seed: cfg.Train.Seed, Pixels: pixels})
				if k == 0 || err != nil {
					return dev, err
				}
				return &widened{dev, pixels.Table(3), &images}, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range res.Net.Params() {
			ends[k] = append(ends[k], p.Value...)
		}
		ends[k] = append(ends[k], res.Test.X.Data...)
		up[k] = buses[0].Total(bus.Upload).Bytes
	}
	if !slices.Equal(ends[0], ends[1]) {
		t.Error("with bytes another network is trained")
	}
	if images < 2*2*6*16*16*3 || up[1]-up[0] != 3*images {
		t.Errorf("%d bytes less went up, want 3 for each of the %d of the images", up[1]-up[0], images)
	}
}

// widened is an engine that is given values where bytes were to cross.
type widened struct {
	*xla.Net
	table []float32
	count *int64 // of bytes that came
}

func (w *widened) Stage(b train.Batch, training bool) (train.Staged, error) {
	for i, v := range b.Bytes {
		b.X = append(b.X, w.table[int(v)*3+i%3])
	}
	*w.count += int64(len(b.Bytes))
	b.Bytes = nil
	return w.Net.Stage(b, training)
}

// TestFaults: whatever a backend fails at and when, the run ends with one line that
// says so and how to go on, its folder can be resumed, and the end is the network of a
// run that was left alone.
func TestFaults(t *testing.T) {
	data := tiny(t)
	cfg := tinyRun(t, data, "network.name=mlp", "network.width=8", "data.size=4")
	whole, buses := onBus(t, 1)
	want, err := runOn(cfg, whole, filepath.Join(t.TempDir(), "whole"), false)
	if err != nil {
		t.Fatal(err)
	}
	messages := map[bus.Op]string{
		bus.Compile: "cannot compile\nat line 3", bus.Upload: "RESOURCE_EXHAUSTED: 1.5 GiB", bus.Execute: "device lost",
		bus.Download: "the transfer failed",
	}
	for op, message := range messages {
		calls := buses[0].Total(op).Calls
		if calls < 4 {
			t.Fatalf("operation %d is called %d times", op, calls)
		}
		for _, at := range []int{2, calls / 2, calls} {
			dir := filepath.Join(t.TempDir(), "run")
			devices, faulty := onBus(t, 1)
			n := 0
			faulty[0].Before = once(op, at, &n, errors.New(message))
			_, err := runOn(cfg, devices, dir, false)
			if err == nil {
				t.Fatalf("operation %d, call %d of %d: no error", op, at, calls)
			}
			text := err.Error()
			line, _, more := strings.Cut(message, "\n")
			if strings.Contains(text, "\n") || !strings.Contains(text, line) {
				t.Errorf("operation %d, call %d of %d: %q", op, at, calls, text)
			}
			if op == bus.Upload && !strings.Contains(text, "out of device memory") ||
				more && strings.Contains(text, "line 3") {
				t.Errorf("operation %d: %q", op, text)
			}
			begun := run.Exists(dir)
			if begun && !strings.Contains(text, "run.Options.Resume") {
				t.Errorf("operation %d, call %d of %d: no way to go on: %q", op, at, calls, text)
			}
			healthy, _ := onBus(t, 1)
			got, err := runOn(cfg, healthy, dir, begun)
			if err != nil {
				t.Fatalf("operation %d, call %d of %d, resumed: %v", op, at, calls, err)
			}
			for i, p := range want.Net.Params() {
				if !slices.Equal(p.Value, got.Net.Params()[i].Value) {
					t.Errorf("operation %d, call %d of %d, resumed: another %s", op, at, calls, p.Name)
					break
				}
			}
			same := func(file string) {
				a, err1 := os.ReadFile(filepath.Join(want.Dir, file))
				b, err2 := os.ReadFile(filepath.Join(got.Dir, file))
				if err1 != nil || err2 != nil || !slices.Equal(a, b) {
					t.Errorf("operation %d, call %d of %d, resumed: another %s (%v, %v)", op, at, calls, file, err1,
						err2)
				}
			}
			same("checkpoint/last.safetensors")
			same("model.safetensors")
		}
	}
}

// once fails an operation the at-th time.
func once(op bus.Op, at int, n *int, err error) func(bus.Op, int64) error {
	return func(o bus.Op, _ int64) error {
		if o == op {
			if *n++; *n >= at {
				return err
			}
		}
		return nil
	}
}
