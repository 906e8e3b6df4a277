package run

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/testing/mutations"
)

// TestMutations changes the tables of a run, and the configuration that stands beside them.
func TestMutations(t *testing.T) {
	mutations.Try(t,
		mutations.Reader{Name: "metrics.csv",
			Valid: []string{"epoch,loss,test_recall@1\n1,0.5,\n2,0.25,1\n3,1e-3,0.75\n"},
			Read:  func(text []byte) error { _, err := parseTable(bytes.NewReader(text)); return err }},
		mutations.Reader{Name: "timing.csv",
			Valid: []string{timingHeader + "1,0.500,0.100,40,80.0\n2,0.500,0.100,40,80.0\n"},
			Read:  func(text []byte) error { parseTiming(bytes.NewReader(text), 5); return nil }},
		mutations.Reader{Name: "config.yaml",
			Valid: []string{"data: {name: mnist, size: 28}\neval: {recall: [1, 5]}\n" +
				"loss:\n  name: triplet # of three\n  margin: 0.2\n"},
			Read: func(text []byte) error { _, err := parseSettings(text); return err }})
}

// TestManyMistakes: of more than a hundred the first are listed, and that there are more.
func TestManyMistakes(t *testing.T) {
	text := "train:\n"
	for i := range 5000 {
		text += fmt.Sprintf("  k%d: 1\n", i)
	}
	_, err := Parse("c.yaml", []byte(text))
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != mostMistakes+1 || !strings.HasPrefix(lines[0], `c.yaml:2: unknown key "train.k0"`) ||
		!strings.Contains(lines[mostMistakes], "more mistakes") {
		t.Errorf("%d lines: %.100s ... %s", len(lines), lines[0], lines[len(lines)-1])
	}
}
