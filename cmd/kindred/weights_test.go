package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/app/remote/weights"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// weightsServer serves a file of weights of about the size of vit_tiny_patch16's, which no
// digest is published for.
func weightsServer(t *testing.T) (address string, content []byte) {
	t.Helper()
	var b bytes.Buffer
	v := safetensors.Float32("w", []int{5_720_000}, make([]float32, 5_720_000))
	if err := (&safetensors.File{Tensors: []safetensors.Tensor{v}}).Write(&b); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b.Bytes()))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/", b.Bytes()
}

func TestWeights(t *testing.T) {
	home := filepath.Join(t.TempDir(), "weights")
	t.Setenv(weights.EnvHome, home)
	address, content := weightsServer(t)

	code, out, errOut := runArgs(t, "weights", "get", "vit_tiny_patch16", "--from", address)
	path := filepath.Join(home, "vit_tiny_patch16_224.augreg_in21k_ft_in1k.safetensors")
	if code != exitOK || !strings.HasPrefix(out, path+"\n  ") || !strings.Contains(out, "no sum is published") ||
		strings.Contains(errOut, "\r") || !strings.Contains(errOut, "vit_tiny_patch16: 21.8 MiB from "+address) {
		t.Fatalf("status %d\n%s\n%s", code, out, errOut)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}

	var listed struct {
		Dir     string `json:"weights_dir"`
		Weights []struct {
			Name, Network, URL, SHA256, License, Path string
			Bytes                                     int64
			Cached                                    bool
		}
	}
	code, out, _ = runArgs(t, "weights", "list", "--json")
	if err := json.Unmarshal([]byte(out), &listed); code != exitOK || err != nil || listed.Dir != home {
		t.Fatal(code, err, listed.Dir)
	}
	for _, w := range listed.Weights {
		if w.Cached != (w.Name == "vit_tiny_patch16") || w.Network == "" || w.URL == "" || w.License == "" {
			t.Errorf("%+v", w)
		}
	}
	code, out, _ = runArgs(t, "weights", "list")
	for _, want := range []string{home, "mobilenet_v2", "71.9 %", "13.6 MiB", "BSD-3-Clause", "here"} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("status %d, no %q in\n%s", code, want, out)
		}
	}
	var got weights.Result
	code, out, _ = runArgs(t, "weights", "get", "vit_tiny_patch16", "--offline", "--json")
	if err := json.Unmarshal([]byte(out), &got); code != exitOK || err != nil || got.Way != "cached" ||
		got.Found.Bytes != int64(len(content)) || got.Checked != "contents" {
		t.Errorf("status %d, %v\n%s", code, err, out)
	}
}

func TestWeightsFailures(t *testing.T) {
	t.Setenv(weights.EnvHome, filepath.Join(t.TempDir(), "weights"))
	address, _ := weightsServer(t)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"get", "resnet-18"}, exitUsage, `did you mean "resnet18"?`},
		{[]string{"get"}, exitUsage, "missing argument NAME"},
		{[]string{"get", "resnet18", "--offline"}, exitFailure, "fetching is off (offline)"},
		{[]string{"get", "resnet18", "--from", "http://127.0.0.1:1/"}, exitFailure, "127.0.0.1 cannot be reached"},
		{[]string{"get", "resnet18", "--from", address}, exitFailure, "the official one 46830571"},
	} {
		code, out, errOut := runArgs(t, append([]string{"weights"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(errOut, c.says) {
			t.Errorf("%q: status %d, %q, %q", c.args, code, out, errOut)
		}
		if line := errOut[strings.LastIndex(strings.TrimSpace(errOut), "\n")+1:]; c.code == exitFailure &&
			!strings.HasPrefix(line, "kindred: weights resnet18 are not in the cache") {
			t.Errorf("%q: not one line: %q", c.args, errOut)
		}
	}
}
