package torchfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/nlpodyssey/gopickle/types"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// Before version 1.6 torch.save wrote five pickles in a row, then the values:
//
//	a magic number | the protocol | the machine | the object | the storages' keys
//	for each key: the number of values, 8 bytes | the values
const (
	legacyMagic = "\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19." // after two bytes that give pickle's version
	legacyParts = 5
)

// isLegacy reports whether a file begins like that.
func isLegacy(r io.ReaderAt) bool {
	var head [2 + len(legacyMagic)]byte
	_, err := r.ReadAt(head[:], 0)
	return (err == nil || errors.Is(err, io.EOF)) && head[0] == 0x80 && string(head[2:]) == legacyMagic
}

// parseLegacy is Parse for such a file.
func parseLegacy(r io.ReaderAt, size int64) (*safetensors.File, error) {
	programs, end, err := legacyPrograms(r, size)
	if err != nil {
		return nil, err
	}
	if err := budget.Check("torch file: its pickles", budget.Product(end, pickleGrowth)); err != nil {
		return nil, err
	}
	machine, err := unpickle(programs[2], findClass, loadStorage)
	if err != nil {
		return nil, fmt.Errorf("torch file: %w", err)
	}
	if m, ok := dictEntries(machine); !ok || !slices.ContainsFunc(m, func(e types.DictEntry) bool {
		return e.Key == "little_endian" && e.Value == true
	}) {
		return nil, errors.New("torch file: written on a machine that is not little-endian")
	}
	used := map[string]*storage{} // by key
	top, err := unpickle(programs[3], findClass, func(id any) (any, error) {
		v, err := loadStorage(id)
		if err != nil {
			return nil, err
		}
		s := v.(*storage)
		if u := used[s.key]; u != nil && *u != *s {
			return nil, fmt.Errorf("storage %q is described in two ways", s.key)
		}
		used[s.key] = s
		return s, nil
	})
	if err != nil {
		return nil, fmt.Errorf("torch file: %w", err)
	}
	keys, err := unpickle(programs[4], findClass, loadStorage)
	if err != nil {
		return nil, fmt.Errorf("torch file: %w", err)
	}
	a := &archive{size: size, storages: map[string][]byte{}, loaded: end}
	at, err := storageOffsets(r, size, end, keys, used)
	if err != nil {
		return nil, fmt.Errorf("torch file: %w", err)
	}
	a.fetch = func(key string) ([]byte, error) {
		from, ok := at[key]
		if !ok {
			return nil, fmt.Errorf("the file has no storage %q", key)
		}
		n := int64(used[key].count) * int64(used[key].dtype.Size())
		a.loaded += n
		if err := a.check(); err != nil {
			return nil, err
		}
		data := make([]byte, n)
		if _, err := io.ReadFull(io.NewSectionReader(r, from, n), data); err != nil {
			return nil, err
		}
		return data, nil
	}
	return a.collectTensors(top)
}

// storageOffsets goes through the storages from byte at on, in the order of their keys, and
// returns where the values of each lie.
func storageOffsets(r io.ReaderAt, size, at int64, keys any, used map[string]*storage) (map[string]int64, error) {
	list, ok := keys.(*types.List)
	if !ok {
		return nil, errors.New("no list of storages")
	}
	places := map[string]int64{}
	for i := range list.Len() {
		key, _ := list.Get(i).(string)
		s := used[key]
		if _, twice := places[key]; s == nil || twice {
			return nil, fmt.Errorf("storage %q is listed twice, or belongs to no tensor", key)
		}
		var count [8]byte
		if _, err := r.ReadAt(count[:], at); err != nil {
			return nil, fmt.Errorf("storage %q: %w", key, err)
		}
		at += 8
		if n := binary.LittleEndian.Uint64(count[:]); s.count < 0 || n != uint64(s.count) {
			return nil, fmt.Errorf("storage %q holds %d values and is described as one of %d", key, n, s.count)
		}
		width := int64(s.dtype.Size())
		if int64(s.count) > (size-at)/width {
			return nil, fmt.Errorf("storage %q reaches beyond the end of the file: truncated", key)
		}
		places[key] = at
		at += int64(s.count) * width
	}
	return places, nil
}

// legacyPrograms reads the pickles and returns where they end. How long they are is
// known only from going through them, so that more of the file is read until all
// are there.
func legacyPrograms(r io.ReaderAt, size int64) (programs [][]byte, end int64, err error) {
	for n := int64(64 << 10); ; n *= 4 {
		n = min(n, size, maxPickle)
		if err := budget.Check("torch file: its pickles", n); err != nil {
			return nil, 0, err
		}
		head := make([]byte, n)
		if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		programs, end = nil, 0
		for len(programs) < legacyParts {
			length, err := checkProgram(head[end:])
			if err != nil && n < min(size, maxPickle) {
				break // once more, with more of it
			} else if err != nil {
				return nil, 0, fmt.Errorf("torch file: %w", err)
			}
			programs = append(programs, head[end:end+int64(length)])
			end += int64(length)
		}
		if len(programs) == legacyParts {
			return programs, end, nil
		}
	}
}
