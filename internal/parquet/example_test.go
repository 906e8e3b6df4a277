package parquet_test

import (
	"bytes"
	"fmt"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/parquet"
	"github.com/kindred-ml/kindred/matrix"
)

func Example() {
	var file bytes.Buffer
	err := parquet.Format{}.Write(&file, &embedding.Table{
		X:     matrix.FromSlice(2, 3, []float32{1, 2, 3, 4, 5, 6}),
		Files: []string{"a.jpg", "b.jpg"},
	})
	if err != nil {
		panic(err)
	}
	t, err := parquet.Format{}.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		panic(err)
	}
	fmt.Println(t.Files, t.X.Data)
	// Output: [a.jpg b.jpg] [1 2 3 4 5 6]
}
