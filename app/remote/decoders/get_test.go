package decoders

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/heic"
)

// TestGet fetches the decoder from a server, leaves one that is there alone, and refuses another file.
func TestGet(t *testing.T) {
	decoders := os.Getenv("KINDRED_HEIC")
	if decoders == "" {
		t.Skip("no decoder for HEIC: set $KINDRED_HEIC to its folder, as make test does")
	}
	code, err := os.ReadFile(filepath.Join(decoders, heic.File))
	if err != nil {
		t.Fatal(err)
	}
	var served []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/heif.wasm.gz" {
			http.NotFound(w, r)
			return
		}
		w.Write(served)
	}))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "decoders")
	t.Setenv(heic.EnvHome, dir)
	get := func(offline bool) (*Result, error) {
		return (&Getter{From: server.URL + "/heif.wasm.gz", Offline: offline}).Get(t.Context())
	}
	if _, err := get(true); err == nil || !strings.Contains(err.Error(), "offline") {
		t.Error(err)
	}
	served = compressed(t, []byte("another file"))
	if _, err := get(false); err == nil || !strings.Contains(err.Error(), "its content has the SHA-256") ||
		!strings.Contains(err.Error(), "to provide it yourself") {
		t.Error(err)
	}
	if heic.Present() {
		t.Error("a decoder is there after a failure")
	}
	served = compressed(t, code)
	r, err := get(false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(r.Path)
	if err != nil || !bytes.Equal(got, code) || !r.Published || r.SHA256 != sum || !heic.Present() {
		t.Errorf("%+v, %v", r, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	for _, own := range [][]byte{code, []byte("one's own")} {
		if err := os.WriteFile(r.Path, own, 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := get(true)
		if err != nil || r.Way != "present" || r.Published != bytes.Equal(own, code) || r.SHA256 != digest(own) {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

func compressed(t *testing.T, code []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(code)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
