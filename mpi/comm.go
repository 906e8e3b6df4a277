//go:build linux || darwin

package mpi

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"unsafe"
)

// funneled is MPI_THREAD_FUNNELED: one thread makes all calls.
const funneled = 1

// tag marks all messages: they come in one order.
const tag = 7

// atOnce bounds the bytes of one call, whose counts are 32 bits.
const atOnce = 1 << 30

// Comm is all processes that MPI has started together; it is a train.Ranks. Its methods may be
// called from any goroutine, one at a time.
type Comm struct {
	lib        *library
	calls      chan func()
	rank, size int
}

// Start joins the processes that were started together. A process that was started alone is the
// only rank. End it with Close or Abort.
func Start() (*Comm, error) {
	lib, err := load()
	if err != nil {
		return nil, err
	}
	c := &Comm{lib: lib, calls: make(chan func())}
	go func() {
		runtime.LockOSThread() // for good: the library belongs to this thread
		for f := range c.calls {
			f()
		}
	}()
	var provided, rank, size int32
	err = c.call("MPI_Init_thread", func() int32 {
		if code := lib.initThread(0, 0, funneled, &provided); code != 0 {
			return code
		}
		if code := lib.rank(lib.world, &rank); code != 0 {
			return code
		}
		return lib.size(lib.world, &size)
	})
	if err != nil {
		return nil, err
	}
	if provided < funneled {
		return nil, fmt.Errorf("%s does not allow threads besides the calling one", lib.name)
	}
	c.rank, c.size = int(rank), int(size)
	return c, nil
}

// call calls the library on its thread.
func (c *Comm) call(what string, f func() int32) error {
	done := make(chan int32)
	c.calls <- func() { done <- f() }
	if code := <-done; code != 0 {
		return fmt.Errorf("%s: %s fails with code %d", c.lib.name, what, code)
	}
	return nil
}

// Name is the library's.
func (c *Comm) Name() string { return c.lib.name }

// Rank is which of the processes this is.
func (c *Comm) Rank() int { return c.rank }

// Size is how many there are.
func (c *Comm) Size() int { return c.size }

// Close leaves the others, once all have come to it.
func (c *Comm) Close() error { return c.call("MPI_Finalize", c.lib.finalize) }

// Abort ends all processes. It does not return unless the library fails.
func (c *Comm) Abort(code int) {
	_ = c.call("MPI_Abort", func() int32 { return c.lib.abort(c.lib.world, int32(code)) })
}

// AllGather hands out a part of each rank to all.
func (c *Comm) AllGather(part []byte) ([][]byte, error) {
	sizes, err := c.gather(binary.LittleEndian.AppendUint64(nil, uint64(len(part))), slices.Repeat([]int{8}, c.size))
	if err != nil {
		return nil, err
	}
	all, left := make([][]byte, c.size), 0
	for r, s := range sizes {
		n := int(binary.LittleEndian.Uint64(s))
		all[r], left = make([]byte, 0, n), max(left, n)
	}
	most := atOnce / c.size
	for at := 0; at < left; at += most {
		counts := make([]int, c.size)
		for r := range counts {
			counts[r] = min(max(cap(all[r])-at, 0), most)
		}
		pieces, err := c.gather(part[min(at, len(part)):min(at+most, len(part))], counts)
		if err != nil {
			return nil, err
		}
		for r, p := range pieces {
			all[r] = append(all[r], p...)
		}
	}
	return all, nil
}

// gather hands out parts of known lengths that together fit one call.
func (c *Comm) gather(part []byte, counts []int) ([][]byte, error) {
	n, places := make([]int32, c.size), make([]int32, c.size)
	total := 0
	for r, count := range counts {
		n[r], places[r] = int32(count), int32(total)
		total += count
	}
	all := make([]byte, total)
	err := c.call("MPI_Allgatherv", func() int32 {
		return c.lib.gather(pointer(part), int32(len(part)), c.lib.byte, pointer(all), &n[0], &places[0], c.lib.byte,
			c.lib.world)
	})
	if err != nil {
		return nil, err
	}
	out := make([][]byte, c.size)
	for r, count := range counts {
		out[r] = all[places[r]:][:count:count]
	}
	return out, nil
}

// Send gives x to a rank that calls Receive with as many values.
func (c *Comm) Send(to int, x []float32) error {
	return c.pieces("MPI_Send", x, func(at unsafe.Pointer, n int32) int32 {
		return c.lib.send(at, n, c.lib.float, int32(to), tag, c.lib.world)
	})
}

// Receive fills x with what a rank sends.
func (c *Comm) Receive(from int, x []float32) error {
	return c.pieces("MPI_Recv", x, func(at unsafe.Pointer, n int32) int32 {
		return c.lib.receive(at, n, c.lib.float, int32(from), tag, c.lib.world, c.lib.ignore)
	})
}

// Broadcast makes x of all ranks that of rank 0.
func (c *Comm) Broadcast(x []float32) error {
	return c.pieces("MPI_Bcast", x, func(at unsafe.Pointer, n int32) int32 {
		return c.lib.broadcast(at, n, c.lib.float, 0, c.lib.world)
	})
}

// pieces makes a call for each part of x that fits one.
func (c *Comm) pieces(what string, x []float32, f func(at unsafe.Pointer, n int32) int32) error {
	for part := range slices.Chunk(x, atOnce/4) {
		err := c.call(what, func() int32 { return f(unsafe.Pointer(&part[0]), int32(len(part))) })
		if err != nil {
			return err
		}
	}
	return nil
}

// pointer is where a slice begins; of an empty one nil.
func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
