package train

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
)

// remoteNet is a Remote that keeps its samples in memory.
type remoteNet struct {
	*nn.Net
	fail    int // the number of the Stage that fails, from 1; 0: none
	mu      sync.Mutex
	more    *sync.Cond
	staged  int // batches so far
	total   int // that there will be in the epoch; Forward waits for the one after its own
	forward int
	open    atomic.Int64 // staged and not released
}

func newRemoteNet(net Network) *remoteNet {
	a := &remoteNet{Net: net.(*nn.Net)}
	a.more = sync.NewCond(&a.mu)
	return a
}

func (a *remoteNet) Pull() error { return nil }
func (a *remoteNet) Push() error { return nil }
func (a *remoteNet) Err() error  { return nil }

func (a *remoteNet) Stage(b Batch, training bool) (Staged, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.staged++
	a.more.Broadcast()
	if a.staged == a.fail {
		return nil, errors.New("the device is lost")
	}
	a.open.Add(1)
	return &waiting{net: a, x: slices.Clone(b.X), n: len(b.Pos)}, nil
}

type waiting struct {
	net  *remoteNet
	x    []float32
	n    int
	gone bool
}

func (w *waiting) Forward() *matrix.Dense {
	a := w.net
	a.mu.Lock()
	a.forward++
	for a.forward%a.total != 0 && a.staged <= a.forward { // the next comes while this one computes
		a.more.Wait()
	}
	a.mu.Unlock()
	return a.Net.Forward(w.x, w.n)
}

func (w *waiting) Infer() *matrix.Dense { return w.net.Net.Infer(w.x, w.n) }

func (w *waiting) Release() {
	if !w.gone {
		w.net.open.Add(-1)
	}
	w.gone = true
}

// TestStagedAhead: of a remote network each batch is staged while the one before is
// computed, the run is that of the network itself, and nothing stays behind.
func TestStagedAhead(t *testing.T) {
	plain := small(t, 3)
	want, err := Loop(context.Background(), plain)
	if err != nil {
		t.Fatal(err)
	}
	c := small(t, 3)
	a := newRemoteNet(c.Network)
	a.total = c.Sampler.Batches()
	c.Network = a
	got, err := Loop(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	sameRun(t, "staged", plain.Network, a, want.History, got.History)
	if n := a.open.Load(); n != 0 {
		t.Errorf("%d batches were not released", n)
	}
	x, pos, err := Embed(context.Background(), a, c.Data, 7, 3)
	if err != nil {
		t.Fatal(err)
	}
	y, _, err := Embed(context.Background(), plain.Network, plain.Data, 7, 3)
	if err != nil || !slices.Equal(x.Data, y.Data) || len(pos) != 7 || a.open.Load() != 0 {
		t.Errorf("embeddings of %v: %v, %d not released, %v", pos, x.Data, a.open.Load(), err)
	}
}

// TestDeviceIsLost: a batch that cannot be staged ends the run with a DeviceError of
// its step, after the one before was trained.
func TestDeviceIsLost(t *testing.T) {
	c := small(t, 2)
	a := newRemoteNet(c.Network)
	a.fail, a.total = 3, c.Sampler.Batches()
	c.Network = a
	_, err := Loop(context.Background(), c)
	var step *StepError
	var device *DeviceError
	if !errors.As(err, &step) || !errors.As(err, &device) || step.Epoch != 1 || step.Step != 3 || a.forward != 2 {
		t.Errorf("after %d steps: %v", a.forward, err)
	}
	if n := a.open.Load(); n != 0 {
		t.Errorf("%d batches were not released", n)
	}
	if _, _, err := Embed(context.Background(), &remoteNet{Net: a.Net, fail: 1,
		more: sync.NewCond(new(sync.Mutex))}, c.Data,
		3, 2); !errors.As(err, &device) {
		t.Errorf("embedding: %v", err)
	}
}
