package onnxnet_test

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/internal/test/refdata"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
)

// TestBirds scores the features of an ImageNet MobileNet, imported and not
// trained, on the 50 bird classes that training does not see, beside what PyTorch
// gave with the same weights (../shared/spec/pretrained.md).
func TestBirds(t *testing.T) {
	if os.Getenv("KINDRED_LONG") == "" {
		t.Skip("takes a minute: set KINDRED_LONG")
	}
	model := refdata.Path(t, "models", "mobilenet_v1_075_224.onnx")
	set, err := data.Open(t.Context(), "cub100", data.OpenOptions{Home: refdata.Path(t, "data")})
	if err != nil {
		t.Fatal(err)
	}
	sel, err := split.Select(t.Context(), set, split.Selection{Split: "classes"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		size int
		want float64
	}{{128, 72.1}, {224, 73.6}} {
		imported, err := onnxnet.Read(model, onnxnet.Options{Size: c.size})
		if err != nil {
			t.Fatal(err)
		}
		net, err := nn.New(imported.Spec, nn.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := net.SetState(imported.Weights); err != nil {
			t.Fatal(err)
		}
		if net.Dim() != 768 || imported.Preparation.Pixels != "symmetric" {
			t.Errorf("%d features, %+v", net.Dim(), imported.Preparation)
		}
		pixels, err := prepare.ParseNormalization(imported.Preparation.Pixels)
		if err != nil {
			t.Fatal(err)
		}
		loader, err := data.NewLoader(sel.Query, data.LoaderConfig{Smooth: true, Image: prepare.Config{
			Width: c.size, Height: c.size, Channels: 3, Fit: prepare.Cover, Normalize: pixels}})
		if err != nil {
			t.Fatal(err)
		}
		x := features(t, net, loader, sel.Query)
		recall, err := eval.RecallAt(t.Context(), x, sel.Query.Fine, eval.Cosine, 1)
		if err != nil {
			t.Fatal(err)
		}
		got := 100 * recall[0]
		t.Logf("%d px: Recall@1 %.2f over %d images, PyTorch %.1f", c.size, got, x.Rows, c.want)
		if math.Abs(got-c.want) > 0.5 {
			t.Errorf("%d px: Recall@1 %.2f, PyTorch %.1f", c.size, got, c.want)
		}
	}
}

func features(t *testing.T, net *nn.Net, l *data.Loader, p *data.Part) *matrix.Dense {
	t.Helper()
	x := matrix.New(p.Len(), net.Dim())
	st := l.Sequential(context.Background(), 32)
	defer st.Close()
	for {
		b, err := st.Next()
		if errors.Is(err, io.EOF) {
			return x
		}
		if err != nil {
			t.Fatal(err)
		}
		e := net.Infer(b.Pixels[:b.N*b.H*b.W*b.C], b.N)
		for i := range b.N {
			copy(x.Row(b.Pos[i]), e.Row(i))
		}
	}
}
