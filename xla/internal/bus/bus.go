// Package bus wraps the backend that computes a network: it counts and times all
// operations, and lets a test make any of them fail.
//
//	b := bus.On(backend)
//	net, err := xla.New([]xla.Device{{Backend: b}}, ...)
//	b.Total(bus.Upload).Bytes
package bus

import (
	"sync"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
)

// Op is an operation of a backend.
type Op int

// The operations of a backend.
const (
	Compile Op = iota
	Upload
	Execute
	Download
	ops
)

// Total sums up the calls of an Op. An Execute on an accelerator may return before it
// is done: the Download after it waits.
type Total struct {
	Calls int
	Bytes int64
	Took  time.Duration
}

// Bus is a backend that wraps another. It shares no memory with the host, so that
// every transfer is counted.
type Bus struct {
	compute.Backend
	// Before, if set, is called before every operation; its error replaces the
	// operation. Several goroutines may call it at a time.
	Before func(op Op, bytes int64) error

	mu     sync.Mutex
	totals [ops]Total
}

// On puts a bus in front of b.
func On(b compute.Backend) *Bus { return &Bus{Backend: b} }

// Total returns the sums of an Op so far.
func (b *Bus) Total(op Op) Total {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.totals[op]
}

// pass does something that is counted.
func (b *Bus) pass(op Op, bytes int64, do func() error) error {
	if b.Before != nil {
		if err := b.Before(op, bytes); err != nil {
			return err
		}
	}
	begun := time.Now()
	err := do()
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.totals[op]
	*t = Total{t.Calls + 1, t.Bytes + bytes, t.Took + time.Since(begun)}
	return err
}

// Builder is that of the backend.
func (b *Bus) Builder(name string) compute.Builder { return &builder{b.Backend.Builder(name), b} }

// HasSharedBuffers says no.
func (b *Bus) HasSharedBuffers() bool { return false }

// BufferFromFlatData is an Upload.
func (b *Bus) BufferFromFlatData(d compute.DeviceNum, flat any, s shapes.Shape) (out compute.Buffer, err error) {
	err = b.pass(Upload, s.ByteSize(), func() error {
		made, err := b.Backend.BufferFromFlatData(d, flat, s)
		out = &buffer{made, b}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

type builder struct {
	compute.Builder
	bus *Bus
}

func (b *builder) Compile() (out compute.Executable, err error) {
	err = b.bus.pass(Compile, 0, func() error {
		made, err := b.Builder.Compile()
		out = &executable{made, b.bus}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

type executable struct {
	compute.Executable
	bus *Bus
}

func (x *executable) Execute(in []compute.Buffer, donate []bool, d compute.DeviceNum) (out []compute.Buffer,
	err error) {
	own := make([]compute.Buffer, len(in))
	for i, b := range in {
		own[i] = b.(*buffer).Buffer
	}
	err = x.bus.pass(Execute, 0, func() error {
		made, err := x.Executable.Execute(own, donate, d)
		for _, b := range made {
			out = append(out, &buffer{b, x.bus})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

type buffer struct {
	compute.Buffer
	bus *Bus
}

func (b *buffer) Backend() compute.Backend { return b.bus }

func (b *buffer) ToFlatData(flat any) error {
	s, err := b.Buffer.Shape()
	if err != nil {
		return err
	}
	return b.bus.pass(Download, s.ByteSize(), func() error { return b.Buffer.ToFlatData(flat) })
}

func (b *buffer) CopyToDevice(d compute.DeviceNum) (compute.Buffer, error) {
	made, err := b.Buffer.CopyToDevice(d)
	if err != nil {
		return nil, err
	}
	return &buffer{made, b.bus}, nil
}
