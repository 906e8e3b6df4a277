package shards

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/internal/test/budgettest"
	"github.com/kindred-ml/kindred/run"
)

// FuzzSpecs: no spec that somebody has written into the queue has a worker panic, open
// something outside what it may, or answer with more than a page.
func FuzzSpecs(f *testing.F) {
	kinds := []string{embedKind, rankKind, paperKind, sweepKind}
	for _, spec := range []string{
		`{"data":"mnist","model":"00","samples":"","at":[[-1,9223372036854775807]]}`,
		`{"data":"../secret","outside":true,"model":"","samples":"","at":[[0,1],[0,1]]}`,
		`{"queries":"a","gallery":"b","distance":"dot","depth":-5,"from":3,"to":2}`,
		`{"queries":"","distance":"Euclidean","first":true,"from":0,"to":9}`,
		`{"experiment":"omniglot","arm":"MS","seed":18446744073709551615,"set":["data.path=/etc","a=b=c","="]}`,
		`{"experiment":"omniglot","arm":"none","scale":"huge","fast":true}`,
		`{"name":"../../x","config":"data: {path: /etc}\nnetwork: {pretrained: /etc/passwd}","until":1}`,
		`{"name":"","config":"data: {name: omniglot}\ntrain: {epochs: -1}","until":-1,"metric":"\u202e"}`,
		`{"name":"a","config":"a: &a [*a]","until":0}`, `{"config":"{"}`, `null`, `[]`, `{"unknown":1}`,
	} {
		for k := range kinds {
			f.Add(byte(k), []byte(spec))
		}
	}
	dir := f.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.MkdirAll(filepath.Join(secret, "class"), 0o777); err != nil {
		f.Fatal(err)
	}
	f.Chdir(dir)
	var asked atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	f.Cleanup(web.Close)
	f.Add(byte(0), []byte(`{"data":"`+web.URL+`/x.zip","model":"","samples":"","at":[[0,1]]}`))
	f.Add(byte(3), []byte(`{"name":"a","config":"data: {path: `+secret+`}","until":1}`))
	// What is allowed is looked for and not found: nothing is opened, and nothing trained.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, kind byte, spec []byte) {
		opened := ""
		k := &WorkerKit{Home: home, Dir: t.TempDir(),
			Open: func(_ context.Context, what string, _ data.OpenOptions) (*data.Dataset, error) {
				opened = what
				return nil, errOpened
			},
			Weights: func(context.Context, string) (run.Start, error) { return run.Start{}, errOpened }}
		defer k.Close()
		j := jobs.Job{Kind: kinds[int(kind)%len(kinds)], Spec: spec}
		if j.Check() != nil {
			return
		}
		_, err := k.Kinds().Do(ctx, specTask{j})
		text := ""
		if err != nil {
			text = err.Error()
		}
		switch {
		case strings.Contains(text, "internal error"):
			t.Fatalf("%s: %s", spec, text)
		case len(text) > 4000+8*len(spec):
			t.Fatalf("%d bytes of message for %d of spec", len(text), len(spec))
		case opened != "" && !data.IsName(opened, home) && !strings.HasPrefix(opened, home):
			t.Fatalf("%s had %q opened", spec, opened)
		case asked.Load() > 0:
			t.Fatalf("%s had a request sent", spec)
		}
		if left, err := os.ReadDir(k.Dir); err != nil || len(left) > 0 {
			t.Fatalf("%s left %v: %v", spec, left, err)
		}
	})
}

// newTar is a tar archive of entries: name, content, name, content...
func newTar(t testing.TB, kind byte, entries ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		h := &tar.Header{Name: entries[i], Typeflag: kind, Size: int64(len(entries[i+1])), Mode: 0o666}
		if kind == tar.TypeSymlink {
			h.Size, h.Linkname = 0, entries[i+1]
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if kind == tar.TypeReg {
			io.WriteString(w, entries[i+1])
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// FuzzUnpack: an archive that a job brings is refused, or its files are below the folder,
// and packing these gives an archive of the same.
func FuzzUnpack(f *testing.F) {
	whole := newTar(f, tar.TypeReg, "run.yaml", "data: {}\n", "net/model.safetensors", "12345678")
	f.Add(whole)
	f.Add(whole[:700])
	f.Add(newTar(f, tar.TypeReg, "../out", "x"))
	f.Add(newTar(f, tar.TypeReg, "a", "x", "a/b", "y"))
	f.Add(newTar(f, tar.TypeReg, "a/b", "x", "a", "y", "a/b", "z"))
	f.Add(newTar(f, tar.TypeSymlink, "a", "..", "a/x", ""))
	f.Add(newTar(f, tar.TypeReg, ".lock", "x", "c", "y"))
	f.Fuzz(func(t *testing.T, b []byte) {
		base := t.TempDir()
		in := filepath.Join(base, "in")
		if err := os.Mkdir(in, 0o777); err != nil {
			t.Fatal(err)
		}
		var err error
		budgettest.CheckBounded(t, len(b), func() { err = unpack(bytes.NewReader(b), in) })
		if around, e := os.ReadDir(base); e != nil || len(around) != 1 {
			t.Fatalf("wrote %v outside: %v", around, e)
		}
		files := readFolder(t, in)
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Fatalf("%d bytes of message", len(err.Error()))
			}
			return
		}
		var again bytes.Buffer
		out := filepath.Join(base, "out")
		if err := pack(&again, in); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(out, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := unpack(&again, out); err != nil {
			t.Fatal(err)
		}
		for name, b := range readFolder(t, out) {
			if string(b) != string(files[name]) {
				t.Fatalf("%s is %q, was %q", name, b, files[name])
			}
		}
	})
}

// readFolder reads the files below a folder, of which all must be regular.
func readFolder(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if !e.Type().IsRegular() {
			t.Fatalf("%s: %v", path, e)
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			out[name], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// FuzzReadShard: the result of a shard is refused, or has as many rows as places.
func FuzzReadShard(f *testing.F) {
	head, err := json.Marshal(shard{Rows: 2, Cols: 1, Pos: []int{3, 4}, LeftOut: []data.LeftOut{{}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(append(head, '\n'), 1, 2, 3, 4, 5, 6, 7, 8))
	f.Add([]byte("{\"rows\":4294967296,\"cols\":4294967296,\"pos\":[]}\n"))
	f.Add([]byte("{\"rows\":0,\"cols\":-1}\n"))
	f.Add([]byte("{\"rows\":1,\"cols\":4611686018427387904,\"pos\":[0]}\n"))
	f.Add([]byte("null\n"))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s shard
		var rows []byte
		var err error
		budgettest.CheckBounded(t, len(b), func() { s, rows, err = readShard(b) })
		if err != nil {
			if !strings.Contains(err.Error(), "a damaged result") {
				t.Fatal(err)
			}
			return
		}
		if s.Rows != len(s.Pos) || s.Cols < 0 || s.Rows*s.Cols*4 != len(rows) {
			t.Fatalf("%d x %d numbers at %d places in %d bytes", s.Rows, s.Cols, len(s.Pos), len(rows))
		}
	})
}
