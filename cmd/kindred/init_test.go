package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/run"
)

// A configuration that init wrote trains as it is.
func TestInit(t *testing.T) {
	t.Chdir(t.TempDir())
	writeShapes(t, "photos", 2, 2, 5)
	broken := filepath.Join("photos", "coarse0", "fine0", "broken.png")
	writeBytes(t, broken, []byte("not a picture"))
	out, _ := runProgram(t, "init photos")
	for _, want := range []string{"photos: 21 samples, layout folders",
		"2 classes of 10 to 11 samples, coarser labels\n",
		"4 classes of 5 to 6 samples, used for training and scores",
		"of 21 images examined: 20 x 20 to 20 x 20 pixels, 20 in colour, 0 grey",
		"1 of them cannot be read, such as coarse0/fine0/broken.png", "run.yaml is written; edit it, then\n",
		"kindred train -c run.yaml\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	text, err := os.ReadFile("run.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"#   photos: 21 samples", "#   kindred train -c run.yaml\n", "  path: photos\n",
		"  size: 20\n", "  #momentum: 0.9\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	cfg, err := run.Parse("run.yaml", text)
	if err != nil || cfg.Data.Path != "photos" || cfg.Data.Strict {
		t.Fatalf("%+v %v", cfg.Data, err)
	}
	runProgram(t, "train -c run.yaml --set train.epochs=1 --out runs/tried") // leaves the broken one out

	// What is there is not replaced unasked.
	writeBytes(t, "run.yaml", append(text, "# mine\n"...))
	code, _, errOut := runArgs(t, "init", "photos")
	if code != exitFailure || !strings.Contains(errOut, "run.yaml exists already and is not the unchanged result of "+
		"this command") {
		t.Errorf("status %d, %s", code, errOut)
	}
	var got struct {
		Out, Train string
		Data       struct{ Samples int }
	}
	out, _ = runProgram(t, "init photos --force --json --set data.size=16 --set network.name=resnet18")
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Out != "run.yaml" || got.Data.Samples != 21 ||
		got.Train != "kindred train -c run.yaml" {
		t.Errorf("%+v %v", got, err)
	}
	if text, err = os.ReadFile("run.yaml"); err != nil || !strings.Contains(string(text), "  name: resnet18\n") ||
		!strings.Contains(string(text), "  size: 16\n") {
		t.Errorf("%v\n%s", err, text)
	}
	if out, _ = runProgram(t, "init photos --out -"); !strings.HasPrefix(out, "# Settings of a training run") {
		t.Errorf("on standard output:\n%s", out)
	}
}

// For photographs init settles on the pretrained start that train takes, of which
// there is only a file here that holds none.
func TestInitTakesThePretrainedStart(t *testing.T) {
	t.Chdir(t.TempDir())
	for c := range 4 {
		for i := range 5 {
			im := image.NewNRGBA(image.Rect(0, 0, 70, 70))
			for k := range im.Pix {
				im.Pix[k] = uint8(k%4*60 + 9*c + i)
			}
			var b bytes.Buffer
			if err := png.Encode(&b, im); err != nil {
				t.Fatal(err)
			}
			writeBytes(t, filepath.Join("photos", fmt.Sprint(c), fmt.Sprintf("%d.png", i)), b.Bytes())
		}
	}
	home := t.TempDir()
	e := writeEmptyStart(t, home)
	code, _, errOut := runArgs(t, "init", "photos", "--weights-dir", home)
	if code != exitFailure || !strings.Contains(errOut, "network.pretrained: ") ||
		!strings.Contains(errOut, e.Path(home)) {
		t.Errorf("status %d, %s", code, errOut)
	}
	out, _ := runProgram(t, "init photos --out - --set network.pretrained=none --weights-dir "+home)
	for _, want := range []string{"#   training     12 images of 4 classes\n",
		"#   objective    triplet; each image is pulled towards the nearest one of its class (positives easy)",
		"  pretrained: none\n",
		"#   kindred train -c run.yaml --weights-dir " + home + "\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestInitFailures(t *testing.T) {
	t.Chdir(t.TempDir())
	makeFeatureSet(t)
	if err := os.Mkdir("empty", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line string
		code int
		says string
	}{
		{"init", exitUsage, "missing argument DATA"},
		{"init nowhere", exitFailure, "nowhere"},
		{"init empty", exitFailure, "empty"},
		{"init features.npy --set data.sise=3", exitUsage, `did you mean "data.size"?`},
		{"init features.npy --out features.npy/run.yaml", exitFailure, "features.npy/run.yaml cannot be written: "},
		{"init features.npy --json --out -", exitUsage, "only one of --out and --json"},
	} {
		code, _, errOut := runArgs(t, strings.Fields(c.line)...)
		if code != c.code || !strings.Contains(errOut, c.says) {
			t.Errorf("%s: status %d, %s", c.line, code, errOut)
		}
		if _, err := os.Stat("run.yaml"); err == nil {
			t.Fatalf("%s wrote run.yaml", c.line)
		}
	}
	out, _ := runProgram(t, "init features.npy")
	if !strings.Contains(out, "ready features of 6 values") {
		t.Errorf("of features:\n%s", out)
	}
	runProgram(t, "init features.npy --out new/folder/run.yaml")
	runProgram(t, "train -c run.yaml --set train.epochs=1 --out runs/tried")
}
