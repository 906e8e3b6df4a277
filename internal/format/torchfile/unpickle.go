package torchfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/nlpodyssey/gopickle/pickle"
	"github.com/nlpodyssey/gopickle/types"

	"github.com/kindred-ml/kindred/nn/safetensors"
)

// storage is where tensors keep their values: an entry of the archive.
type storage struct {
	dtype safetensors.DType
	key   string
	count int
}

// tensor is a view of a storage, sizes and strides in values.
type tensor struct {
	storage      *storage
	offset       int
	size, stride []int
}

// unpickle runs the program over the classes that are known; load resolves its storages.
// The library panics on some malformed programs (bytes as a dictionary's key, for
// one); that becomes an error here.
func unpickle(program []byte, classes func(module, name string) (any, error), load func(id any) (any, error)) (top any,
	err error) {
	if _, err := checkProgram(program); err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			top, err = nil, fmt.Errorf("malformed pickle: %v", r)
		}
	}()
	u := pickle.NewUnpickler(bytes.NewReader(program))
	u.FindClass = classes
	u.PersistentLoad = load
	top, err = u.Load()
	if err != nil {
		return nil, fmt.Errorf("malformed pickle: %w", err)
	}
	return top, nil
}

// storageClass is a typed storage's class; it only marks the type.
type storageClass safetensors.DType

// callable is a function that a pickle may call.
type callable func(args []any) (any, error)

// Call implements types.Callable.
func (c callable) Call(args ...any) (any, error) { return c(args) }

func findClass(module, name string) (any, error) {
	switch module + "." + name {
	case "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor":
		return callable(rebuildTensor), nil
	case "torch._utils._rebuild_parameter":
		return callable(rebuildParameter), nil
	case "torch.FloatStorage":
		return storageClass(safetensors.F32), nil
	case "torch.DoubleStorage":
		return storageClass(safetensors.F64), nil
	case "torch.HalfStorage":
		return storageClass(safetensors.F16), nil
	case "torch.BFloat16Storage":
		return storageClass(safetensors.BF16), nil
	case "torch.LongStorage":
		return storageClass(safetensors.I64), nil
	case "torch.IntStorage":
		return storageClass("I32"), nil
	case "torch.ShortStorage":
		return storageClass("I16"), nil
	case "torch.CharStorage":
		return storageClass("I8"), nil
	case "torch.ByteStorage":
		return storageClass("U8"), nil
	case "torch.BoolStorage":
		return storageClass("BOOL"), nil
	}
	return nil, fmt.Errorf("it names the class %s.%s, which is neither a tensor nor a dictionary; save "+
		"model.state_dict() alone", module, name)
}

// loadStorage resolves ("storage", class, key, location, count). Files from before
// PyTorch 1.6 add a view of the storage, which nobody used: None.
func loadStorage(id any) (any, error) {
	t, ok := id.(*types.Tuple)
	if !ok || t.Len() != 5 && !(t.Len() == 6 && t.Get(5) == nil) || t.Get(0) != "storage" {
		return nil, errors.New("a persistent id that is not a storage")
	}
	class, ok1 := t.Get(1).(storageClass)
	key, ok2 := t.Get(2).(string)
	count, ok3 := t.Get(4).(int)
	if !ok1 || !ok2 || !ok3 {
		return nil, errors.New("a malformed storage")
	}
	return &storage{safetensors.DType(class), key, count}, nil
}

// rebuildTensor takes (storage, offset, size, stride, requires_grad, hooks, ...).
func rebuildTensor(args []any) (any, error) {
	if len(args) < 4 {
		return nil, fmt.Errorf("a tensor of %d arguments", len(args))
	}
	s, ok1 := args[0].(*storage)
	offset, ok2 := args[1].(int)
	size, ok3 := ints(args[2])
	stride, ok4 := ints(args[3])
	if !ok1 || !ok2 || !ok3 || !ok4 || len(size) != len(stride) {
		return nil, errors.New("a malformed tensor")
	}
	return &tensor{s, offset, size, stride}, nil
}

// rebuildParameter takes (tensor, requires_grad, hooks).
func rebuildParameter(args []any) (any, error) {
	if len(args) > 0 {
		if t, ok := args[0].(*tensor); ok {
			return t, nil
		}
	}
	return nil, errors.New("a malformed parameter")
}

func ints(v any) ([]int, bool) {
	t, ok := v.(*types.Tuple)
	if !ok {
		return nil, false
	}
	out := make([]int, t.Len())
	for i := range out {
		if out[i], ok = t.Get(i).(int); !ok {
			return nil, false
		}
	}
	return out, true
}

// lines stands for two lines of text among operands.
const lines = 100

// operands says what follows a pickle instruction: its number of bytes, or, as
// a negative number, the width of a length that so many bytes follow.
// Instructions that are not listed are refused.
var operands = map[byte]int{
	0x80: 1, 0x95: 8, // protocol, frame
	'}': 0, ']': 0, ')': 0, '(': 0, 't': 0, 0x85: 0, 0x86: 0, 0x87: 0, // containers
	's': 0, 'u': 0, 'a': 0, 'e': 0, '0': 0, '1': 0,
	'X': -4, 0x8c: -1, 0x8d: -8, 'U': -1, 'T': -4, 'B': -4, 'C': -1, // text
	'J': 4, 'K': 1, 'M': 2, 0x8a: -1, 'G': 8, 'N': 0, 0x88: 0, 0x89: 0, // numbers
	'q': 1, 'r': 4, 'h': 1, 'j': 4, 0x94: 0, // memory
	'c': lines, 0x93: 0, 'R': 0, 0x81: 0, 'b': 0, 'Q': 0, // classes, calls, storages
	'.': 0,
}

// checkProgram goes through the instructions without executing them, refuses those that
// state dicts do not need and lengths beyond the program's end, and returns the
// program's length.
func checkProgram(p []byte) (int, error) {
	for at := 0; at < len(p); {
		op := p[at]
		n, known := operands[op]
		if !known {
			return 0, fmt.Errorf("malformed pickle: instruction 0x%02x at byte %d is not one that tensors need", op, at)
		}
		at++
		if op == '.' {
			return at, nil
		}
		var length uint64
		switch {
		case n == lines:
			for range 2 {
				i := bytes.IndexByte(p[at:], '\n')
				if i < 0 {
					return 0, errors.New("malformed pickle: truncated")
				}
				at += i + 1
			}
			continue
		case n < 0:
			if len(p)-at < -n {
				return 0, errors.New("malformed pickle: truncated")
			}
			var word [8]byte
			copy(word[:], p[at:at-n])
			length = binary.LittleEndian.Uint64(word[:])
			at -= n
		default:
			length = uint64(n)
		}
		if length > uint64(len(p)-at) {
			return 0, fmt.Errorf("malformed pickle: %d bytes at byte %d: truncated", length, at)
		}
		if op == 0x95 { // a frame holds instructions: go through them
			if binary.LittleEndian.Uint64(p[at:]) > uint64(len(p)-at-8) {
				return 0, errors.New("malformed pickle: a frame beyond the end")
			}
		}
		at += int(length)
	}
	return 0, errors.New("malformed pickle: no end")
}
