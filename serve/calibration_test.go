package serve

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// unknownNetwork is the network of vectors that say nothing about it.
func unknownNetwork(*decide.Calibration) (embedding.Network, error) { return embedding.Network{}, nil }

// TestCalibrationFile: a calibration that is made while the server runs holds from then on,
// and another one after it; one for other distances changes nothing and is in the log, and a
// removed one is gone.
func TestCalibrationFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), decide.FileName)
	file, err := OpenCalibration(path, unknownNetwork, "euclidean", 3)
	if err != nil {
		t.Fatal(err)
	}
	m := &storetest.Memory{Dim: 3}
	x, labels := drawSpots(100, 120)
	for i, l := range labels {
		it := store.Item{ID: fmt.Sprint(i), Vector: x.Row(i), Columns: map[string]any{"label": fmt.Sprint("spot ", l)}}
		if err := m.Put(t.Context(), []store.Item{it}, store.Insert); err != nil {
			t.Fatal(err)
		}
	}
	var log strings.Builder
	s := newServer(t, Options{Collections: []Collection{{Name: "spots", Store: m, CalibrationFile: file}},
		Log: slog.New(slog.NewTextHandler(&log, nil))})
	do := &caller{t: t, s: s, contract: newContract(t)}
	ask := func() *answer {
		t.Helper()
		s.collections[0].CalibrationFile.lastLook = time.Time{} // as if a second had gone by
		return do.json("POST", "/v1/identify", api.Identify{IDs: []string{"0"}})
	}
	ask().want(t, 422, "invalid")
	c := calibrateSpots(t)
	if err := c.Save(path); err != nil {
		t.Fatal(err)
	}
	var first, second api.Identified
	ask().want(t, 200).into(t, &first)
	if first.Label != "spot 100" || first.Probability < 0.5 {
		t.Errorf("%+v", first)
	}
	// Another one, by which distances mean half as much, and labels are likelier.
	c.Score.Weights[0]++
	for k := range c.Score.Folds {
		c.Score.Folds[k][0]++
	}
	for _, of := range [][]float64{c.Distances, c.Curve.Distance} {
		for i := range of {
			of[i] *= 2
		}
	}
	if err := c.Save(path); err != nil {
		t.Fatal(err)
	}
	ask().want(t, 200).into(t, &second)
	if second.NeededProbability <= first.NeededProbability {
		t.Errorf("a label takes %g, and took %g before", second.NeededProbability, first.NeededProbability)
	}
	text := string(do.get("/metrics").want(t, 200).body)
	for _, want := range []string{`kindred_identified_total{collection="spots",unknown="false"} 2`,
		`kindred_nearest_distance_count{collection="spots"} 1`} { // whose buckets are those of the second
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	c.Dim, c.Score = 4, nil
	if err := c.Save(path); err != nil {
		t.Fatal(err)
	}
	var third api.Identified
	ask().want(t, 200).into(t, &third)
	if third.NeededProbability != second.NeededProbability ||
		!strings.Contains(log.String(), "is for embeddings of 4 numbers") {
		t.Errorf("%+v: %s", third, log.String())
	}
	if _, err := OpenCalibration(path, unknownNetwork, "euclidean", 3); err == nil {
		t.Error("a server began with a calibration for other distances")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	ask().want(t, 422, "invalid")
}
