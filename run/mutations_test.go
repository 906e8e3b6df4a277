package run

import (
	"bytes"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/mutations"
)

// TestMutations changes the tables of a run, and the configuration that stands beside them.
func TestMutations(t *testing.T) {
	mutations.Try(t,
		mutations.Reader{Name: "metrics.csv",
			Valid: []string{"epoch,loss,test_recall@1\n1,0.5,\n2,0.25,1\n3,1e-3,0.75\n"},
			Read:  func(text []byte) error { _, err := parseTable(bytes.NewReader(text)); return err }},
		mutations.Reader{Name: "config.yaml",
			Valid: []string{"data: {name: mnist, size: 28}\neval: {recall: [1, 5]}\n" +
				"loss:\n  name: triplet # of three\n  margin: 0.2\n"},
			Read: func(text []byte) error { _, err := parseSettings(text); return err }})
}
