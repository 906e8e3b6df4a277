package torchfile_test

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/format/torchfile"
)

// ExampleRead lists the tensors of a state dict that torch.save wrote.
func ExampleRead() {
	f, err := torchfile.Read("testdata/state.pth")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range f.Tensors {
		fmt.Println(t.Name, t.DType, t.Shape)
	}
	// Output:
	// conv1.weight F32 [2 3 2 2]
	// bn1.num_batches_tracked I64 []
	// transposed F32 [3 2]
	// view F32 [2 4]
	// half F16 [2]
	// bfloat16 BF16 [1]
	// double F64 [1]
	// empty F32 [0 3]
	// scalar F32 []
}
