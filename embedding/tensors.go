package embedding

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/columns"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// parseSafetensors reads a safetensors file by the rules of .npz.
func parseSafetensors(r io.ReaderAt, size int64) (*Table, error) {
	data, err := budget.ReadN("the tensors", io.NewSectionReader(r, 0, size), size)
	if err != nil {
		return nil, err
	}
	f, err := safetensors.Parse(data)
	if err != nil {
		return nil, err
	}
	return tensorTable(f)
}

func tensorTable(f *safetensors.File) (*Table, error) {
	var need int64 // values are widened to 8 bytes at most
	for i := range f.Tensors {
		t := &f.Tensors[i]
		need = budget.Sum(need, budget.Product(8, int64(len(t.Data)/max(1, t.DType.Size()))))
	}
	if err := budget.Check("the tensors", need); err != nil {
		return nil, err
	}
	files, names, err := readMeta(f.Meta)
	if err != nil {
		return nil, err
	}
	var arrays []namedArray
	for i := range f.Tensors {
		t := &f.Tensors[i]
		a := &Array{Shape: t.Shape, DType: string(t.DType)}
		switch t.DType {
		case safetensors.F64, safetensors.F32, safetensors.F16, safetensors.BF16:
			a.Floats, err = t.Float32s()
		default:
			a.Ints, err = integerValues(t)
		}
		if err == nil && names[t.Name] != nil {
			err = a.nameValues(t.Name, names[t.Name])
		}
		if err != nil {
			return nil, err
		}
		arrays = append(arrays, namedArray{t.Name, a})
	}
	if files != nil {
		arrays = append(arrays, namedArray{columns.File, &Array{Shape: []int{len(files)}, Text: files}})
	}
	out, err := assembleTable(arrays)
	if text, ok := f.Meta[MetadataKey]; ok && err == nil {
		if out.Network, err = ParseNetwork([]byte(text)); err != nil {
			return nil, fmt.Errorf("the metadata %s: %w", MetadataKey, err)
		}
	}
	return out, err
}

// integerValues returns the values of an integer tensor.
func integerValues(t *safetensors.Tensor) ([]int64, error) {
	size := t.DType.Size()
	if size == 0 || t.DType[0] != 'I' && t.DType[0] != 'U' && t.DType != "BOOL" {
		return nil, fmt.Errorf("%s holds %s: want floats or integers", t.Name, t.DType)
	}
	out := make([]int64, 0, len(t.Data)/size)
	for d := t.Data; len(d) > 0; d = d[size:] {
		var word [8]byte
		copy(word[:], d[:size])
		v := binary.LittleEndian.Uint64(word[:])
		if t.DType[0] == 'I' {
			shift := 64 - 8*size
			out = append(out, int64(v<<shift)>>shift)
			continue
		}
		if v > 1<<63-1 {
			return nil, fmt.Errorf("%s holds %d, which does not fit in int64", t.Name, v)
		}
		out = append(out, int64(v))
	}
	return out, nil
}
