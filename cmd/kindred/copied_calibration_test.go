package main

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/serve/api"
)

// writeGreys writes classes of grey photos, each of a colour of its own, six photos of each.
func writeGreys(t *testing.T, classes int) string {
	t.Helper()
	dir := t.TempDir()
	for c := range classes {
		at := filepath.Join(dir, fmt.Sprint("class", c))
		if err := os.MkdirAll(at, 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			im := image.NewNRGBA(image.Rect(0, 0, 8, 8))
			for k := range 64 {
				im.Set(k%8, k/8, color.NRGBA{uint8(18*c + i), uint8(255 - 15*c + k%5), uint8(k*c + i), 255})
			}
			var b bytes.Buffer
			if err := png.Encode(&b, im); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(at, fmt.Sprintf("%d.png", i)), b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// TestCalibrationIsCarried: the calibration of a run goes with its network into an index,
// to a server and beside an exported file, and is refused wherever the network, the
// preparation or the distance is another one.
//
// Long: what comes of one run, in order.
func TestCalibrationIsCarried(t *testing.T) {
	_, run := searchRun(t)
	dir, other := writeGreys(t, 13), t.TempDir()
	ix, onnx := filepath.Join(other, "photos.index"), filepath.Join(other, "net.onnx")
	must := func(args ...string) string {
		t.Helper()
		code, out, stderr := runArgs(t, args...)
		if code != exitOK {
			t.Fatalf("%v: %s", args, stderr)
		}
		return out
	}
	must("calibrate", run, "--data", dir)
	must("index", "create", "--run", run, "--data", dir, "--out", ix)
	must("export", run, "--out", onnx)
	must("export", run, "--out", filepath.Join(other, "model.safetensors"))
	card, err := os.ReadFile(filepath.Join(other, "README.md"))
	if err != nil || !strings.Contains(string(card), "72 photos of 13 classes") &&
		!strings.Contains(string(card), "78 photos of 13 classes") {
		t.Errorf("the card says nothing of decisions: %v %s", err, card)
	}
	photo := filepath.Join(dir, "class3", "2.png")
	for _, args := range [][]string{{"search", photo, "--index", ix}, {"search", photo, "--run", run, "--in", dir},
		{"search", photo, "--network", onnx, "--in", dir, "--distance", "euclidean"}} {
		if out := must(args...); !strings.Contains(out, "the same: ") {
			t.Errorf("%v: %.300s", args, out)
		}
	}
	sheet := filepath.Join(other, "sheet")
	must("search", photo, "--run", run, "--in", dir, "--out", sheet, "--least", "0.001")
	page, err := os.ReadFile(filepath.Join(sheet, "search.html"))
	if err != nil || !strings.Contains(strings.ReplaceAll(string(page), "\u00a0", " "), "the same: ") ||
		strings.Contains(string(page), "distance 0.") {
		t.Errorf("the sheet does not say how likely neighbours are the same: %v", err)
	}
	must("identify", photo, "--network", onnx, "--in", dir, "--fpir", "0.5")
	// The exported file is the same network, and a calibration of another one is refused.
	foreign, err := decide.Load(filepath.Join(other, "net.calibration.json"))
	if err != nil {
		t.Fatal(err)
	}
	foreign.Source.Fingerprint = "k1:99"
	if err := foreign.Save(filepath.Join(other, "foreign.json")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"net.calibration.json": exitOK, "foreign.json": exitFailure} {
		code, _, stderr := runArgs(t, "identify", photo, "--run", run, "--in", dir, "--fpir", "0.5", "--calibration",
			filepath.Join(other, name))
		if code != want || strings.Contains(stderr, "another network") != (want != exitOK) {
			t.Errorf("%s: status %d, %s", name, code, stderr)
		}
	}
	s, stop := startServe(t, ix)
	client, err := api.NewClient(s.URL, api.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(photo)
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.IdentifyPictures(t.Context(), [][]byte{file}, api.Identify{FPIR: 0.5})
	if err != nil || got.Photos != 1 || got.Classes != 13 {
		t.Errorf("%+v: %v", got, err)
	}
	for _, gallery := range [][]string{{"--index", ix}, {"--run", run, "--in", dir}} { // the photo is an item
		var all lookup.Decisions
		runJSON(t, &all, append([]string{"identify", photo, "--fpir", "0.5"}, gallery...)...)
		q := all.Queries[0].Identification
		if q.Query, q.PhotoIDs, got.PhotoIDs = "", nil, nil; q.Answer != api.AnswerPicture ||
			q.Label != filepath.Base(filepath.Dir(photo)) || !reflect.DeepEqual(q, got.Identification) {
			t.Errorf("%v: %+v, the server: %+v", gallery, q, got.Identification)
		}
	}
	found, err := client.SearchPicture(t.Context(), file, api.Search{MinProbability: 0.01})
	if err != nil || len(found.Neighbours) == 0 || found.Neighbours[0].MatchProbability == nil {
		t.Errorf("%+v: %v", found, err)
	}
	stop()
	// One that is for something else.
	at := filepath.Join(ix, decide.FileName)
	c, err := decide.Load(at)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []struct {
		change func(*decide.Calibration)
		want   string
	}{
		{func(c *decide.Calibration) { c.Source.Fingerprint = "k1:0123" }, "another network"},
		{func(c *decide.Calibration) { c.Distance = 1 }, "distance"},
	} {
		changed := *c
		e.change(&changed)
		if err := changed.Save(at); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"identify", photo, "--index", ix},
			{"search", photo, "--index", ix, "--least", "0.5"}} { // serve goes on without it
			if code, _, stderr := runArgs(t, args...); code == exitOK || !strings.Contains(stderr, e.want) {
				t.Errorf("%v: status %d, %s, want %s", args, code, stderr, e.want)
			}
		}
	}
	// A run that was trained again does not hand its old calibration on.
	stale, err := decide.Load(filepath.Join(run, decide.FileName))
	if err != nil {
		t.Fatal(err)
	}
	stale.Source.Fingerprint = "k1:0123"
	if err := stale.Save(filepath.Join(run, decide.FileName)); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := runArgs(t, "export", run, "--out", onnx)
	if code != exitOK || !strings.Contains(stderr, "is not copied") {
		t.Errorf("status %d, %s", code, stderr)
	}
	if _, err := os.Stat(filepath.Join(other, "net.calibration.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a calibration of the network before stays beside the new one: %v", err)
	}
}
