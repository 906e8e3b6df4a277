package split

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/test/refdata"
)

func realDataset(t *testing.T, name string) *data.Dataset {
	t.Helper()
	d, err := data.Open(t.Context(), name, data.OpenOptions{Home: filepath.Dir(refdata.Path(t, "data", name))})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The papers' parts of real sets have their published sizes.
func TestRealMNISTByParity(t *testing.T) {
	d := realDataset(t, "mnist")
	s, err := Select(t.Context(), d, Selection{Label: "parity", Fine: "digit", TrainClasses: "0-5", TestClasses: "6-9"})
	if err != nil {
		t.Fatal(err)
	}
	// LeCun's counts per digit: 5923 6742 5958 6131 5842 5421 in training; the
	// test files hold 958 1028 974 1009 of digits 6 to 9.
	if s.Train.Len() != 36017 || s.Query.Len() != 3969 || s.Query != s.Gallery || s.Seen.Len() != 6031 {
		t.Errorf("%d to train, %d to test, %d seen", s.Train.Len(), s.Query.Len(), s.Seen.Len())
	}
	for i, fine := range s.Train.Fine {
		if s.Train.Label[i] != fine%2 {
			t.Fatalf("digit %d is labelled %s", fine, s.Train.LabelClasses[s.Train.Label[i]])
		}
	}
}

func TestRealOmniglotOfficial(t *testing.T) {
	d := realDataset(t, "omniglot")
	s, err := Select(t.Context(), d, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	// The official sizes: 964 and 659 characters, 20 drawings each.
	if s.Train.Len() != 19280 || s.Query.Len() != 13180 || len(s.Train.LabelClasses) != 50 {
		t.Errorf("%d to train, %d to test", s.Train.Len(), s.Query.Len())
	}
}

func TestRealCUB100Halves(t *testing.T) {
	d := realDataset(t, "cub100")
	byRange, err := Select(t.Context(), d, Selection{TrainClasses: "1-50", TestClasses: "51-100"})
	if err != nil {
		t.Fatal(err)
	}
	usual, err := Select(t.Context(), d, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(byRange.Train.Index, usual.Train.Index) || !slices.Equal(byRange.Query.Index, usual.Query.Index) {
		t.Error("the usual split is not classes 1-50 against 51-100")
	}
}
