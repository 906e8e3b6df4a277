// Package torchfile reads the tensors of state dicts written by PyTorch's
// torch.save (.pth, .pt): a zip archive of a pickle, which names the tensors,
// and their values; or, before PyTorch 1.6, several pickles in a row and the
// values after them. Of a TorchScript program (torch.jit.save), as CLIP is
// published, it reads the tensors of the modules, without the code.
//
// Unpickling in Python can run any code. Here nothing runs: the pickle may use
// the few instructions that tensors in dictionaries need, and name only the
// classes of tensors, parameters and ordered dictionaries, or a program's modules,
// which become their attributes; anything else is an
// error that says what was found. Sizes are checked against the file's before
// memory is allocated.
package torchfile

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/nlpodyssey/gopickle/types"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/zipfile"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// maxPickle bounds the pickle, which holds names and shapes but no values.
const maxPickle = 64 << 20

// pickleGrowth is about how much more memory the objects of a pickle take than its
// instructions. Most instructions are a byte long.
const pickleGrowth = 64

// wrappers are the keys under which checkpoints keep the state dict, in the
// order in which they are tried.
var wrappers = [...]string{"state_dict", "model_state_dict", "model", "net", "network", "ema_state_dict", "teacher",
	"student"}

// Read returns the tensors of the state dict in the file, under its names and
// in its order. If the file holds a checkpoint with the state dict under one of
// the usual keys ("state_dict", "model", ...), that is taken; entries that are
// not tensors are left out.
func Read(path string) (*safetensors.File, error) {
	f, size, err := fileinfo.OpenSized(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := Parse(f, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Parse is Read for a file of the given size that is open already.
func Parse(r io.ReaderAt, size int64) (*safetensors.File, error) {
	if isLegacy(r) {
		return parseLegacy(r, size)
	}
	z, err := zipfile.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("not a file of torch.save: %w", err)
	}
	a := &archive{size: size, entries: map[string]*zip.File{}, storages: map[string][]byte{}}
	a.fetch = func(key string) ([]byte, error) { return a.read("data/" + key) }
	for _, f := range z.File {
		// "name/data.pkl" and "name/data/0", whatever the name.
		_, inner, _ := strings.Cut(f.Name, "/")
		if _, twice := a.entries[inner]; twice {
			return nil, fmt.Errorf("torch file: entry %q occurs twice", f.Name)
		}
		a.entries[inner] = f
	}
	if order, err := a.read("byteorder"); err == nil && string(order) != "little" {
		return nil, fmt.Errorf("torch file: byte order %q; only little is supported", order)
	}
	if f := a.entries["data.pkl"]; f != nil && f.UncompressedSize64 > maxPickle {
		return nil, fmt.Errorf("torch file: a pickle of %d bytes; at most %d are allowed", f.UncompressedSize64,
			maxPickle)
	}
	program, err := a.read("data.pkl")
	if err != nil {
		return nil, err
	}
	if err := budget.Check("torch file: its pickle", budget.Product(int64(len(program)), pickleGrowth)); err != nil {
		return nil, err
	}
	classes := findClass
	if a.entries["constants.pkl"] != nil {
		classes = findInScript
	}
	top, err := unpickle(program, classes, loadStorage)
	if err != nil {
		return nil, fmt.Errorf("torch file: %w", err)
	}
	if m, ok := top.(*module); ok {
		left := len(program) // no object takes less than an instruction
		if top, err = m.flatten("", 0, &left); err != nil {
			return nil, fmt.Errorf("torch file: %w", err)
		}
	}
	return a.collectTensors(top)
}

// archive is the zip file. The memory that a hostile one can ask for is bounded
// by its size: entries lie in it uncompressed, storages together take no more,
// and tensors no more than expand times it.
type archive struct {
	size     int64
	entries  map[string]*zip.File
	fetch    func(key string) ([]byte, error) // a storage
	storages map[string][]byte
	loaded   int64
	expanded int64
}

// check compares what was read and what tensors take with the limit.
func (a *archive) check() error {
	return budget.Check("torch file: its tensors", budget.Sum(a.loaded, a.expanded))
}

// maxExpansion allows for tensors that share a storage.
const maxExpansion = 8

// read returns an entry, which must not be compressed: torch.save never does.
func (a *archive) read(name string) ([]byte, error) {
	f := a.entries[name]
	if f == nil {
		return nil, fmt.Errorf("torch file: the archive has no %s", path.Join("*", name))
	}
	if f.Method != zip.Store || f.UncompressedSize64 != f.CompressedSize64 {
		return nil, fmt.Errorf("torch file: %s is compressed; torch.save does not do that", f.Name)
	}
	at, err := f.DataOffset()
	if err != nil {
		return nil, fmt.Errorf("torch file: %s: %w", f.Name, err)
	}
	if f.UncompressedSize64 > uint64(a.size) || at+int64(f.UncompressedSize64) > a.size {
		return nil, fmt.Errorf("torch file: %s reaches beyond the end of the file: truncated", f.Name)
	}
	if a.loaded += int64(f.UncompressedSize64); a.loaded > a.size {
		return nil, fmt.Errorf("torch file: entries overlap: together they are larger than the file")
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("torch file: %s: %w", f.Name, err)
	}
	defer r.Close()
	data := make([]byte, f.UncompressedSize64)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, fmt.Errorf("torch file: %s: %w", f.Name, err)
	}
	// Reading on to the end makes the zip reader compare the checksum.
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("torch file: %s: %w", f.Name, err)
	}
	return data, nil
}

// collectTensors takes the tensors out of the unpickled top object.
func (a *archive) collectTensors(top any) (*safetensors.File, error) {
	entries, ok := dictEntries(top)
	if !ok {
		return nil, fmt.Errorf("torch file: holds %s, not a dictionary of tensors; save model.state_dict()",
			describe(top))
	}
	for _, key := range wrappers {
		i := slices.IndexFunc(entries, func(e types.DictEntry) bool { return e.Key == key })
		if i < 0 {
			continue
		}
		if inner, ok := dictEntries(entries[i].Value); ok {
			entries = inner
			break
		}
	}
	f := &safetensors.File{}
	seen := map[string]bool{}
	for _, e := range entries {
		name, isName := e.Key.(string)
		t, isTensor := e.Value.(*tensor)
		if !isName || !isTensor {
			continue
		}
		if seen[name] {
			return nil, fmt.Errorf("torch file: tensor %q occurs twice", name)
		}
		seen[name] = true
		data, err := a.gatherTensor(t)
		if err != nil {
			return nil, fmt.Errorf("torch file: tensor %q: %w", name, err)
		}
		f.Tensors = append(f.Tensors, safetensors.Tensor{Name: name, DType: t.storage.dtype, Shape: t.size, Data: data})
	}
	if len(f.Tensors) == 0 {
		return nil, errors.New("torch file: no tensors in its dictionary")
	}
	return f, nil
}

// dictEntries lists the entries of either kind of dictionary.
func dictEntries(v any) ([]types.DictEntry, bool) {
	switch d := v.(type) {
	case *types.Dict:
		return *d, true
	case *types.OrderedDict:
		var all []types.DictEntry
		for e := d.List.Front(); e != nil; e = e.Next() {
			entry := e.Value.(*types.OrderedDictEntry)
			all = append(all, types.DictEntry{Key: entry.Key, Value: entry.Value})
		}
		return all, true
	}
	return nil, false
}

func describe(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case *tensor:
		return "one tensor"
	case *types.List, *types.Tuple:
		return "a list"
	}
	return fmt.Sprintf("a %T", v)
}

// gatherTensor copies a tensor out of its storage into row-major order.
func (a *archive) gatherTensor(t *tensor) ([]byte, error) {
	s := t.storage
	raw, ok := a.storages[s.key]
	if !ok {
		var err error
		if raw, err = a.fetch(s.key); err != nil {
			return nil, err
		}
		a.storages[s.key] = raw
	}
	width := s.dtype.Size()
	if len(raw)/width < s.count || s.count < 0 {
		return nil, fmt.Errorf("its storage has %d bytes, not %d values of %s", len(raw), s.count, s.dtype)
	}
	n, err := safetensors.ShapeSize(t.size)
	if err != nil {
		return nil, err
	}
	if n > s.count {
		return nil, fmt.Errorf("shape %v has more values than its storage of %d", t.size, s.count)
	}
	if n == 0 {
		return nil, nil
	}
	last := t.offset
	for i, d := range t.size {
		if t.stride[i] < 0 || d > 1 && t.stride[i] > s.count {
			return nil, fmt.Errorf("stride %v does not fit its storage of %d values", t.stride, s.count)
		}
		last += (d - 1) * t.stride[i]
		if t.offset < 0 || t.offset >= s.count || last >= s.count {
			return nil, fmt.Errorf("shape %v with stride %v from %d reaches beyond its storage of %d values", t.size,
				t.stride, t.offset, s.count)
		}
	}
	if t.offset < 0 || last >= s.count {
		return nil, fmt.Errorf("it starts at %d in a storage of %d values", t.offset, s.count)
	}
	if a.expanded += int64(n * width); a.expanded > maxExpansion*a.size {
		return nil, fmt.Errorf("tensors share storages more than %d times over", maxExpansion)
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	out := make([]byte, 0, n*width)
	at := make([]int, len(t.size))
	from := t.offset
	for {
		out = append(out, raw[from*width:(from+1)*width]...)
		i := len(at) - 1
		for ; i >= 0; i-- {
			at[i]++
			from += t.stride[i]
			if at[i] < t.size[i] {
				break
			}
			from -= at[i] * t.stride[i]
			at[i] = 0
		}
		if i < 0 {
			return out, nil
		}
	}
}

// ReadWeights reads a safetensors file or one of torch.save, told apart by
// their content, for zoo.Import.
func ReadWeights(path string) (*safetensors.File, error) {
	f, err := fileinfo.Open(path)
	if err != nil {
		return nil, err
	}
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	legacy := isLegacy(f)
	f.Close()
	if err == nil && string(magic[:]) == "PK\x03\x04" || legacy {
		return Read(path)
	}
	return safetensors.Read(path)
}
