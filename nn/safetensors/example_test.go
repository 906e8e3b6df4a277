package safetensors_test

import (
	"bytes"
	"fmt"

	"github.com/kindred-ml/kindred/nn/safetensors"
)

// Example writes two tensors and reads them again.
func Example() {
	f := &safetensors.File{
		Tensors: []safetensors.Tensor{
			safetensors.Float32("fc.weight", []int{2, 3}, []float32{1, 2, 3, 4, 5, 6}),
			safetensors.Int64("epoch", nil, []int64{7}),
		},
		Meta: map[string]string{"network": "example"},
	}
	var file bytes.Buffer
	if err := f.Write(&file); err != nil {
		fmt.Println(err)
		return
	}
	back, err := safetensors.Parse(file.Bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range back.Tensors {
		fmt.Println(t.Name, t.DType, t.Shape)
	}
	values, err := back.Tensor("fc.weight").Float32s()
	fmt.Println(values, err, back.Meta["network"])
	// Output:
	// fc.weight F32 [2 3]
	// epoch I64 []
	// [1 2 3 4 5 6] <nil> example
}
