package embedding_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/parquet"
	"github.com/kindred-ml/kindred/matrix"
)

// Vectors with the names and labels of their items, written and read again.
func Example() {
	dir, err := os.MkdirTemp("", "embedding")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "E.npz") // or .safetensors, .csv

	err = embedding.Write(path, &embedding.Table{
		X:       matrix.FromSlice(3, 2, []float32{1, 0, 0.8, 0.6, 0, 1}),
		Files:   []string{"a.jpg", "b.jpg", "c.jpg"},
		Columns: []embedding.Column{{Name: "label", Text: []string{"cat", "cat", "dog"}}},
	})
	if err != nil {
		panic(err)
	}
	t, err := embedding.Load(path, "", []string{"label"})
	if err != nil {
		panic(err)
	}
	labels, names := t.NamedLabels()
	for i, file := range t.Files {
		fmt.Println(file, t.X.Row(i), names[0][labels[0][i]])
	}
	// Output:
	// a.jpg [1 0] cat
	// b.jpg [0.8 0.6] cat
	// c.jpg [0 1] dog
}

// A table from a stream; the Parquet library is linked because it is asked for.
func ExampleDecode() {
	csv := "path,label,embedding_0,embedding_1\na.jpg,7,0.5,1\nb.jpg,9,-1,2\n"
	t, err := embedding.Decode(embedding.CSV, strings.NewReader(csv))
	if err != nil {
		panic(err)
	}
	fmt.Println(t.Rows(), "rows,", t.X.Cols, "numbers each, labels", t.Labels()[0])

	files := embedding.Formats{parquet.Format{}}
	fmt.Println(files.Extensions())
	// Output:
	// 2 rows, 2 numbers each, labels [7 9]
	// [.npy .npz .safetensors .csv .parquet]
}
