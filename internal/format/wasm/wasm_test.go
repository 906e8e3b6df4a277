package wasm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// function is a function of a module for tests, of an i32 that returns an i32.
type function struct {
	name string
	code []byte // with the end
}

// moduleOf returns a module with a memory of a page, a global and functions, all exported.
func moduleOf(functions ...function) []byte {
	section := func(id byte, parts ...[]byte) []byte {
		body := slices.Concat(parts...)
		return append(binary.AppendUvarint([]byte{id}, uint64(len(body))), body...)
	}
	n := []byte{byte(len(functions))}
	var exports, code []byte
	for k, f := range functions {
		exports = append(append(append(exports, byte(len(f.name))), f.name...), 0, byte(k))
		body := append([]byte{0}, f.code...) // no local variables
		code = append(binary.AppendUvarint(code, uint64(len(body))), body...)
	}
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), section(1, []byte{1, 0x60, 1, 0x7f, 1, 0x7f}),
		section(3, n, make([]byte, len(functions))), section(5, []byte{1, 0, 1}),
		section(6, []byte{1, 0x7f, 1, 0x41, 5, 0x0b}),
		section(7, []byte{n[0] + 1, 6}, []byte("memory\x02\x00"), exports),
		section(0, []byte("\x04name")), section(10, n, code))
}

// The functions of the tests.
var (
	// countdown subtracts one from its argument until that is 0.
	countdown = function{"countdown", []byte{0x03, 0x40, 0x20, 0, 0x04, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x21, 0,
		0x0c, 1, 0x0b, 0x0b, 0x20, 0, 0x0b}}
	endless = function{"endless", []byte{0x03, 0x40, 0x0c, 0, 0x0b, 0x41, 0, 0x0b}}
	grow    = function{"grow", []byte{0x20, 0, 0x40, 0, 0x0b}}          // by so many pages
	deep    = function{"deep", []byte{0x20, 0, 0x10, 3, 0x0b}}          // it calls itself without end
	outside = function{"outside", []byte{0x41, 0x7f, 0x28, 2, 0, 0x0b}} // it reads beyond its memory
	malloc  = function{"malloc", []byte{0x41, 0x10, 0x0b}}              // always at 16
)

func started(t *testing.T, limits Limits) *Run {
	t.Helper()
	m, err := Compile(moduleOf(countdown, endless, grow, deep, outside, malloc))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	r, err := m.Start(t.Context(), limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// TestLoops: each turn of a loop counts, and a loop without end is stopped.
func TestLoops(t *testing.T) {
	r := started(t, Limits{Memory: 1 << 20, Loops: 100})
	if v, err := r.Call("countdown", 9); v != 0 || err != nil || r.Loops() != 90 {
		t.Errorf("%d, %v, %d left", v, err, r.Loops())
	}
	if _, err := r.Call("countdown", 89); err != nil || r.Loops() != 0 {
		t.Errorf("%v, %d left", err, r.Loops())
	}
	if _, err := r.Call("countdown", 0); !errors.Is(err, ErrLoops) {
		t.Error(err)
	}
	if _, err := r.Call("malloc", 0); !errors.Is(err, ErrLoops) {
		t.Errorf("a call after a fault: %v", err)
	}
	if _, err := started(t, Limits{Memory: 1 << 20, Loops: 1 << 20}).Call("endless", 0); !errors.Is(err, ErrLoops) {
		t.Error(err)
	}
}

// TestMemory: a memory grows to its limit, and not beyond it.
func TestMemory(t *testing.T) {
	r := started(t, Limits{Memory: 5<<16 + 100, Loops: 1})
	for _, c := range []struct{ by, want uint64 }{{2, 1}, {2, 3}, {1, 1<<32 - 1}, {0, 5}} {
		if was, err := r.Call("grow", c.by); was != c.want || err != nil {
			t.Errorf("by %d: %d, %v", c.by, int32(was), err)
		}
	}
	if err := r.FailureError(errStill); r.Used() != 5<<16 || !errors.Is(err, ErrMemory) {
		t.Errorf("%d bytes, %v", r.Used(), err)
	}
	for _, limits := range []Limits{{}, {Memory: 1<<16 - 1}} {
		m, err := Compile(moduleOf(grow))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Start(t.Context(), limits); !errors.Is(err, ErrMemory) {
			t.Errorf("%+v: %v", limits, err)
		}
		m.Close()
	}
}

// TestFaults: what a decoder does wrong is an error in one line, and its run is at its end.
func TestFaults(t *testing.T) {
	for name, want := range map[string]string{"deep": "stack overflow", "outside": "out of bounds",
		"none": "no function"} {
		_, err := started(t, Limits{Memory: 1 << 20, Loops: 10}).Call(name, 1)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := started(t, Limits{Memory: 1 << 20, Loops: 10})
	if _, err := r.Call("grow"); err == nil {
		t.Error("a call without the argument")
	}
	at, err := r.CopyIn([]byte("file"))
	if b, err2 := r.View(at, 4); err != nil || err2 != nil || string(b) != "file" {
		t.Errorf("%q, %v, %v", b, err, err2)
	}
	if _, err := r.CopyIn(make([]byte, 1<<17)); !errors.Is(err, ErrMemory) { // its malloc does not look at the size
		t.Error(err)
	}
	for _, c := range [][2]int64{{1 << 16, 1}, {0, 1<<16 + 1}, {0, -1}, {0, 1 << 32}} {
		if _, err := r.View(uint64(c[0]), c[1]); err == nil {
			t.Errorf("%v is inside", c)
		}
	}
	if _, err := r.Alloc(1 << 32); !errors.Is(err, ErrMemory) {
		t.Error(err)
	}
}

// TestMeterRefuses: what is not a module, or has what Meter does not know, is an error, wherever it is cut off.
func TestMeterRefuses(t *testing.T) {
	whole := moduleOf(countdown, endless)
	for n := range whole {
		if _, err := Meter(whole[:n]); err == nil && n > len(whole)-4 {
			t.Errorf("cut off at %d of %d", n, len(whole))
		}
	}
	for want, b := range map[string][]byte{
		"not a WebAssembly module":             []byte("\x00asm\x02\x00\x00\x00"),
		"without functions, globals or export": whole[:8],
		"instruction 0xff":                     moduleOf(function{"f", []byte{0xff, 0x0b}}),
		"instruction 0xfc0012":                 moduleOf(function{"f", []byte{0xfc, 0x12, 0x0b}}),
		"instruction 0xfd0100":                 moduleOf(function{"f", []byte{0xfd, 0x80, 0x02, 0x0b}}),
		"instruction 0xfe0004":                 moduleOf(function{"f", []byte{0xfe, 0x04, 0x0b}}),
	} {
		if _, err := Meter(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	metered, err := Meter(whole)
	if err != nil || bytes.Count(metered, []byte(fuel)) != 1 || bytes.Contains(metered, []byte("\x04name")) {
		t.Errorf("%q, %v", metered, err)
	}
}

// FuzzMeter changes a module in any way. What comes out of Meter can be metered again.
func FuzzMeter(f *testing.F) {
	f.Add(moduleOf(countdown, endless, grow, deep, outside, malloc))
	f.Fuzz(func(t *testing.T, b []byte) {
		once, err := Meter(b)
		if err != nil {
			return
		}
		if _, err := Meter(once); err != nil {
			t.Error(err)
		}
	})
}

// TestStops: code that loops without end ends with its context, and other goroutines go on meanwhile, also where
// there is one processor for both.
func TestStops(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	m, err := Compile(moduleOf(endless))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := m.Start(ctx, Limits{Memory: 1 << 20, Loops: 1 << 62})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		runtime.GC() // it waits for all goroutines
		cancel()
	}()
	if _, err := r.Call("endless", 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := r.Call("endless", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a second call: %v", err)
	}
	if _, err := m.Start(ctx, Limits{Memory: 1 << 20}); !errors.Is(err, context.Canceled) {
		t.Errorf("a second run: %v", err)
	}
	if size := r.Used(); size != 1<<16 {
		t.Errorf("stopping has made the memory %d bytes long", size)
	}
}

// TestFullMemory: code also stops where its memory cannot grow any more.
func TestFullMemory(t *testing.T) {
	r := started(t, Limits{Memory: 2 << 16, Loops: 3 * Quantum})
	if _, err := r.Call("grow", 1); err != nil || r.Used() != 2<<16 {
		t.Fatalf("%d bytes, %v", r.Used(), err)
	}
	if _, err := r.Call("countdown", 2*Quantum); err != nil || r.Loops() >= Quantum {
		t.Errorf("%d left, %v", r.Loops(), err)
	}
	if r.FailureError(nil) != nil {
		t.Error("stopping counts as a request for memory")
	}
}

// TestBulkMemory: filling and copying memory takes a loop for every 32 bytes.
func TestBulkMemory(t *testing.T) {
	three := []byte{0x41, 0, 0x41, 0, 0x20, 0} // 0, 0 and the argument
	m, err := Compile(moduleOf(
		function{"fill", slices.Concat(three, []byte{0xfc, 0x0b, 0, 0x20, 0, 0x0b})},
		function{"copy", slices.Concat(three, []byte{0xfc, 0x0a, 0, 0, 0x20, 0, 0x0b})},
		function{"overlong", slices.Concat(three, []byte{0xfc, 0x8b, 0x00, 0, 0x20, 0, 0x0b})}))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, name := range []string{"fill", "copy", "overlong"} {
		r, err := m.Start(t.Context(), Limits{Memory: 1 << 20, Loops: 100})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := r.Call(name, 320); v != 320 || err != nil || r.Loops() != 90 {
			t.Errorf("%s: %d, %d left, %v", name, v, r.Loops(), err)
		}
		if _, err := r.Call(name, 1<<16); !errors.Is(err, ErrLoops) {
			t.Errorf("%s of a page: %v", name, err)
		}
		r.Close()
	}
}
