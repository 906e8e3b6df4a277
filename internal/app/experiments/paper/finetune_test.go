package paper

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/test/refdata"
	"github.com/kindred-ml/kindred/train"
)

// groupsRule is data.label for groups of related birds.
func groupsRule(t *testing.T) string {
	t.Helper()
	d, err := parsedDefinitions()
	if err != nil || d.groups["related birds"] == "" {
		t.Fatal(err)
	}
	return d.groups["related birds"]
}

// neighboursRule is data.label for a hundred classes in groups of k that follow each other.
func neighboursRule(k int) string {
	var groups []string
	for i := 1; i <= 100; i += k {
		groups = append(groups, fmt.Sprintf("%d-%d", i, min(i+k-1, 100)))
	}
	return "groups:" + strings.Join(groups, "|")
}

// TestBirdGroups checks that every species of cub100 is in one group, and that
// both halves of the species have most groups.
func TestBirdGroups(t *testing.T) {
	d, err := data.Open(t.Context(), refdata.Path(t, "data", "cub100"), data.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	all := strings.FieldsFunc(strings.TrimPrefix(groupsRule(t), "groups:"),
		func(r rune) bool { return r == ',' || r == '|' })
	slices.Sort(all)
	species, err := d.Labels("fine")
	if err != nil {
		t.Fatal(err)
	}
	if want := slices.Sorted(slices.Values(species.Classes)); !slices.Equal(all, want) {
		t.Errorf("%d species in groups, %d in the set", len(all), len(want))
	}
}

// TestPretrainedIsNamed checks that an experiment with a pretrained start says how to name the
// network.
func TestPretrainedIsNamed(t *testing.T) {
	if _, err := Find("finetune").Config(Options{}); err == nil ||
		!strings.Contains(err.Error(), "network.pretrained=FILE") {
		t.Errorf("%v", err)
	}
	if _, err := Find("cub").Config(Options{Scale: "features"}); err == nil ||
		!strings.Contains(err.Error(), "experiment cub features starts") {
		t.Errorf("one scale of several: %v", err)
	}
	if _, err := Find("cub").Config(Options{}); err != nil {
		t.Errorf("its usual scale starts from scratch: %v", err)
	}
	cfg, err := Find("finetune").Config(Options{Set: []string{"network.pretrained=x.onnx"}})
	if err != nil || cfg.Network.Pretrained != "x.onnx" {
		t.Errorf("%+v, %v", cfg.Network, err)
	}
}

// TestUntrained checks that a run's measures are those of the kept network, and that the arm
// without training has the scores from before training.
func TestUntrained(t *testing.T) {
	r := &Run{Arm: "MS", Seed: 2, Duration: 5,
		History: []train.Epoch{{Metrics: []train.Metric{{Set: "test", Column: "fine", Name: "recall@1",
			Value: 0.5}}}},
		Scores:    []train.Metric{{Set: "test", Column: "fine", Name: "recall@1", Value: 0.75}},
		Untrained: []train.Metric{{Set: "test", Column: "fine", Name: "recall@1", Value: 0.25}},
	}
	m := Measure{Key: "test_recall@1"}
	value := func(r *Run) float64 {
		v, err := r.measureValue(m)
		if err != nil {
			t.Error(err)
		}
		return v
	}
	if v := value(r); v != 75 {
		t.Errorf("kept network: %v", v)
	}
	u := r.asUntrained("Before training")
	if v := value(u); v != 25 || u.Arm != "Before training" || u.Seed != 2 || u.Duration != 0 {
		t.Errorf("%v, %+v", v, u)
	}
	if v := value(r); v != 75 {
		t.Errorf("kept network, afterwards: %v", v)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Run
	if err := json.Unmarshal(text, &again); err != nil || value(&again) != 75 {
		t.Errorf("%v: %s", err, text)
	}
}
