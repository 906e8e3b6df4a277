package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/inspect"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
)

// newCameraPhoto is a JPEG file of a picture of its own, whose EXIF block has a model and a time.
func newCameraPhoto(t *testing.T, seed uint64, model, taken string) []byte {
	t.Helper()
	im, err := png.Decode(bytes.NewReader(newNoisePicture(t, seed)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, im, nil); err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	entry := func(b []byte, tag, kind uint16, count, value uint32) []byte {
		return le.AppendUint32(le.AppendUint32(le.AppendUint16(le.AppendUint16(b, tag), kind), count), value)
	}
	const first, exif = 8, 8 + 2 + 2*12 + 4
	const text = exif + 2 + 12 + 4
	b := append([]byte("II*\x00"), first, 0, 0, 0)
	b = le.AppendUint16(b, 2)
	b = entry(b, 0x0110, 2, uint32(len(model)+1), text)
	b = entry(b, 0x8769, 4, 1, exif)
	b = le.AppendUint16(le.AppendUint32(b, 0), 1)
	b = entry(b, 0x9003, 2, uint32(len(taken)+1), text+uint32(len(model)+1))
	b = append(le.AppendUint32(b, 0), model+"\x00"+taken+"\x00"...)
	b = append([]byte("Exif\x00\x00"), b...)
	head := binary.BigEndian.AppendUint16([]byte{0xff, 0xd8, 0xff, 0xe1}, uint16(len(b)+2))
	return bytes.Join([][]byte{head, b, out.Bytes()[2:]}, nil)
}

// When and by what a photo was taken comes along by itself: in data info, tables of
// embeddings, indexes, filters, and groups.
func TestExifComesAlong(t *testing.T) {
	dir := t.TempDir()
	for c := range 2 {
		for i := range 8 {
			writeBytes(t, filepath.Join(dir, fmt.Sprint("c", c), fmt.Sprint(i, ".jpg")),
				newCameraPhoto(t, uint64(10*c+i),
					[]string{"Acme Long Model", "Other Model"}[i%2],
					fmt.Sprintf("2024:0%d:0%d 12:30:0%d", 4+c, 1+i/2, i)))
		}
	}
	var info inspect.Report
	kindredJSON(t, &info, "data", "info", dir)
	if e := info.Images.Exif; e == nil || e.Taken != 16 || e.First != "2024-04-01T12:30:00" ||
		e.Last != "2024-05-04T12:30:07" || len(e.Cameras) != 2 || e.Cameras[0].Count != 8 {
		t.Errorf("%+v", info.Images.Exif)
	}
	if text := mustRun(t, "data", "info", dir); !strings.Contains(text, "EXIF: 16 have a time "+
		"(2024-04-01T12:30:00 to 2024-05-04T12:30:07), 0 have a place; 2 cameras") {
		t.Error(text)
	}
	home := t.TempDir()
	runDir, table, ix := filepath.Join(home, "run"), filepath.Join(home, "E.csv"), filepath.Join(home, "x.index")
	text := mustRun(t, "train", "--data", dir, "--out", runDir, "--set", "data.split=images:0.3", "--set",
		"train.epochs=1", "--set", "network.name=mlp", "--set", "network.width=8", "--set", "data.group=taken")
	config, err := os.ReadFile(filepath.Join(runDir, "config.yaml"))
	if err != nil || !strings.Contains(string(config), "group: taken") {
		t.Errorf("%v\n%s", err, text)
	}
	mustRun(t, "embed", "--run", runDir, "--data", dir, "--out", table)
	if b, err := os.ReadFile(table); err != nil || !strings.Contains(string(b), "2024-05-04T12:30:07") ||
		!strings.Contains(string(b), "Acme Long Model") || strings.Contains(string(b), "place") {
		t.Errorf("%v\n%s", err, b)
	}
	mustRun(t, "index", "create", "--run", runDir, "--data", dir, "--out", ix)
	var got lookup.Results
	kindredJSON(t, &got, "index", "search", ix, "--id", "c0/0.jpg", "--neighbours", "16", "--filter",
		`taken >= 2024-05-01 and taken < 2024-05-02`)
	if n := got.Queries[0].Neighbours; len(n) != 2 || n[0].Columns["taken"].(string)[:10] != "2024-05-01" {
		t.Errorf("%+v", n)
	}
	// A photo of another day in the same place.
	writeBytes(t, filepath.Join(dir, "c0", "0.jpg"), newCameraPhoto(t, 77, "Third Model", "2025:01:01 00:00:00"))
	mustRun(t, "index", "sync", dir, "--index", ix)
	if it := readItems(t, ix)["c0/0.jpg"]; it.Columns["camera"] != "Third Model" ||
		it.Columns["taken"] != "2025-01-01T00:00:00" {
		t.Errorf("%v", it.Columns)
	}
	for _, group := range []string{"camera", "place"} {
		code, _, stderr := runArgs(t, "train", "--data", dir, "--out", filepath.Join(home, group), "--set",
			"data.split=images:0.3", "--set", "train.epochs=1", "--set", "network.name=mlp", "--set",
			"data.group="+group)
		if ok := group == "camera"; (code == exitOK) != ok || !ok && !strings.Contains(stderr, "no file has it") {
			t.Errorf("%s: status %d: %s", group, code, stderr)
		}
	}
}
