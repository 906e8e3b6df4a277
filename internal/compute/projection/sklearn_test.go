package projection

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/test/refdata"
	"github.com/kindred-ml/kindred/matrix"
)

// sklearnMap reads n, d and float32 rows from standard input and prints the map.
const sklearnMap = `
import sys, json, time, numpy as np
from sklearn.manifold import TSNE
n, d = int(sys.argv[1]), int(sys.argv[2])
x = np.frombuffer(sys.stdin.buffer.read(), np.float32).reshape(n, d)
t = time.time()
y = TSNE(perplexity=30, init='pca', learning_rate='auto', random_state=0).fit_transform(x)
json.dump({'x': y[:, 0].tolist(), 'y': y[:, 1].tolist(), 'seconds': time.time() - t}, sys.stdout)
`

// readMNISTTest reads the first n MNIST test images from ../shared/data.
func readMNISTTest(t *testing.T, n int) *matrix.Dense {
	t.Helper()
	f, err := os.Open(refdata.Path(t, "data", "mnist", "t10k-images-idx3-ubyte.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, 16+n*784)
	if _, err := io.ReadFull(z, raw); err != nil {
		t.Fatal(err)
	}
	x := matrix.New(n, 784)
	for i, v := range raw[16:] {
		x.Data[i] = float32(v) / 255
	}
	return x
}

// TestAgainstScikitLearn compares the divergence of our map of MNIST test images
// with that of scikit-learn's, both measured exactly by Divergence. It takes
// minutes and a Python with scikit-learn: set KINDRED_SKLEARN to the number of
// images.
func TestAgainstScikitLearn(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("KINDRED_SKLEARN"))
	if err != nil {
		t.Skip("set KINDRED_SKLEARN to the number of images to compare with scikit-learn")
	}
	x := readMNISTTest(t, n)
	var raw bytes.Buffer
	for _, v := range x.Data {
		b := float32Bytes(v)
		raw.Write(b[:])
	}
	cmd := exec.Command("/usr/bin/python3", "-c", sklearnMap, strconv.Itoa(n), "784")
	cmd.Stdin, cmd.Stderr = &raw, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("scikit-learn did not run: %v", err)
	}
	var theirs struct {
		X, Y    []float64
		Seconds float64
	}
	if err := json.Unmarshal(out, &theirs); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	ours, err := TSNE{Perplexity: 30}.Run(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(start).Seconds()
	a, err := Divergence(context.Background(), x, ours.X, ours.Y, 30)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Divergence(context.Background(), x, theirs.X, theirs.Y, 30)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d images: ours %.4f nats in %.1f s, scikit-learn's %.4f in %.1f s: %+.2f %%", n, a, took, b,
		theirs.Seconds, 100*(a/b-1))
	if a > 1.05*b {
		t.Errorf("divergence %g, more than 5 %% above scikit-learn's %g", a, b)
	}
}

func float32Bytes(v float32) [4]byte {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], math.Float32bits(v))
	return b
}
