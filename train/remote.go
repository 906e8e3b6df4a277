package train

import (
	"iter"
	"slices"

	"github.com/kindred-ml/kindred/matrix"
)

// Remote is a Network that computes on a device with its own memory. Params returns copies of the
// weights as of the last Pull or Push. A failure of the device ends a run with a *DeviceError.
type Remote interface {
	Network
	// Pull copies the weights from the device to Params. Push copies them to the device.
	Pull() error
	Push() error
	// Err returns the device's failure, or nil.
	Err() error
	// Stage copies samples to the device, for training or for evaluation. It is called for the
	// next batch, from another goroutine than the other methods, while the device computes the
	// current batch.
	Stage(b Batch, training bool) (Staged, error)
}

// Staged holds samples on a device. Forward and Infer embed them as the Network's methods do; at
// most one of the two is called. Release frees memory that Backward does not need.
type Staged interface {
	Forward() *matrix.Dense
	Infer() *matrix.Dense
	Release()
}

// DeviceError is the failure of a Remote network's device. The training since the last checkpoint
// is lost.
type DeviceError struct{ Err error }

func (e *DeviceError) Error() string { return e.Err.Error() }
func (e *DeviceError) Unwrap() error { return e.Err }

// onDevice calls do if the network is remote.
func onDevice(net Network, do func(Remote) error) error {
	r, ok := net.(Remote)
	if !ok {
		return nil
	}
	if err := do(r); err != nil {
		return &DeviceError{err}
	}
	return nil
}

// pull copies the weights of a remote network from the device.
func pull(net Network) error { return onDevice(net, Remote.Pull) }

// push copies the weights of a remote network to the device.
func push(net Network) error { return onDevice(net, Remote.Push) }

// deviceError returns the failure of a remote network's device.
func deviceError(net Network) error { return onDevice(net, Remote.Err) }

// prefetch yields the batches of from. If the network is remote, each batch is staged while the one
// before it is in use.
func prefetch(net Network, from iter.Seq2[Batch, error], training bool) iter.Seq2[Batch, error] {
	r, ok := net.(Remote)
	if !ok {
		return from
	}
	type next struct {
		Batch
		err error
	}
	return func(yield func(Batch, error) bool) {
		batches, stop := make(chan next), make(chan struct{})
		go func() {
			defer close(batches)
			for b, err := range from {
				if err == nil && len(b.Pos) > 0 {
					b, err = stage(r, b, training)
				}
				select {
				case batches <- next{b, err}:
				case <-stop:
					b.release()
					return
				}
				if err != nil {
					return
				}
			}
		}()
		defer func() { // from has ended when this function returns
			close(stop)
			for b := range batches {
				b.release()
			}
		}()
		for b := range batches {
			more := yield(b.Batch, b.err)
			b.release()
			if !more {
				return
			}
		}
	}
}

func (b *Batch) release() {
	if b.staged != nil {
		b.staged.Release()
	}
}

// stage copies a batch to the device, and keeps only its positions.
func stage(r Remote, b Batch, training bool) (Batch, error) {
	s, err := r.Stage(b, training)
	if err != nil {
		return Batch{}, &DeviceError{err}
	}
	return Batch{Pos: slices.Clone(b.Pos), staged: s}, nil
}
