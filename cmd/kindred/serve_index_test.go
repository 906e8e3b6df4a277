package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/serving"
	"github.com/kindred-ml/kindred/internal/collection/calibrations"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve/api"
)

// pictureForm is a form with a picture and fields: name, value, name, value...
func pictureForm(picture []byte, fields ...string) (kind string, body []byte, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile("image", "photo.png")
	if err == nil {
		_, err = part.Write(picture)
	}
	for i := 0; i+1 < len(fields) && err == nil; i += 2 {
		err = w.WriteField(fields[i], fields[i+1])
	}
	err = errors.Join(err, w.Close())
	return w.FormDataContentType(), b.Bytes(), err
}

// send sends a request, with a picture if there is one, again while changes are paused, and reads its answer.
func send(t *testing.T, method, url string, picture []byte, into any) {
	t.Helper()
	kind, body, err := "", []byte(nil), error(nil)
	if picture != nil {
		kind, body, err = pictureForm(picture)
	}
	for try := 0; err == nil; try++ {
		var r *http.Request
		if r, err = http.NewRequest(method, url, bytes.NewReader(body)); err != nil {
			break
		}
		r.Header.Set("Content-Type", kind)
		var res *http.Response
		if res, err = http.DefaultClient.Do(r); err != nil {
			break
		}
		var text []byte
		text, err = io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode == http.StatusServiceUnavailable && try < 100 {
			continue
		}
		if err == nil && res.StatusCode >= 300 {
			err = fmt.Errorf("%s: %s", res.Status, text)
		}
		if err == nil && into != nil {
			err = json.Unmarshal(text, into)
		}
		break
	}
	if err != nil {
		t.Errorf("%s %s: %v", method, url, err)
	}
}

// TestServeReembed: what a server adds and removes while its index gets another network, and back, is neither lost nor
// kept with a vector of another network.
func TestServeReembed(t *testing.T) {
	dir, ix, runDir := newFollowedIndex(t)
	other := trainWider(t, dir, "12")
	s, stop := startServe(t, ix, "--rate", "-1")
	quit := make(chan struct{})
	var changing sync.WaitGroup
	pictures := map[string][]byte{}
	changing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			default:
			}
			id := fmt.Sprint("upload-", i)
			pictures[id] = newNoisePicture(t, uint64(2e6+i))
			send(t, http.MethodPut, s.URL+"/v1/items/"+id, pictures[id], nil)
			if i%3 == 2 {
				gone := fmt.Sprint("upload-", i-1)
				send(t, http.MethodDelete, s.URL+"/v1/items/"+gone, nil, nil)
				delete(pictures, gone)
			}
		}
	})
	for _, run := range []string{other, runDir, other} {
		mustRun(t, "index", "reembed", ix, "--run", run)
	}
	time.Sleep(2 * serving.PollInterval)
	close(quit)
	changing.Wait()
	for id, file := range pictures {
		var got api.Found
		send(t, http.MethodPost, s.URL+"/v1/search", file, &got)
		if len(got.Neighbours) == 0 || got.Neighbours[0].ID != id || got.Neighbours[0].Distance > 1e-6 {
			t.Fatalf("%s finds %+v", id, got.Neighbours)
		}
	}
	if code, log := stop(); code != exitOK || strings.Contains(log, `"ERROR"`) {
		t.Errorf("status %d: %s", code, log)
	}
	items := readItems(t, ix)
	if len(items) != 18+len(pictures) || len(pictures) < 4 {
		t.Errorf("%d items, want 18 and %d", len(items), len(pictures))
	}
	for id, it := range items {
		if len(it.Vector) != 12 {
			t.Errorf("%s has a vector of %d numbers", id, len(it.Vector))
		}
	}
	mustRun(t, "index", "check", ix)
}

// TestServeReembedFollowing: a server that follows a folder embeds what comes later with the new network, and one that
// is --read-only takes over the new contents. A calibration of the old network is not used, which is said.
func TestServeReembedFollowing(t *testing.T) {
	dir, ix, runDir := newFollowedIndex(t)
	other := trainWider(t, dir, "12")
	log := new(safeBuffer)
	_, stop := startServeWithLog(t, log, ix, "--sync", dir, "--sync-every", "20ms")
	mustRun(t, "index", "reembed", ix, "--run", other)
	waitUntil(t, "the new network", func() bool { return strings.Contains(log.String(), "has another network") })
	writeBytes(t, filepath.Join(dir, "c0", "new.png"), newNoisePicture(t, 1))
	waitUntil(t, "the new photo", func() bool { return len(readItems(t, ix)) == 19 })
	if code, _ := stop(); code != exitOK {
		t.Error(log.String())
	}
	makeOld(t, dir)
	mustRun(t, "index", "sync", dir, "--index", ix)
	checkMirror(t, ix, dir, other)
	calibrateIndex(t, ix)
	s, _ := startServeWithLog(t, log, ix, "--read-only")
	_, stderr := reembedTo(t, ix, runDir)
	if !strings.Contains(stderr, "kindred calibrate "+ix) {
		t.Errorf("no remark about the calibration: %s", stderr)
	}
	waitUntil(t, "the old network", func() bool {
		var info api.Info
		send(t, http.MethodGet, s.URL+"/v1/info", nil, &info)
		c := info.Collections[0]
		return c.Dim != 12 && c.Network == runDir && c.Calibration == nil
	})
	var found api.Found
	send(t, http.MethodPost, s.URL+"/v1/search", newNoisePicture(t, 1), &found)
	if len(found.Neighbours) == 0 || found.Neighbours[0].ID != "c0/new.png" ||
		found.Neighbours[0].MatchProbability != nil {
		t.Errorf("%+v", found)
	}
	if _, err := os.Stat(filepath.Join(ix, oldCalibrationFile)); err != nil {
		t.Error(err)
	}
	calibrateIndex(t, ix)
	if out, _ := reembedTo(t, ix, runDir); !strings.Contains(out, "already") {
		t.Error(out)
	}
	waitUntil(t, "the new calibration", func() bool {
		send(t, http.MethodPost, s.URL+"/v1/search", newNoisePicture(t, 1), &found)
		return len(found.Neighbours) > 0 && found.Neighbours[0].MatchProbability != nil
	})
}

// reembedTo re-embeds an index and returns what is printed.
func reembedTo(t *testing.T, ix, run string) (out, stderr string) {
	t.Helper()
	code, out, stderr := runArgs(t, "index", "reembed", ix, "--run", run)
	if code != exitOK {
		t.Fatal(stderr)
	}
	return out, stderr
}

// calibrateIndex gives an index a calibration of its network.
func calibrateIndex(t *testing.T, ix string) {
	t.Helper()
	x, err := index.Open(ix, index.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	in := x.Info()
	const classes, each = 30, 4
	rows, labels := matrix.New(classes*each, in.Dim), make([]int64, classes*each)
	for i := range labels {
		labels[i] = int64(i / each)
		rows.Row(i)[i/each%in.Dim], rows.Row(i)[(i/each+1)%in.Dim] = float32(i/each+1), float32(i%each)
	}
	c, err := decide.Calibrate(t.Context(), rows, labels, decide.Options{Seed: 1, Distance: in.Distance,
		Source: in.Network.Network})
	if err == nil {
		err = c.Save(calibrations.Path(ix, true))
	}
	if err != nil {
		t.Fatal(err)
	}
}
