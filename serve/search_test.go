package serve

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// TestSums: pictures, words, items and vectors are added up and subtracted, each of unit length. Items that are an
// added term are left out on request.
func TestSums(t *testing.T) {
	s := newServer(t, Options{Collections: []Collection{
		{Name: "things", Store: newFilledStore(t, 20), Embedder: &colourEmbedder{}, TextEmbedder: colourTexts{},
			HasUnitLength: true,
			Calibration:   calibrateSpots(t)},
		{Name: "far", Store: newFilledStore(t, 2)}}})
	do := &caller{t: t, s: s, contract: newContract(t)}
	image, second := encodePNG(t, plainPicture(20, 20, red)), string(encodePNG(t, plainPicture(20, 20, blue)))
	half := float32(math.Sqrt(0.5))
	for name, c := range map[string]struct {
		answer *answer
		want   []float32
	}{
		"words and an item": {do.json("POST", "/v1/search", map[string]any{"vectors": true, "terms": []any{
			map[string]any{"text": "green"}, map[string]any{"id": "red/000"}}}), []float32{half, half, 0}},
		"a difference": {do.json("POST", "/v1/search", map[string]any{"vectors": true, "terms": []any{
			map[string]any{"vector": []int{7, 0, 0}}, map[string]any{"id": "blue/000", "minus": true}}}),
			[]float32{half, 0, -half}},
		"pictures": {do.form("POST", "/v1/search", image, "image", second, "vectors", "true", "terms",
			`[{"picture": 1}, {"picture": 0, "minus": true}]`), []float32{-half, 0, half}},
	} {
		var found api.Found
		c.answer.want(t, 200).into(t, &found)
		for i, v := range c.want {
			if len(found.Vector) != 3 || math.Abs(float64(found.Vector[i]-v)) > 1e-6 {
				t.Errorf("%s: the vector is %v, want %v", name, found.Vector, c.want)
			}
		}
		if len(found.Neighbours) != 10 || found.Neighbours[0].MatchProbability != nil {
			t.Errorf("%s: %+v", name, found.Neighbours)
		}
	}
	var found api.Found
	do.json("POST", "/v1/search", map[string]any{"except_itself": true, "k": 60, "terms": []any{map[string]any{
		"id": "red/000"}, map[string]any{"vector": []int{0, 1, 0}}, map[string]any{"id": "blue/000", "minus": true}}}).
		want(t, 200).into(t, &found)
	slices.Sort(found.QueryIDs)
	if !slices.Equal(found.QueryIDs, []string{"green/000", "red/000"}) || len(found.Neighbours) != 58 {
		t.Errorf("left out %v, %d neighbours", found.QueryIDs, len(found.Neighbours))
	}
	do.form("POST", "/v1/explain", image, "terms", `[{"picture": 0}, {"text": "green"}]`).want(t, 200)
	for terms, want := range map[string]string{
		`[]`: "0 terms", `[{}]`: "terms[0] has 0", `[{"id": "red/000", "text": "red"}]`: "terms[0] has 2",
		`[{"picture": 0}]`: "the form has 0 pictures", `[{"picture": -1}]`: "terms[0] has the picture -1",
		`[{"id": "red/000"}, {"id": "red/000", "minus": true}]`:           `"terms: the sum is zero`,
		`[{"vector": [0, 0, 0]}]`:                                         `"terms[0] has no direction`,
		`[{"id": "red/000"}, {"vector": [1]}]`:                            `"terms[1] has 1 numbers, and red/000 has 3`,
		`[` + strings.Repeat(`{"text": "red"},`, 16) + `{"text": "red"}]`: "17 terms",
	} {
		a := do.do("POST", "/v1/search", "application/json", fmt.Appendf(nil, `{"terms": %s}`, terms)).want(t, 422,
			"invalid")
		if !strings.Contains(string(a.body), want) {
			t.Errorf("%s: no %q in %s", terms, want, a.body)
		}
	}
	do.json("POST", "/v1/search", map[string]any{"id": "red/000", "terms": []any{map[string]any{"id": "red/000"}}}).
		want(t, 422, "invalid")
	do.json("POST", "/v1/search", map[string]any{"least": 0.5, "terms": []any{map[string]any{"id": "red/000"}}}).
		want(t, 422, "invalid")
	do.json("POST", "/v1/search?collection=far", map[string]any{"terms": []any{map[string]any{"id": "red/000"}}}).
		want(t, 422, "invalid")
	do.form("POST", "/v1/search", image, "image", second).want(t, 400, "bad_request")
	do.form("POST", "/v1/search", image, "terms", `[{"text": "red"}]`).want(t, 422, "invalid")
	do.form("POST", "/v1/search", image, "terms", `[{"picture": 0}`).want(t, 400, "bad_request")
}

// TestArranged: neighbours are grouped, collapsed, diversified and re-ranked; a form says the same as JSON.
func TestArranged(t *testing.T) {
	s := newServer(t, Options{})
	do := &caller{t: t, s: s, contract: newContract(t)}
	ask := func(more map[string]any) (found api.Found) {
		t.Helper()
		more["vector"] = []float32{1, 0, 0}
		do.json("POST", "/v1/explain", more).want(t, 200)
		do.json("POST", "/v1/search", more).want(t, 200).into(t, &found)
		return found
	}
	nearest := ask(map[string]any{"k": 3}).Neighbours
	groups := ask(map[string]any{"group_by": "label", "others": 2, "columns": []string{"price"}}).Neighbours
	if len(groups) != 3 || groups[0].ID != nearest[0].ID || groups[0].Count != 20 || len(groups[0].Others) != 2 ||
		groups[0].Others[0].ID != nearest[1].ID || groups[0].Label != "red" || len(groups[0].Others[1].Columns) != 1 ||
		groups[0].Others[1].Vector != nil {
		t.Errorf("groups: %+v", groups)
	}
	copies := ask(map[string]any{"collapse": 0.0501, "k": 2}).Neighbours
	if copies[0].Count != 6 || copies[0].Others != nil || copies[1].ID != "red/006" {
		t.Errorf("copies: %+v", copies)
	}
	if got := ask(map[string]any{"diverse": 0.9, "k": 3}).Neighbours; got[0].ID != nearest[0].ID ||
		got[1].Label == "red" || got[1].Label == got[2].Label {
		t.Errorf("diverse: %+v", got)
	}
	for _, rerank := range []string{"alpha-qe", "k-reciprocal"} {
		got := ask(map[string]any{"rerank": rerank, "explain": true})
		byScore := slices.IsSortedFunc(got.Neighbours, func(a, b api.Neighbour) int {
			return cmp.Compare(*a.Score, *b.Score)
		})
		if !byScore || got.Explain == nil || !strings.Contains(strings.Join(got.Explain.Steps, "; "), rerank) {
			t.Errorf("%s: %+v", rerank, got)
		}
	}
	form := do.form("POST", "/v1/search", encodePNG(t, plainPicture(20, 20, red)), "group_by", "label", "others",
		"2", "columns",
		"price", "diverse", "0.2", "collapse", "0.001", "rerank", "alpha-qe", "explain", "true").want(t, http.StatusOK)
	var sent, said api.Found
	form.into(t, &sent)
	said = ask(map[string]any{"group_by": "label", "others": 2, "columns": []string{"price"}, "diverse": 0.2,
		"collapse": 0.001, "rerank": "alpha-qe", "explain": true})
	if fmt.Sprint(idsOf(sent.Neighbours)) != fmt.Sprint(idsOf(said.Neighbours)) || len(sent.Explain.Steps) != 5 {
		t.Errorf("a form: %+v, %+v; JSON: %+v", idsOf(sent.Neighbours), sent.Explain, idsOf(said.Neighbours))
	}
	for name, value := range map[string]any{"group_by": "colour", "collapse": -1, "others": 2, "diverse": 1,
		"rerank": "magic"} {
		a := do.json("POST", "/v1/search", map[string]any{"vector": []float32{1, 0, 0}, name: value}).
			want(t, 422, "invalid")
		if !strings.Contains(string(a.body), name) {
			t.Errorf("%s %v: %s", name, value, a.body)
		}
	}
	do.form("POST", "/v1/search", encodePNG(t, plainPicture(9, 9, red)), "others", "many").want(t, 400, "bad_request")
}

// idsOf lists the ids of neighbours and of those that they stand for.
func idsOf(near []api.Neighbour) (ids []string) {
	for _, n := range near {
		ids = append(append(ids, n.ID), idsOf(n.Others)...)
	}
	return ids
}

// countingStore counts how often it is asked for its description, which takes a database a while.
type countingStore struct {
	*storetest.Memory
	asked int
}

func (d *countingStore) Info(ctx context.Context) (store.Info, error) {
	d.asked++
	return d.Memory.Info(ctx)
}

// A request asks a store for its description once.
func TestOneDescription(t *testing.T) {
	m := &countingStore{Memory: newFilledStore(t, 2)}
	do := &caller{t: t, s: newServer(t, Options{Collections: []Collection{{Name: "things", Store: m}}})}
	for _, path := range []string{"/v1/search", "/v1/explain"} {
		m.asked = 0
		do.json("POST", path, api.Search{Vector: []float32{0, 1, 0}, Explain: true}).want(t, 200)
		if m.asked != 1 {
			t.Errorf("%s asks %d times", path, m.asked)
		}
	}
}
