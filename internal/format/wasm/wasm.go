package wasm

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/edsrzf/mmap-go"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// Module is a decoder, ready to run. It may be used by several goroutines at a time.
type Module struct {
	runtime wazero.Runtime
	code    wazero.CompiledModule
}

// Compile meters a module and translates it to machine code, or prepares it for interpretation where wazero has no
// compiler.
func Compile(module []byte) (*Module, error) {
	metered, err := Meter(module)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	m := &Module{runtime: wazero.NewRuntimeWithConfig(ctx,
		wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2|experimental.CoreFeaturesThreads))}
	// The modules import functions of WASI. By default those give access to nothing: there are no files, no
	// arguments, no output and a clock that stands still.
	if _, err = wasi_snapshot_preview1.Instantiate(ctx, m.runtime); err == nil {
		m.code, err = m.runtime.CompileModule(ctx, metered)
	}
	if err != nil {
		m.runtime.Close(ctx)
		return nil, err
	}
	return m, nil
}

// Close releases a module that no run uses.
func (m *Module) Close() error { return m.runtime.Close(context.Background()) }

// Limits bound a run.
type Limits struct {
	Memory int64 // in bytes
	Loops  int64 // iterations of all loops together
}

// Errors of runs that reach a limit, and ErrDecoder, which says nothing about the file.
var (
	ErrDecoder = errors.New("the decoder cannot run here")
	ErrMemory  = errors.New("the file needs more memory than any picture of its size")
	ErrLoops   = errors.New("the file needs more work than any picture of its size")
)

// Run is one use of a module, with a memory of its own. It is for one goroutine.
type Run struct {
	ctx    context.Context
	module api.Module
	memory memory
	called map[string]api.Function // functions so far; each has a stack, which its calls share
	fuel   api.MutableGlobal
	left   int64 // loop iterations beyond those of the fuel
	err    error // the first error: the state of the run is undefined after it
}

// Quantum is the number of loop iterations, a few milliseconds, after which a run stops for a moment. Until then
// nothing can preempt its code: neither the end of its context nor the garbage collector, for which the whole
// program waits.
const Quantum = 1 << 20

// Start begins a run. Its memory grows as the module asks, up to the limit. The run ends with ctx.
func (m *Module) Start(ctx context.Context, limits Limits) (*Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	exported := m.code.ExportedMemories()["memory"]
	if exported == nil {
		return nil, errors.New("a WebAssembly module without a memory")
	}
	const page = 1 << 16
	most, _ := exported.Max() // without a bound of its own, that of the runtime
	// With a page less than that the allocator is asked whenever a run stops.
	n := min(limits.Memory/page, int64(most)-1) * page
	if n < int64(exported.Min())*page {
		return nil, ErrMemory
	}
	r := &Run{ctx: ctx, called: map[string]api.Function{}, left: limits.Loops}
	if err := r.memory.reserve(n); err != nil {
		return nil, fmt.Errorf("%w: %d bytes of memory cannot be reserved: %w", ErrDecoder, n, err)
	}
	r.memory.stopped = r.refuel
	with := experimental.WithMemoryAllocator(context.Background(), experimental.MemoryAllocatorFunc(
		func(_, _ uint64) experimental.LinearMemory { return &r.memory }))
	// The constructors of C++ run in _initialize, which also loops.
	instance, err := m.runtime.InstantiateModule(with, m.code, wazero.NewModuleConfig().WithName("").
		WithStartFunctions())
	if err != nil {
		r.memory.Free()
		return nil, r.trapError(err)
	}
	r.module = instance
	var ok bool
	if r.fuel, ok = instance.ExportedGlobal(fuel).(api.MutableGlobal); !ok {
		return nil, fmt.Errorf("a module without %s", fuel)
	}
	if instance.ExportedFunction("_initialize") != nil {
		if _, err := r.Call("_initialize"); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// refuel gives the code its next iterations, if the run may go on. It returns false if the code has not stopped for
// that.
func (r *Run) refuel() bool {
	if r.fuel == nil || int64(r.fuel.Get()) >= 0 {
		return false
	}
	runtime.Gosched()
	if r.ctx.Err() == nil && r.Loops() >= 0 {
		n := min(r.Loops(), Quantum)
		r.left = r.Loops() - n
		r.fuel.Set(uint64(n))
	}
	return true
}

// Close releases the memory of the run.
func (r *Run) Close() { r.module.Close(context.Background()) }

// Loops returns how many iterations are left.
func (r *Run) Loops() int64 { return r.left + int64(r.fuel.Get()) }

// Call calls an exported function and returns its result, or 0 if it has none. After an error every call fails. The
// error is that of the context if that has ended.
func (r *Run) Call(name string, args ...uint64) (uint64, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.err = r.ctx.Err(); r.err != nil {
		return 0, r.err
	}
	f := r.called[name]
	if f == nil {
		f = r.module.ExportedFunction(name)
	}
	if f == nil || len(f.Definition().ParamTypes()) != len(args) {
		return 0, fmt.Errorf("the module has no function %s of %d arguments", name, len(args))
	}
	r.called[name] = f
	out, err := f.Call(context.Background(), args...)
	if err != nil {
		r.err = r.trapError(err)
		return 0, r.err
	}
	if len(out) == 0 {
		return 0, nil
	}
	return out[0], nil
}

// trapError returns the error of a trap.
func (r *Run) trapError(err error) error {
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case r.fuel != nil && r.Loops() < 0:
		return ErrLoops
	case r.memory.refused:
		return ErrMemory
	}
	text, _, _ := strings.Cut(err.Error(), "\n") // the rest lists the functions of the module
	return errors.New(text)
}

// FailureError returns the error of a function that reports a failure: ErrMemory if the run has reached its
// limit, else err.
func (r *Run) FailureError(err error) error {
	if r.memory.refused {
		return ErrMemory
	}
	return err
}

// Alloc reserves n bytes of the run's memory by the exported function malloc, and returns their place.
func (r *Run) Alloc(n int64) (uint64, error) {
	if n > 1<<32-1 {
		return 0, ErrMemory
	}
	at, err := r.Call("malloc", uint64(max(n, 1)))
	if err == nil && at == 0 {
		err = ErrMemory
	}
	return at, err
}

// CopyIn copies b, in pieces, to the run's memory and returns its place.
func (r *Run) CopyIn(b ...[]byte) (uint64, error) {
	at, err := r.Alloc(TotalLen(b...))
	if err != nil {
		return 0, err
	}
	return at, r.Write(at, b...)
}

// Write copies b, in pieces, to a place in the run's memory.
func (r *Run) Write(at uint64, b ...[]byte) error {
	for _, piece := range b {
		if !r.module.Memory().Write(uint32(at), piece) {
			return ErrMemory
		}
		at += uint64(len(piece))
	}
	return nil
}

// View returns n bytes of the run's memory. They are valid until the next call.
func (r *Run) View(at uint64, n int64) ([]byte, error) {
	b, ok := []byte(nil), n >= 0 && n <= 1<<32-1
	if ok {
		b, ok = r.module.Memory().Read(uint32(at), uint32(n))
	}
	if !ok {
		return nil, fmt.Errorf("%d bytes at %d are outside the memory of the decoder", n, at)
	}
	return b, nil
}

// Used returns the size of the run's memory.
func (r *Run) Used() int64 { return int64(len(r.memory.b)) }

// memory is the memory of a run. It is reserved in one piece, so that it never moves; the system provides what is
// used.
type memory struct {
	all     mmap.MMap
	b       []byte      // the part in use
	refused bool        // more was asked for than is reserved
	stopped func() bool // whether the code has only stopped for a moment, and asks for no memory
}

func (m *memory) reserve(n int64) (err error) {
	m.all, err = mmap.MapRegion(nil, int(n), mmap.RDWR, mmap.ANON, 0)
	return err
}

// Reallocate makes the memory n bytes long. Beyond the limit it returns nil, so that the module's allocation fails.
func (m *memory) Reallocate(n uint64) []byte {
	if m.stopped() {
		return nil
	}
	if n > uint64(len(m.all)) {
		m.refused = true
		return nil
	}
	m.b = m.all[:n:n]
	return m.b
}

// Free gives the memory back.
func (m *memory) Free() {
	if m.all != nil {
		_ = m.all.Unmap() // it can only fail for memory that is not mapped
	}
	m.all, m.b = nil, nil
}
