package serve

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve/api"
)

// colourTexts embeds the names of colours, not of unit length.
type colourTexts struct{}

func (colourTexts) Embed(_ context.Context, texts []string) (*matrix.Dense, error) {
	x := matrix.New(len(texts), 3)
	for i, text := range texts {
		for c, name := range []string{"red", "green", "blue"} {
			if strings.Contains(text, name) {
				x.Row(i)[c] = 5
			}
		}
		if text == "broken" {
			return nil, errors.New("the tower is broken")
		}
	}
	return x, nil
}

// TestWords: words find what their embedding is near to, and a collection without them says why.
func TestWords(t *testing.T) {
	contract := newContract(t)
	s := newServer(t, Options{Collections: []Collection{
		{Name: "things", Store: newFilledStore(t, 20), Embedder: &colourEmbedder{}, Calibration: calibrateSpots(t),
			TextEmbedder: colourTexts{}},
		{Name: "mute", Store: newFilledStore(t, 2), NoTextReason: "it was trained"},
		{Name: "empty", Store: &storetest.Memory{Dim: 3}}}})
	do := &caller{t: t, s: s, contract: contract}
	for _, path := range []string{"/v1/search", "/v1/explain"} {
		ask := func(more map[string]any) *answer { return do.json("POST", path, more) }
		got := ask(map[string]any{"text": "a green thing", "k": 3, "vectors": true})
		got.want(t, 200)
		var found api.Found
		if err := json.Unmarshal(got.body, &found); err != nil || len(found.Neighbours) != 3 {
			t.Fatal(string(got.body), err)
		}
		for _, n := range found.Neighbours {
			if !strings.HasPrefix(n.ID, "green/") || n.MatchProbability != nil {
				t.Errorf("%s: %+v", path, n)
			}
		}
		if v := found.Vector; path == "/v1/search" && (len(v) != 3 || v[1] != 1 || v[0] != 0) {
			t.Errorf("vector %v: not of unit length", v)
		}
		ask(map[string]any{"text": "green", "id": "red/001"}).want(t, 422, "invalid")
		ask(map[string]any{"text": "green", "vector": []float32{1, 0, 0}}).want(t, 422, "invalid")
		ask(map[string]any{"text": "  "}).want(t, 422, "invalid")
		ask(map[string]any{"text": strings.Repeat("x", 5000)}).want(t, 422, "invalid")
		ask(map[string]any{"text": "green", "least": 0.5}).want(t, 422, "invalid")
		ask(map[string]any{"text": "broken"}).want(t, 500, "internal")
		if got := do.json("POST", path+"?collection=mute", map[string]any{"text": "green"}); got.StatusCode != 422 ||
			!strings.Contains(string(got.body), "mute cannot be searched by words: it was trained") {
			t.Error(string(got.body))
		}
		if got := do.json("POST", path+"?collection=empty", map[string]any{"text": "green"}); got.StatusCode != 422 ||
			!strings.Contains(string(got.body), "empty cannot be searched by words: it has no text tower") {
			t.Error(string(got.body))
		}
	}
	var info api.Info
	if got := do.get("/v1/info"); json.Unmarshal(got.body, &info) != nil || !info.Collections[0].Words ||
		info.Collections[1].Words {
		t.Error(string(got.body))
	}
}
