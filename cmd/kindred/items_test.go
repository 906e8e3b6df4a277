package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/itemsource"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/test/storetest"
)

// writeBoxedPhotos writes six pictures with a cat on the left and a dog on the right, and a manifest of both
// with prices. It goes to an empty folder with a run that was trained on them.
func writeBoxedPhotos(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	rows := []string{"path,label,x_1,y_1,x_2,y_2,price"}
	for i := range 6 {
		im := image.NewGray(image.Rect(0, 0, 16, 8))
		for k := range im.Pix {
			side := uint8(100 * (k % 16 / 8))
			im.Pix[k] = side + uint8((k*k*(i+3)+7*i)%90)
		}
		var b bytes.Buffer
		if err := png.Encode(&b, im); err != nil {
			t.Fatal(err)
		}
		writeBytes(t, fmt.Sprintf("bx/%d.png", i), b.Bytes())
		rows = append(rows, fmt.Sprintf("%d.png,cat,0,0,8,8,%d", i, i), fmt.Sprintf("%d.png,dog,8,0,16,8,%d", i, 10+i))
	}
	writeBytes(t, "bx/manifest.csv", []byte(strings.Join(rows, "\n")+"\n"))
	runProgram(t, "train --data bx/manifest.csv --out run --set data.split=images:0.3 --set train.epochs=1 --set "+
		"network.name=mlp --set network.width=8")
}

// boxNames are the names of the items.
func boxNames() (names []string) {
	for i := range 6 {
		names = append(names, fmt.Sprintf("%d.png#xywh=0,0,8,8", i), fmt.Sprintf("%d.png#xywh=8,0,8,8", i))
	}
	return names
}

// column returns the values of a column of a CSV file.
func readColumn(t *testing.T, path, name string) []string {
	t.Helper()
	rows := readCSV(t, path)
	k := slices.Index(rows[0], name)
	if k < 0 {
		t.Fatalf("%s has no column %s: %q", path, name, rows[0])
	}
	var out []string
	for _, row := range rows[1:] {
		out = append(out, row[k])
	}
	return out
}

// countLabel returns the number of items of an index with a label.
func countLabel(t *testing.T, ix, label string) int {
	t.Helper()
	x, err := index.Open(ix, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	n := 0
	for it, err := range x.AllWithoutVectors() {
		if err != nil {
			t.Fatal(err)
		}
		if it.Columns["label"] == label {
			n++
		}
	}
	return n
}

// Two objects of one photo are two items for every command.
func TestBoxesAreItems(t *testing.T) {
	writeBoxedPhotos(t)
	runProgram(t, "embed run bx/manifest.csv --out E.csv")
	if ids := readColumn(t, "E.csv", "id"); !slices.Equal(ids, boxNames()) {
		t.Fatalf("embed: %q", ids)
	}
	runProgram(t, "index create --run run bx/manifest.csv --out ix")
	runProgram(t, "index create --embeddings E.csv --out jx")
	for _, ix := range []string{"ix", "jx"} {
		if cats, dogs := countLabel(t, ix, "cat"), countLabel(t, ix, "dog"); cats != 6 || dogs != 6 {
			t.Errorf("%s: %d cats, %d dogs", ix, cats, dogs)
		}
	}
	if out, _ := runProgram(t, "index sync bx/manifest.csv --index ix --json"); !strings.Contains(out, `"same": 12`) {
		t.Errorf("sync after create: %s", out)
	}
	if out, _ := runProgram(t, "index add ix --data bx/manifest.csv --update"); !strings.Contains(out,
		"12 items; 0 added, 12 r") {
		t.Errorf("add --update: %s", out)
	}
	out, _ := runProgram(t, "search bx/0.png --run run --in bx/manifest.csv --neighbours 20 --json")
	var found lookup.Results
	if err := json.Unmarshal([]byte(out), &found); err != nil || len(found.Queries[0].Neighbours) != 12 ||
		found.Queries[0].Neighbours[0].Region == "" {
		t.Errorf("search: %s, %v", out, err)
	}
	for _, from := range []string{"run", "E.csv --data bx/manifest.csv"} {
		runProgram(t, "clean "+from+" --out cl --force --apply relabel --least 1")
		for _, reason := range readColumn(t, "cl/suspects.csv", "reason") {
			if strings.HasPrefix(reason, "copy") {
				t.Errorf("clean %s: %s", from, reason)
			}
		}
		checkBoxes(t, "cl/manifest.csv", from == "run")
		runProgram(t, "discover "+from+" --out di --force")
		checkBoxes(t, "di/manifest.csv", from == "run")
		if ids := readColumn(t, "di/kinds.csv", "id"); !slices.Equal(slices.Sorted(slices.Values(ids)), boxNames()) {
			t.Errorf("discover %s: %q", from, ids)
		}
	}
	runProgram(t, "map --embeddings E.csv --method pca --out ma")
	if ids := readColumn(t, "ma/map.csv", "id"); !slices.Equal(ids, boxNames()) {
		t.Errorf("map: %q", ids)
	}
	out, _ = runProgram(t, "neighbours --embeddings E.csv --data bx/manifest.csv --out ne --json")
	if !strings.Contains(out, "#xywh=") {
		t.Errorf("neighbours: %s", out)
	}
	out, _ = runProgram(t, "eval --embeddings E.csv --metrics recall@1 --worst 2 --json")
	if !strings.Contains(out, "#xywh=") {
		t.Errorf("eval --worst: %s", out)
	}
}

// checkBoxes checks that a manifest has the boxes, and the prices if the source had them.
func checkBoxes(t *testing.T, path string, prices bool) {
	t.Helper()
	d, err := data.Open(t.Context(), path, data.OpenOptions{Outside: true, OtherColumns: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Len() != 12 || d.Boxes == nil {
		t.Fatalf("%s: %d items, boxes %v", path, d.Len(), d.Boxes)
	}
	for i := range d.Names {
		n := 0
		if _, err := fmt.Sscanf(filepath.Base(d.Names[i]), "%d.png", &n); err != nil || d.Boxes[i].Dx() != 8 {
			t.Errorf("%s: %s, %v", path, d.Names[i], d.Boxes[i])
		}
		if want := fmt.Sprint(n + 10*d.Boxes[i].Min.X/8); prices && (len(d.OtherColumns) != 1 ||
			d.OtherColumns[0].Text[i] != want) {
			t.Errorf("%s: the price of %s is %v, want %s", path, d.ItemName(i), d.OtherColumns, want)
		}
	}
}

// A page shows the part of the picture that an item is.
func TestBoxesOnPages(t *testing.T) {
	writeBoxedPhotos(t)
	im := image.NewGray(image.Rect(0, 0, 16, 8))
	for k := range im.Pix {
		im.SetGray(k%16, k/16, color.Gray{uint8(250 * (k % 16 / 8))})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, im); err != nil {
		t.Fatal(err)
	}
	writeBytes(t, "bx/0.png", b.Bytes())
	f := itemsource.Flags{}
	runProgram(t, "embed run bx/manifest.csv --out E.csv")
	f.Photos.Data = "bx/manifest.csv"
	r, err := f.OpenTable(t.Context(), &console.Console{Err: os.Stderr}, "E.csv")
	if err == nil {
		err = r.OpenPictures(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, want := range []uint8{0, 250} {
		shown, err := r.Picture(i)
		if err != nil {
			t.Fatal(err)
		}
		if got := shown.(*image.Gray).Pix[0]; got != want || shown.Bounds().Dx() != 8 {
			t.Errorf("item %d: grey %d in a picture of %v", i, got, shown.Bounds())
		}
	}
}

// A file that is listed under two labels is one item with both.
func TestLabelsOfOneItem(t *testing.T) {
	writeBoxedPhotos(t)
	then := time.Now().Add(-time.Hour) // the time of a file that has just been written is not trusted
	for i := range 6 {
		if err := os.Chtimes(fmt.Sprintf("bx/%d.png", i), then, then); err != nil {
			t.Fatal(err)
		}
	}
	writeBytes(t, "bx/two.csv", []byte("path,label\n0.png,cat\n1.png,cat\n0.png,dog\n2.png,dog\n"))
	_, said := runProgram(t, "index create --run run bx/two.csv --out ix")
	if !strings.Contains(said, "1 rows list an item again, such as 0.png") {
		t.Errorf("%s", said)
	}
	out, _ := runProgram(t, `index search ix --id 1.png --filter labels="cat|dog" --json`)
	if !strings.Contains(out, `"labels": "cat|dog"`) || strings.Count(out, `"id"`) != 1 {
		t.Error(out)
	}
	if out, _ := runProgram(t, "index sync bx/two.csv --index ix --json"); !strings.Contains(out, `"same": 3`) {
		t.Errorf("sync after create: %s", out)
	}
	runProgram(t, "embed run bx/two.csv --out E.csv")
	runProgram(t, "index create --embeddings E.csv --out jx")
	if out, _ := runProgram(t, "index search jx --id 1.png --json"); !strings.Contains(out, `"labels": "cat|dog"`) {
		t.Errorf("an index of embeddings: %s", out)
	}
	if got := readColumn(t, "E.csv", "labels"); !slices.Equal(got, []string{"cat|dog", "cat", "dog"}) {
		t.Errorf("%q", got)
	}
}

// A second folder's embeddings are other items than the first's, whatever format they are kept in.
func TestItemsOfTwoFolders(t *testing.T) {
	writeBoxedPhotos(t)
	for i := range 4 {
		text, err := os.ReadFile(fmt.Sprintf("bx/%d.png", i))
		if err != nil {
			t.Fatal(err)
		}
		writeBytes(t, fmt.Sprintf("a/x/%d.png", i), text)
		writeBytes(t, fmt.Sprintf("b/y/%d.png", i), text)
	}
	for _, ext := range []string{"csv", "npy", "npz", "parquet", "safetensors"} {
		runProgram(t, "embed run a --out A."+ext)
		runProgram(t, "embed run b --out B."+ext)
		runProgram(t, "index create --embeddings A."+ext+" --out ix."+ext)
		if out, _ := runProgram(t, "index add ix."+ext+" --embeddings B."+ext); !strings.Contains(out,
			": 8 items; 4 added, 0 r") {
			t.Errorf("%s: %s", ext, out)
		}
	}
	// Ids that are the numbers of rows, as kindred embed wrote them once.
	writeBytes(t, "old.csv", []byte("id,path,label,embedding_0,embedding_1\n0,x/0.png,x,1,2\n1,x/1.png,x,2,1\n"))
	writeBytes(t, "other.csv", []byte("id,path,label,embedding_0,embedding_1\n0,y/0.png,y,5,2\n1,y/1.png,y,2,6\n"))
	runProgram(t, "index create --embeddings old.csv --out old")
	for _, update := range []string{"", " --update"} {
		code, _, said := runArgs(t, strings.Fields("index add old --embeddings other.csv"+update)...)
		if code != exitFailure || !strings.Contains(said, "the ids of the embeddings are the numbers of their rows") {
			t.Errorf("status %d: %s", code, said)
		}
	}
	if out, _ := runProgram(t, "index add old --embeddings old.csv"); !strings.Contains(out,
		"0 added, 0 replaced, 2 skipped") {
		t.Error(out)
	}
}

// Rows that were left out do not change the names of others.
func TestNamesOfRows(t *testing.T) {
	t.Chdir(t.TempDir())
	head := []string{"id,label,embedding_0,embedding_1", "path,label,embedding_0,embedding_1",
		"label,embedding_0,embedding_1"}
	for k, name := range []string{"id.csv", "path.csv", "none.csv"} {
		rows := []string{head[k]}
		for i := range 60 {
			row := []string{fmt.Sprintf("i%d,", i), fmt.Sprintf("p%d.jpg,", i), ""}[k]
			label := fmt.Sprintf("k%d", i%2)
			if i < 3 || i == 7 {
				label = ""
			}
			rows = append(rows, fmt.Sprintf("%s%s,%d,%d", row, label, 100*(i%2), i))
		}
		writeBytes(t, name, []byte(strings.Join(rows, "\n")+"\n"))
		want := []string{"i%d", "p%d.jpg", name + "#row=%d"}[k]
		runProgram(t, "discover "+name+" --out di --force")
		for at, id := range readColumn(t, "di/kinds.csv", "id") {
			i := 0
			if _, err := fmt.Sscanf(id, want, &i); err != nil {
				t.Fatalf("%s: %q", name, id)
			}
			if k == 2 {
				i-- // rows count from 1
			}
			if label := readColumn(t, "di/kinds.csv", "label")[at]; label != fmt.Sprintf("k%d", i%2) {
				t.Errorf("%s: %s is of %s", name, id, label)
			}
		}
	}
}

// A database keeps two objects of one photo as two items.
func TestPushBoxes(t *testing.T) {
	url, alone := storetest.StartDatabase(t)
	url += "#boxes"
	writeBoxedPhotos(t)
	runProgram(t, "index create --run run bx/manifest.csv --out ix")
	if out, _ := runProgram(t, "index push ix --to "+url); !strings.Contains(out, "12 items are in boxes") {
		t.Errorf("push: %s", out)
	}
	alone()
	out, _ := runProgram(t, "search bx/0.png --store "+url+" --run run --neighbours 20 --json")
	parts, dogs := strings.Count(out, `"region": "xywh=`), strings.Count(out, `"label": "dog",`)
	if parts != 12 || dogs != 6 {
		t.Errorf("search in the database: %s", out)
	}
}
