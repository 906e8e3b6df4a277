package timing

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/bench"
	"github.com/kindred-ml/kindred/xla"
)

func TestSelect(t *testing.T) {
	all, err := Select(nil)
	if err != nil || len(all) != 12 {
		t.Errorf("%d cases, %v", len(all), err)
	}
	tiny, err := Select([]string{"tiny"})
	if err != nil || len(tiny) != 2 || tiny[0].Name != "tiny-16-train-b6" {
		t.Errorf("%v, %v", tiny, err)
	}
	if one, err := Select([]string{"resnet50-227-train-b112"}); err != nil || len(one) != 1 {
		t.Errorf("the name of one case chose %d, %v", len(one), err)
	}
	if _, err := Select([]string{"resnet"}); err == nil || !strings.Contains(err.Error(), "resnet50-227-train-b112") {
		t.Errorf("%v", err)
	}
}

func TestUsage(t *testing.T) {
	u := usageIn(strings.NewReader("100, 50, A GPU\n300, 100, A GPU\nnot this\n200, 0, A GPU\n"))
	if u == nil || u.MiB != 300 || u.Percent != 50 || u.Name != "A GPU" {
		t.Errorf("%+v", u)
	}
	if u := usageIn(strings.NewReader("")); u != nil {
		t.Errorf("%+v of nothing", u)
	}
}

// TestTinyCases: training and evaluation run, and what crosses in a step of evaluation
// is the images as bytes, up, and the embeddings, down.
func TestTinyCases(t *testing.T) {
	devices, err := xla.Open(xla.Choice{Engine: xla.GoEngine, Devices: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer xla.Close(devices)
	cases, err := Select([]string{"tiny"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		r, err := Run(context.Background(), c, devices, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !(r.PerS > 0 && r.BusMS > 0 && r.UpMB > 0) || r.Devices != 2 {
			t.Errorf("%s: %+v", c.Name, r)
		}
		if !c.Training && (r.UpMB != 6*16*16/1e6 || r.DownMB != 6*8*4/1e6) {
			t.Errorf("%s: %v MB up, %v down", c.Name, r.UpMB, r.DownMB)
		}
	}
}

// TestPeer: the script in PyTorch has the tiny cases too.
func TestPeer(t *testing.T) {
	const python = "/usr/bin/python3"
	if exec.Command(python, "-c", "import torch, torchvision").Run() != nil {
		t.Skip("needs Debian's python3-torch and python3-torchvision")
	}
	script, err := filepath.Abs("../../../bench/gpu_peer.py")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(script); err != nil {
		t.Fatal(err)
	}
	devices, err := xla.Open(xla.Choice{Engine: xla.GoEngine, Devices: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer xla.Close(devices)
	cases, err := Select([]string{"tiny-16-train-b6"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), cases[0], devices, &bench.Peer{Python: python, Script: script})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Variants) < 3 || r.Variants[0].Variant != "eager" || !(r.Variants[0].MedianMS > 0) {
		t.Errorf("%+v", r.Variants)
	}
}
