package onnx

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

func limit(t *testing.T, bytes int64) {
	t.Helper()
	old := debug.SetMemoryLimit(bytes)
	t.Cleanup(func() { debug.SetMemoryLimit(old) })
}

// Each of these is an error that names what is wrong, and none takes memory that
// the file does not have.
func TestHostileModels(t *testing.T) {
	tensor := func(fields ...any) []byte { return model(5, message(append([]any{8, "t"}, fields...)...)) }
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"nothing", "no graph", nil},
		{"text", "is this an ONNX model", []byte("<html><body>404 not found</body></html>")},
		{"a picture", "is this an ONNX model", []byte("\x89PNG\r\n\x1a\n0000")},
		{"two graphs", "more than one graph", append(model(), model()...)},
		{"no output", "no output", message(7, message(1, message(2, "y", 4, "Constant")))},
		{"a function that calls itself", "call each other more than 16 deep",
			append(model(1, message(1, "x", 2, "z", 4, "f", 7, "own")),
				message(25, message(1, "f", 4, "a", 5, "b", 10, "own",
					7, message(1, "a", 2, "b", 4, "f", 7, "own")))...)},
		{"a function with too few inputs", "2 inputs and 1 outputs for a function of 1 and 1",
			append(model(1, message(1, "x", 1, "x", 2, "z", 4, "f", 7, "own")),
				message(25, message(1, "f", 4, "a", 5, "b", 7, message(1, "a", 2, "b", 4, "Exp"), 10, "own"))...)},
		{"an attribute of a graph without one", `attribute "then": its type is graph`,
			model(1, message(2, "z", 4, "If", 5, message(1, "then", 20, 5)))},
		{"a graph that takes a value from nowhere", `input "ghost"`,
			model(1, message(2, "z", 4, "If", 5, message(1, "then",
				6, message(1, message(1, "ghost", 2, "q", 4, "Exp")))))},
		{"sparse", "sparse initializer", model(15, message(1, message()))},
		{"a circle", `node "p" (Add) depends on its own output`,
			model(1, message(1, "x", 1, "b", 2, "a", 3, "p", 4, "Add"), 1, message(1, "a", 2, "b", 4, "Exp"))},
		{"its own input", "has a cycle", model(1, message(1, "a", 2, "a", 4, "Exp"))},
		{"two makers", `"y" has a value already`, model(1, message(1, "x", 2, "y", 3, "second", 4, "Exp"))},
		{"a maker of an input", `"x" has a value already`, model(1, message(2, "x", 4, "Constant"))},
		{"initializers of one name", `initializer "t"`,
			model(5, message(8, "t", 2, 1, 9, words(1)), 5, message(8, "t", 2, 1, 9, words(1)))},
		{"initializer without a name", `initializer ""`, model(5, message(2, 1, 9, words(1)))},
		{"inputs of one name", `input "x"`, model(11, message(1, "x"))},
		{"input from nowhere", `node "q" (Exp): input "ghost"`, model(1, message(1, "ghost", 2, "z", 3, "q", 4,
			"Exp"))},
		{"output from nowhere", `output "ghost"`, model(12, message(1, "ghost"))},
		{"no operator", `node "q" () has no operator`, model(1, message(1, "x", 2, "z", 3, "q"))},
		{"attribute twice", `attribute "axis" occurs twice`,
			model(1, message(1, "x", 2, "z", 4, "Op", 5, message(1, "axis", 3, 1), 5, message(1, "axis", 3, 1)))},
		{"attribute of a tensor without one", `attribute "value": its type is tensor`,
			model(1, message(2, "z", 4, "Op", 5, message(1, "value", 20, 4)))},
		{"2 GiB that are not there", "asks for 2147483648", tensor(1, packed(1<<20, 512), 2, 1, 9, words(1))},
		{"a shape that overflows", "is impossible", tensor(1, packed(1<<40, 1<<40, 1<<40), 2, 1, 9, words(1))},
		{"a shape that overflows to 0", "is impossible", tensor(1, packed(1<<32, 1<<32), 2, 1)},
		{"a negative side", "negative side", tensor(1, -1, 2, 1, 9, words(1))},
		{"too many bytes", "8 bytes, but shape [1]", tensor(1, 1, 2, 1, 9, words(1, 2))},
		{"type 0", "UNDEFINED", tensor(1, 1, 9, words(1))},
		{"complex", "COMPLEX64", tensor(1, 1, 2, 14, 9, words(1, 2))},
		{"float8", "type 17", tensor(1, 1, 2, 17, 9, []byte{1})},
		{"a segment", "segment", tensor(1, 1, 2, 1, 3, message(1, 0))},
		{"bytes that are no floats", "not a whole number of values", tensor(1, 1, 2, 1, 4, []byte{1, 2, 3})},
		{"a varint without an end", "field 7", tensor(1, 1, 2, 7, 7, []byte{0xff, 0xff})},
		{"a number for a text", "another kind", message(2, 5)},
		{"outside, nowhere", "does not name", tensor(1, 1, 2, 1, 14, 1)},
		{"outside, in memory", `the file "w.bin" beside the model`,
			tensor(1, 1, 2, 1, 14, 1, 13, message(1, "location", 2, "w.bin"))},
		{"a tensor that goes wrong behind its location", "another kind",
			tensor(1, 1, 2, 1, 14, 1, 13, message(1, "location", 2, "w.bin"), 13, 1.0)},
		{"outside, a bad offset", `offset "-4"`, tensor(1, 1, 2, 1, 14, 1, 13, message(1, "offset", 2, "-4"))},
	} {
		_, err := Parse(c.data)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// A model cut anywhere is an error or, between two of its last parts, a smaller model.
func TestTruncatedModels(t *testing.T) {
	data := encode(t, small())
	for n := range data {
		m, err := Parse(data[:n:n])
		if err == nil && (n < len(data)-60 || len(m.Graph.Nodes) != 2) {
			t.Errorf("%d of %d bytes are a model", n, len(data))
		}
	}
}

// Empty messages of two bytes become structures of a hundred and more: their
// memory is counted. Messages are followed to a depth, and functions that call others many
// times are not expanded without end.
func TestCountsKeepToTheLimit(t *testing.T) {
	limit(t, 16<<20)
	for name, field := range map[string][]byte{
		"nodes": message(1, []byte{}), "initializers": message(5, message(8, "t", 2, 1)),
		"inputs": message(11, []byte{}), "attributes": message(1, bytes.Repeat(message(5, []byte{}), 1<<12)),
		"names":   message(1, bytes.Repeat(message(1, ""), 1<<12)),
		"shapes":  message(5, message(1, bytes.Repeat([]byte{0}, maxSides), 2, 1)),
		"numbers": message(1, message(5, message(8, bytes.Repeat([]byte{1}, 1<<14)))),
		"sides":   message(11, message(2, message(1, message(2, bytes.Repeat(message(1, []byte{}), 1<<12))))),
	} {
		graph := bytes.Repeat(field, 4<<20/len(field))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse(message(7, graph))
		runtime.ReadMemStats(&after)
		var e *budget.Error
		if !errors.As(err, &e) && (err == nil || !strings.Contains(err.Error(), "bytes, but shape")) {
			t.Errorf("%s: error %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 200<<20 {
			t.Errorf("%s: %d MiB were taken", name, took>>20)
		}
	}
	deep := []byte{}
	for range 3000 {
		deep = message(6, message(1, message(5, deep)))
	}
	_, err := Parse(model(1, message(1, "x", 2, "z", 4, "If", 5, append(message(1, "then"), deep...))))
	if err == nil || !strings.Contains(err.Error(), "nested more than 16 deep") {
		t.Errorf("deep nesting: %v", err)
	}
	bomb := model(1, message(1, "x", 2, "z", 4, "f0", 7, "own"))
	for k := range 12 {
		call := message(1, "a", 4, fmt.Sprintf("f%d", k+1), 7, "own")
		bomb = append(bomb, message(25, message(1, fmt.Sprintf("f%d", k), 4, "a", 5, "b", 10, "own",
			7, message(1, "a", 2, "b", 4, "Exp"), 7, call, 7, call, 7, call, 7, call))...)
	}
	var e *budget.Error
	if _, err := Parse(bomb); !errors.As(err, &e) {
		t.Errorf("functions that call each other four times: %v", err)
	}
}

// outsideModel is a model of one tensor of 4 floats in another file.
func outsideModel(lines ...string) []byte {
	fields := []any{8, "t", 1, 4, 2, 1, 14, 1}
	for i := 0; i < len(lines); i += 2 {
		fields = append(fields, 13, message(1, lines[i], 2, lines[i+1]))
	}
	return model(5, message(fields...))
}

func TestWeightsInOtherFiles(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "model")
	if err := errors.Join(
		os.MkdirAll(filepath.Join(inner, "sub"), 0o777),
		os.WriteFile(filepath.Join(dir, "secret"), words(9, 9, 9, 9), 0o666),
		os.WriteFile(filepath.Join(inner, "w.bin"), words(0, 1, 2, 3, 4, 5), 0o666),
		os.WriteFile(filepath.Join(inner, "sub", "w.bin"), words(1, 2, 3, 4), 0o666),
		os.Symlink(filepath.Join("..", "secret"), filepath.Join(inner, "link")),
		os.Symlink("w.bin", filepath.Join(inner, "inside")),
	); err != nil {
		t.Skip(err) // a system without symbolic links
	}
	path := filepath.Join(inner, "m.onnx")
	read := func(lines ...string) ([]float64, error) {
		t.Helper()
		if err := os.WriteFile(path, outsideModel(lines...), 0o666); err != nil {
			t.Fatal(err)
		}
		m, err := Read(path)
		if err != nil {
			return nil, err
		}
		return m.Graph.Initializers[0].float64s()
	}
	for _, c := range []struct {
		lines []string
		want  []float64
	}{
		{[]string{"location", "sub/w.bin"}, []float64{1, 2, 3, 4}},
		{[]string{"location", "w.bin", "offset", "8"}, []float64{2, 3, 4, 5}},
		{[]string{"location", "w.bin", "offset", "4", "length", "16"}, []float64{1, 2, 3, 4}},
		{[]string{"location", "inside", "length", "16", "checksum", "x"}, []float64{0, 1, 2, 3}},
	} {
		got, err := read(c.lines...)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.lines, got, err, c.want)
		}
	}
	for _, c := range []struct {
		want  string
		lines []string
	}{
		{"leaves the model's folder", []string{"location", "../secret"}},
		{"leaves the model's folder", []string{"location", "sub/../../secret"}},
		{"leaves the model's folder", []string{"location", filepath.Join(dir, "secret")}},
		{"leaves the model's folder", []string{"location", "/dev/zero"}},
		{"escapes", []string{"location", "link"}},
		{"get that file too", []string{"location", "none.bin"}},
		{"a folder, not a regular file", []string{"location", "sub"}},
		{"24 bytes", []string{"location", "w.bin"}},
		{"truncated", []string{"location", "w.bin", "offset", "12", "length", "16"}},
		{"truncated", []string{"location", "w.bin", "offset", "9223372036854775807", "length", "16"}},
		{"0 bytes", []string{"location", "w.bin", "offset", "9223372036854775807"}},
	} {
		got, err := read(c.lines...)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `tensor "t"`) {
			t.Errorf("%s: %v, %v; want an error with %q", c.lines, got, err, c.want)
		}
	}
}

// Empty nodes of two bytes each: what they take while their list grows, and the model's own bytes, fit in
// the limit together.
func TestNodesKeepToTheLimit(t *testing.T) {
	limit(t, 64<<20)
	var e *budget.Error
	nodes := bytes.Repeat(message(1, []byte{}), 400_000)
	if _, err := Parse(message(7, nodes)); !errors.As(err, &e) {
		t.Errorf("400,000 nodes: %v", err)
	}
	limit(t, 1<<20)
	if _, err := Parse(model(4, strings.Repeat("x", 1<<20))); !errors.As(err, &e) {
		t.Errorf("a model as large as the limit: %v", err)
	}
}

// 2 GiB in a file that is mostly a hole: it fits its shape, and the limit refuses it.
func TestLargeWeightsKeepToTheLimit(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "w.bin"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(2<<30), f.Close()); err != nil {
		t.Skip(err)
	}
	data := model(5, message(8, "t", 1, packed(1<<20, 512), 2, 1, 14, 1, 13, message(1, "location", 2, "w.bin")))
	path := filepath.Join(dir, "m.onnx")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	limit(t, 1<<30)
	var e *budget.Error
	if _, err := Read(path); !errors.As(err, &e) || !strings.Contains(err.Error(), `tensor "t"`) {
		t.Errorf("error %v", err)
	}
}

// Whatever the bytes, Parse returns an error or a model that passes Check and is
// written and read again as it is.
func FuzzParse(f *testing.F) {
	var b bytes.Buffer
	if err := small().Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(model(5, message(8, "t", 1, packed(2), 2, 10, 5, packed(1, 2))))
	f.Add(model(1, message(1, "x", 2, "z", 4, "If", 5, message(1, "then_branch", 6, message(2, "inner"), 20, 5))))
	f.Add(outsideModel("location", "w.bin", "offset", "8"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			return
		}
		if err := m.Check(); err != nil {
			t.Fatalf("read, but %v", err)
		}
		for i := range m.Graph.Initializers {
			_, _ = m.Graph.Initializers[i].float64s()
		}
		for i := range m.Graph.Nodes {
			_ = fmt.Sprint(&m.Graph.Nodes[i])
		}
		first := encode(t, m)
		again, err := Parse(first)
		if err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		if second := encode(t, again); !bytes.Equal(first, second) {
			t.Fatal("written twice, other bytes")
		}
	})
}
