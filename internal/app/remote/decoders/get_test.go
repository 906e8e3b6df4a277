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

// TestGet fetches the decoder from a server, replaces a damaged one, and refuses another file.
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
	served = compressModule(t, []byte("another file"))
	if _, err := get(false); err == nil || !strings.Contains(err.Error(), "its content has the SHA-256") ||
		!strings.Contains(err.Error(), "to provide it yourself") {
		t.Error(err)
	}
	if heic.IsInstalled() {
		t.Error("a decoder is there after a failure")
	}
	served = compressModule(t, code)
	r, err := get(false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(r.Path)
	if err != nil || !bytes.Equal(got, code) || r.SHA256 != moduleDigest || !heic.IsInstalled() {
		t.Errorf("%+v, %v", r, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if r, err := get(true); err != nil || r.Way != "present" || r.SHA256 != moduleDigest {
		t.Errorf("%+v, %v", r, err)
	}
	if err := os.WriteFile(r.Path, code[:len(code)-1], 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := get(true); err == nil || !strings.Contains(err.Error(), "damaged or another one") {
		t.Error(err)
	}
	if r, err := get(false); err != nil || r.Way == "present" {
		t.Errorf("%+v, %v", r, err)
	}
	if got, err := os.ReadFile(r.Path); err != nil || !bytes.Equal(got, code) {
		t.Errorf("the damaged decoder was not replaced: %d bytes, %v", len(got), err)
	}
}

// TestGetOverAFolder names a path that is not a file.
func TestGetOverAFolder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(heic.EnvHome, dir)
	path := filepath.Join(dir, heic.File)
	if err := Check(path); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := (&Getter{Offline: true}).Get(t.Context())
	for _, err := range []error{err, Check(path)} {
		if err == nil || !strings.Contains(err.Error(), "the decoder cannot be read: "+path) {
			t.Error(err)
		}
	}
}

// TestGetOverADamagedFile says of a file that is not the decoder that it is not, and fetches another.
func TestGetOverADamagedFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(heic.EnvHome, dir)
	if err := os.WriteFile(filepath.Join(dir, heic.File), []byte("half"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := (&Getter{Offline: true}).Get(t.Context())
	if err == nil || !strings.Contains(err.Error(), hexDigest([]byte("half"))) {
		t.Error(err)
	}
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked = true
		w.Write(compressModule(t, []byte("another file")))
	}))
	defer server.Close()
	if _, err := (&Getter{From: server.URL + "/heif.wasm.gz"}).Get(t.Context()); err == nil || !asked {
		t.Errorf("asked %v, %v", asked, err)
	}
}

func compressModule(t *testing.T, code []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(code)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
