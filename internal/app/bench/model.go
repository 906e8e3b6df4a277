package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/network/onnxexport"
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
)

// Files of the folder that a peer reads a case's network from.
const (
	modelFile  = "model.onnx"
	imagesFile = "images.f32"
	wantFile   = "want.f32"       // what kindred computes
	outputFile = "embeddings.f32" // what the peer computes
)

// writeNetwork writes the network of a case, its images and what comes out to a temporary folder.
func writeNetwork(c Case) (folder string, err error) {
	net, images, n := c.Network()
	model, err := onnxexport.Export(net, onnxnet.Preparation{})
	if err != nil {
		return "", fmt.Errorf("bench %s: %w", c.Name, err)
	}
	if folder, err = os.MkdirTemp("", "kindred-bench-"); err != nil {
		return "", err
	}
	in := net.Spec().Input
	turned := make([]float32, len(images)) // channels before rows
	for i := range n {
		for at := range in.H * in.W {
			for ch := range in.C {
				turned[(i*in.C+ch)*in.H*in.W+at] = images[(i*in.H*in.W+at)*in.C+ch]
			}
		}
	}
	err = errors.Join(
		atomic.WriteFile(filepath.Join(folder, modelFile), model.Write),
		writeFloats(filepath.Join(folder, imagesFile), turned),
		writeFloats(filepath.Join(folder, wantFile), net.Infer(images, n).Data))
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	return folder, nil
}

// Bounds of the difference of a peer's output, as a part of the largest value. In 8 bits other
// programs round once more.
const (
	floatTolerance = 1e-3
	tolerance8Bit  = 0.05
)

// checkOutput returns an error unless the peer has computed what kindred does.
func checkOutput(folder string, tolerance float64) error {
	want, err := readFloats(filepath.Join(folder, wantFile))
	if err != nil {
		return err
	}
	got, err := readFloats(filepath.Join(folder, outputFile))
	if err != nil {
		return err
	}
	if len(got) != len(want) {
		return fmt.Errorf("the network gives %d values, kindred's %d", len(got), len(want))
	}
	var largest, worst float64
	for i, w := range want {
		largest = max(largest, math.Abs(float64(w)))
		worst = max(worst, math.Abs(float64(got[i])-float64(w)))
	}
	if !(worst <= tolerance*largest) { // not a number fails too
		return fmt.Errorf("the network's values differ from kindred's by %.3g, of %.3g: it does not compute the same",
			worst, largest)
	}
	return nil
}

func writeFloats(path string, x []float32) error {
	return atomic.WriteFile(path, func(w io.Writer) error { return binary.Write(w, binary.LittleEndian, x) })
}

func readFloats(path string) ([]float32, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	x := make([]float32, len(raw)/4)
	_, err = binary.Decode(raw, binary.LittleEndian, x)
	return x, err
}
