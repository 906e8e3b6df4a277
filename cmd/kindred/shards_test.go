//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/kindred-ml/kindred/internal/app/cli/inspect"
)

// writeShards writes the photos of a folder of classes, in its order, as three shards of tar and three
// tables of Parquet, whose metadata name the classes.
func writeShards(t *testing.T, dir, tars, tables string) {
	t.Helper()
	type picture struct {
		Bytes []byte `parquet:"bytes,optional"`
	}
	type row struct {
		Image picture `parquet:"image"`
		Label int64   `parquet:"label"`
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.png"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var classes []string
	for _, f := range files {
		if c := filepath.Base(filepath.Dir(f)); len(classes) == 0 || classes[len(classes)-1] != c {
			classes = append(classes, c)
		}
	}
	names, err := json.Marshal(classes)
	if err != nil {
		t.Fatal(err)
	}
	meta := fmt.Sprintf(`{"info": {"features": {"label": {"names": %s, "_type": "ClassLabel"}}}}`, names)
	for s := range 3 {
		var shard, table bytes.Buffer
		w := tar.NewWriter(&shard)
		p := pq.NewGenericWriter[row](&table, pq.KeyValueMetadata("huggingface", meta), pq.PageBufferSize(500))
		for i, f := range files[s*len(files)/3 : (s+1)*len(files)/3] {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			class := filepath.Base(filepath.Dir(f))
			for _, m := range [][2]string{{".png", string(b)}, {".cls", class}} {
				if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%06d%s", i, m[0]), Size: int64(len(m[1])),
					Mode: 0o644}); err != nil {
					t.Fatal(err)
				}
				fmt.Fprint(w, m[1])
			}
			label := 0
			for classes[label] != class {
				label++
			}
			if _, err := p.Write([]row{{picture{b}, int64(label)}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		writeBytes(t, filepath.Join(tars, fmt.Sprintf("set-%06d.tar", s)), shard.Bytes())
		writeBytes(t, filepath.Join(tables, fmt.Sprintf("set-%05d-of-00003.parquet", s)), table.Bytes())
	}
}

// TestShards: photos in shards give the network, the embeddings, the items and the description of those in a folder.
func TestShards(t *testing.T) {
	dir := writePhotos(t)
	t.Chdir(t.TempDir())
	writeShards(t, dir, "tar", "parquet")
	trainNetwork(t, dir)
	runProgram(t, "embed run "+dir+" --out F.npy")
	runProgram(t, "index create run "+dir+" --out F")
	for kind, label := range map[string]string{"tar": "cls", "parquet": "label"} {
		var info inspect.Report
		kindredJSON(t, &info, "data", "info", kind)
		if info.Samples != 18 || len(info.Labels) != 1 || info.Labels[0].Column != label ||
			info.Labels[0].Classes[0].Name != "c0" {
			t.Errorf("%s: %+v", kind, info)
		}
		runProgram(t, "train --data "+kind+" --out run-"+kind+" --set train.epochs=1 --set network.name=mlp "+
			"--set network.width=8 --set data.split=images:0.3")
		checkSame(t, "run/model.safetensors", filepath.Join("run-"+kind, "model.safetensors"))
		runProgram(t, "embed run "+kind+" --out "+kind+".npy")
		checkSame(t, "F.npy", kind+".npy")
		runProgram(t, "embed run "+kind+" --out "+kind+"-queue.npy --queue queue --shard 1")
		checkSame(t, "F.npy", kind+"-queue.npy")
		runProgram(t, "index create run "+kind+" --out ix-"+kind)
		vectors := map[string]string{}
		for id, it := range readItems(t, "F") {
			vectors[fmt.Sprint(it.Vector, it.Columns["label"])] = id
		}
		items := readItems(t, "ix-"+kind)
		for id, it := range items {
			key := fmt.Sprint(it.Vector, it.Columns["label"])
			if vectors[key] == "" {
				t.Errorf("%s is no item of the folder", id)
			}
			delete(vectors, key)
		}
		if len(items) != 18 || len(vectors) > 0 {
			t.Errorf("%s: %d items, and not %v", kind, len(items), vectors)
		}
	}
	shard := filepath.Join("tar", "set-000001.tar")
	b, err := os.ReadFile(shard)
	if err != nil {
		t.Fatal(err)
	}
	writeBytes(t, shard, b[:5*512+20]) // in the content of its third member
	for _, line := range []string{"data info tar", "embed run tar --out cut.npy", "index create run tar --out cut",
		"train --data tar --out run-cut"} {
		code, _, stderr := runArgs(t, strings.Fields(line)...)
		if code != exitFailure || !strings.Contains(stderr, shard+": truncated: ") ||
			!strings.Contains(stderr, "000001.png") {
			t.Errorf("%s: status %d: %s", line, code, stderr)
		}
	}
}
