package refdata

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the cases
	"encoding/json"
	"testing"
)

// compressed is the file that cases/make_cases.py writes.
//
//go:embed cases/cases.json.gz
var compressed []byte

// Cases are reference values in the repository. cases/make_cases.py computed them in
// double precision; it shares no code with kindred.
type Cases struct {
	Batches    map[string]Batch
	Losses     []LossCase
	Retrieval  []RetrievalCase
	Clustering []ClusteringCase
}

// Batch is a set of rows of Dim numbers. IDs, if set, are the identities of the rows:
// rows with equal identities are the same item and never form a pair.
type Batch struct {
	Dim    int
	X      []float32
	Labels []int64
	IDs    []int64
}

// LossCase is a loss on a batch. Config holds the keys of objective.ParseFlat. Params
// are the loss's parameters, if it has any, one after the other. The gradients are
// with respect to the given rows of the batch, and to Params.
type LossCase struct {
	Config    map[string]any
	Batch     string
	Value     float64
	Terms     int
	Grad      []float64
	Params    []float32
	ParamGrad []float64 `json:"param_grad"`
}

// RetrievalCase is the ranking of a set against itself or a gallery.
type RetrievalCase struct {
	Name, Distance    string
	Dim               int
	X                 []float32
	Labels            []int64
	Gallery           []float32
	GalleryLabels     []int64 `json:"gallery_labels"`
	Queries, Excluded int
	Metrics           map[string]float64
}

// ClusteringCase is the agreement of two labelings of the same items.
type ClusteringCase struct {
	Name              string
	Classes, Clusters []int64
	Scores            map[string]float64
}

// ReadCases reads the repository's own cases. It fails the test if there are few, because a
// test without cases would pass.
func ReadCases(t testing.TB) *Cases {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	var c Cases
	if err := json.NewDecoder(r).Decode(&c); err != nil {
		t.Fatal(err)
	}
	if len(c.Batches) < 10 || len(c.Losses) < 300 || len(c.Retrieval) < 10 || len(c.Clustering) < 10 {
		t.Fatalf("only %d batches, %d losses, %d rankings, %d clusterings", len(c.Batches), len(c.Losses),
			len(c.Retrieval), len(c.Clustering))
	}
	return &c
}
