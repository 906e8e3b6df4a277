package eval

import (
	"encoding/json"
	"slices"
	"testing"
)

// Metrics and their kinds are text in a configuration or a result.
func TestMetricsAsText(t *testing.T) {
	type doc struct {
		Metrics []Metric
		Kind    Kind
	}
	text := `{"Metrics":["recall@1","map@r","map","map@5","nmi","nmi-geometric+30","ndcg"],"Kind":"mrr"}`
	var d doc
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	want := []Metric{{Kind: Recall, K: 1}, {Kind: MAPAtR}, {Kind: MAP}, {Kind: MAPAtK, K: 5}, {Kind: NMI, Factor: 1},
		{Kind: NMIGeometric, Factor: 30}, {Kind: NDCG}}
	if !slices.Equal(d.Metrics, want) || d.Kind != MRR {
		t.Errorf("%+v", d)
	}
	if b, err := json.Marshal(d); err != nil || string(b) != text {
		t.Errorf("%s, %v", b, err)
	}
	for _, bad := range []string{`{"Metrics":["recall"]}`, `{"Metrics":["recall@0"]}`, `{"Metrics":[""]}`,
		`{"Kind":"x"}`,
		`{"Kind":""}`} {
		if err := json.Unmarshal([]byte(bad), &d); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
	for _, m := range []Metric{{}, {Kind: Recall}, {Kind: "x"}, {Kind: NMI, K: 3}} {
		if b, err := m.MarshalText(); err == nil {
			t.Errorf("%+v was written as %q", m, b)
		}
	}
}
