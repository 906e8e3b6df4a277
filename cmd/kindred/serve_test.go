package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// makePhotoIndex makes an index of the photos of a run of one epoch, with its network.
func makePhotoIndex(t *testing.T) (dir string, photos []string) {
	t.Helper()
	base := t.TempDir()
	for _, name := range writeShapes(t, filepath.Join(base, "photos"), 2, 2, 4) {
		photos = append(photos, filepath.Join(base, "photos", name))
	}
	runs := filepath.Join(base, "run")
	if code, _, errOut := runArgs(t, "train", "--data", filepath.Join(base, "photos"), "--set", "train.epochs=1",
		"--set", "data.size=16", "--set", "network.pretrained=none", "--out", runs); code != exitOK {
		t.Fatal(errOut)
	}
	m, err := run.Load(runs)
	if err != nil {
		t.Fatal(err)
	}
	d, err := data.OpenFiles(t.Context(), photos)
	if err != nil {
		t.Fatal(err)
	}
	e, err := m.EmbedPart(t.Context(), d.All())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(base, "photos.index")
	x, err := index.Create(dir, index.Config{Dim: e.X.Cols})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var entries []store.Item
	for i, pos := range e.Pos {
		name := d.Names[pos]
		entries = append(entries, store.Item{ID: fmt.Sprint(i), Path: name,
			Columns: map[string]any{"label": filepath.Base(filepath.Dir(name)), "price": float64(i)},
			Vector:  e.X.Row(i)})
	}
	if _, err := x.Add(t.Context(), entries, index.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(index.NetworkDir(dir), os.DirFS(runs)); err != nil {
		t.Fatal(err)
	}
	return dir, photos
}

// startServe runs kindred serve until the test ends, and returns what it says of itself.
func startServe(t *testing.T, args ...string) (s servingInfo, stop func() (code int, log string)) {
	t.Helper()
	return startServeWithLog(t, new(safeBuffer), args...)
}

// startServeWithLog is served with the buffer that the log goes to.
func startServeWithLog(t *testing.T, log *safeBuffer, args ...string) (s servingInfo,
	stop func() (code int, log string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	done := make(chan int, 1)
	go func() {
		code := execute(ctx, append([]string{"serve", "--json", "--listen", "127.0.0.1:0"}, args...), in, log)
		in.Close()
		done <- code
	}()
	if err := json.NewDecoder(bufio.NewReader(out)).Decode(&s); err != nil {
		t.Fatalf("%v; the log: %s", err, log.String())
	}
	stop = sync.OnceValues(func() (int, string) {
		cancel()
		return <-done, log.String()
	})
	t.Cleanup(func() { stop() })
	return s, stop
}

// A server whose index follows a folder finds what is put there, and says so in its log.
func TestServeSync(t *testing.T) {
	dir, ix, _ := newFollowedIndex(t)
	for _, args := range [][]string{{ix, "--sync", dir, "--read-only"}, {ix, ix, "--sync", dir},
		{ix, "--sync", dir, "--sync-every", "0s"}, {ix, "--sync", dir, "--sync-most", "30"},
		{ix, "--sync", dir, "--sync-most", "NaN"}} {
		args = append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)
		if code, _, stderr := runArgs(t, args...); code != exitUsage || !strings.Contains(stderr, "--sync") {
			t.Errorf("%v: status %d: %s", args, code, stderr)
		}
	}
	var written safeBuffer
	s, stop := startServeWithLog(t, &written, ix, "--sync", dir, "--sync-every", "300ms")
	c, err := api.NewClient(s.URL, api.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	whole := newNoisePicture(t, 4) // of which the server first sees a part, which adds nothing
	writeBytes(t, filepath.Join(dir, "c0", "new.png"), whole[:len(whole)/2])
	waitUntil(t, "what is left out in the log", func() bool {
		return strings.Contains(written.String(), "photos were left out")
	})
	writeBytes(t, filepath.Join(dir, "c0", "new.png"), whole)
	waitUntil(t, "the photo", func() bool {
		found, err := c.SearchPicture(t.Context(), newNoisePicture(t, 4), api.Search{K: 1})
		if err != nil {
			t.Fatal(err)
		}
		n := found.Neighbours[0]
		return n.ID == "c0/new.png" && n.Distance == 0
	})
	if err := os.RemoveAll(filepath.Join(dir, "c2")); err != nil { // more than a tenth
		t.Fatal(err)
	}
	writeBytes(t, filepath.Join(dir, "c0", "other.png"), newNoisePicture(t, 5)) // arrives nevertheless
	var f *api.Following
	waitUntil(t, "the question", func() bool {
		info, err := c.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f = info.Collections[0].Following
		return f != nil && f.Folder == dir && f.State == api.Current && f.Pending != nil &&
			info.Collections[0].Items == 20
	})
	metrics := fetchText(t, s.URL+"/metrics")
	for _, line := range []string{`kindred_sync_failed{collection="photos"} 0`,
		`kindred_sync_pending_removals{collection="photos"} 6`,
		`kindred_sync_changes_total{collection="photos",kind="added"} 2`,
		`kindred_sync_changes_total{collection="photos",kind="removed"} 0`,
		`kindred_sync_photos{collection="photos",state="to embed"} 0`} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("%q is not in the metrics", line)
		}
	}
	code, log := stop()
	if code != exitOK || !strings.Contains(log, `"the index follows the folder"`) ||
		strings.Count(log, "many photos are missing") != 1 {
		t.Errorf("status %d: %s", code, log)
	}
	if n := len(readItems(t, ix)); n != 20 {
		t.Errorf("%d items", n)
	}
}

// fetchText is what a server answers.
func fetchText(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res.Status, err)
	}
	return string(b)
}

// waitUntil waits until f is true, for half a minute at most.
func waitUntil(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s has not come", what)
		}
	}
}

// safeBuffer is a buffer that several goroutines write to.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}
func (s *safeBuffer) String() string { s.mu.Lock(); defer s.mu.Unlock(); return s.b.String() }

// TestServe serves an index with its network: a photo finds itself, one that is added
// outlives the server, and the curl commands of docs/serve.md work.
func TestServe(t *testing.T) {
	dir, photos := makePhotoIndex(t)
	s, stop := startServe(t, dir)
	c, err := api.NewClient(s.URL, api.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	photo, err := os.ReadFile(photos[3])
	if err != nil {
		t.Fatal(err)
	}
	// The same bits as when it was embedded: distance 0.
	found, err := c.SearchPicture(t.Context(), photo, api.Search{K: 1})
	if err != nil {
		t.Fatal(err)
	}
	if n := found.Neighbours[0]; n.ID != "3" || n.Distance != 0 {
		t.Errorf("a photo of the index finds %+v", n)
	}
	if file, err := c.Picture(t.Context(), "3"); err != nil || !bytes.Equal(file, photo) {
		t.Errorf("its picture: %v", err)
	}
	if _, err := c.PutPicture(t.Context(), "cat/3.jpg", photo, map[string]any{"label": "cat"}); err != nil {
		t.Fatal(err)
	}
	runDocumentedCurl(t, s.URL, photos[0])
	code, log := stop()
	if code != exitOK || !strings.Contains(log, `"msg":"stopped"`) {
		t.Errorf("status %d: %s", code, log)
	}
	for line := range strings.Lines(log) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line of the log that is no JSON: %s", line)
		}
	}
	x, err := index.Open(dir, index.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if _, ok, err := x.Get("cat/3.jpg"); !ok {
		t.Errorf("what was added is gone: %v", err)
	}
}

// runDocumentedCurl runs the curl commands of the page.
func runDocumentedCurl(t *testing.T, url, photo string) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Log("the commands of docs/serve.md are not run: ", err)
		return
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "serve.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^curl .*$`).FindAllString(string(page), -1)
	if len(lines) < 10 {
		t.Fatalf("only %d commands", len(lines))
	}
	info, err := http.Get(url + "/v1/info")
	if err != nil {
		t.Fatal(err)
	}
	defer info.Body.Close()
	var in api.Info
	if err := json.NewDecoder(info.Body).Decode(&in); err != nil {
		t.Fatal(err)
	}
	vector := "[0" + strings.Repeat(",0.1", in.Collections[0].Dim-1) + "]"
	for _, line := range lines {
		line = strings.NewReplacer("http://127.0.0.1:7700", url, "photo.jpg", photo, "[0.1, 0.7, 0.2]", vector,
			// no words here
			`category = "shoe"`, `label = "c0"`, `{"text": "in snow"}`, `{"id": "3"}`, `{"text": "grass"`,
			`{"vector": `+vector, "curl ", "curl -sS --fail-with-body ").Replace(line)
		cmd := exec.Command("sh", "-c", line)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", line, err, out)
		}
	}
}

// TestServeRefuses: other machines come in only with keys, or when that was said
// twice. What is refused is refused before the port is looked at, which is taken.
func TestServeRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "i")
	x, err := index.Create(dir, index.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().String()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"serve"}, exitUsage, "missing argument INDEX"},
		{[]string{"serve", dir, "--listen", port}, exitFailure, "choose another port"},
		{[]string{"serve", dir, "--listen", "0.0.0.0:0"}, exitUsage, "other machines could"},
		{[]string{"serve", dir, "--listen", ":0", "--without-keys"}, exitUsage, "other machines could"},
		{[]string{"serve", dir, "--listen", "[::]:0", "--open-to-network"}, exitUsage, "other machines could"},
		{[]string{"serve", dir, "--tls-cert", "x", "--listen", port}, exitUsage, "need each other"},
		{[]string{"serve", dir, "--keys", "x", "--without-keys", "--listen", port}, exitUsage, "--keys, or"},
		{[]string{"serve", dir, "--keys", filepath.Join(dir, "nothing"), "--listen", port}, exitFailure, "nothing"},
		{[]string{"serve", dir, "--log-level", "loud", "--listen", port}, exitUsage, "--log-level"},
		{[]string{"serve", dir, "--max-k", "-1", "--listen", port}, exitFailure, "limit K"},
		{[]string{"serve", dir, "--max-body", "x", "--listen", port}, exitUsage, "max-body"},
		{[]string{"serve", filepath.Join(dir, "no"), "--listen", port}, exitFailure, "index create"},
		{[]string{"serve", dir, filepath.Join(dir, "no"), "--listen", port}, exitFailure, "index create"},
		{[]string{"serve", "--review", filepath.Join(dir, "no"), "--listen", port}, exitFailure, "kindred discover"},
		{[]string{"serve", dir, "--review", t.TempDir(), "--listen", port}, exitFailure, "review.json"},
		{[]string{"serve", dir, "--origin", "x", "--listen", port}, exitFailure, "origin"},
		{[]string{"serve", dir, "--listen", "nowhere"}, exitFailure, "--listen nowhere"},
		{[]string{"serve", dir, "--listen", port, "--trusted-proxy", "x"}, exitUsage, "must be an address, a network"},
		{[]string{"serve", dir, "--listen", port, "--trusted-proxy", "::/0"}, exitUsage, "it would trust all"},
		{[]string{"serve", dir, "--listen", port, "--trusted-proxy", "loopback,10.0.0.7"}, exitUsage,
			"--trusted-proxy 10.0.0.7/32: only this machine can connect"},
		{[]string{"serve", "key", "--name", "a"}, exitUsage, "--file"},
		{[]string{"serve", "key", "--name", "a b", "--file", dir + "k"}, exitUsage, "must be letters, digits"},
		{[]string{"serve", "key", "--name", "a", "--may", "own", "--file", dir + "k"}, exitUsage, "own"},
	} {
		if code, _, errOut := runArgs(t, c.args...); code != c.code || !strings.Contains(errOut, c.says) {
			t.Errorf("%q: status %d, %s", c.args, code, errOut)
		}
	}
	_, stop := startServe(t, dir, "--listen", "0.0.0.0:0", "--without-keys", "--open-to-network",
		"--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "loopback")
	if code, log := stop(); code != exitOK || !strings.Contains(log, "everyone who can reach") {
		t.Errorf("status %d: %s", code, log)
	}
}

// TestServeKeys makes keys and uses them, with settings from the environment.
func TestServeKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "i")
	x, err := index.Create(dir, index.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(t.TempDir(), "keys")
	made := map[string]string{}
	for _, may := range []string{"read", "write"} {
		code, out, errOut := runArgs(t, "serve", "key", "--name", may+"er", "--may", may, "--file", keys)
		if code != exitOK {
			t.Fatal(errOut)
		}
		made[may] = strings.TrimSpace(out)
	}
	if info, err := os.Stat(keys); err != nil || info.Mode().Perm()&0o077 != 0 && filepath.Separator == '/' {
		t.Errorf("others can read the keys: %v %v", info.Mode(), err)
	}
	t.Setenv(serveEnv+"KEYS", keys)
	t.Setenv(serveEnv+"INDEX", dir)
	t.Setenv(serveEnv+"MAX_K", "3")
	s, _ := startServe(t)
	item := []store.Item{{ID: "a", Vector: []float32{1, 2}}}
	for _, key := range []string{"", made["read"], made["write"]} {
		c, err := api.NewClient(s.URL, api.ClientOptions{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		in, err := c.Info(t.Context())
		if (err == nil) != (key != "") {
			t.Errorf("reading with the key %q: %v", key, err)
		}
		if err == nil && in.Limits.K != 3 {
			t.Errorf("limits %+v", in.Limits)
		}
		if err := c.Put(t.Context(), item); (err == nil) != (key == made["write"]) {
			t.Errorf("writing with the key %q: %v", key, err)
		}
	}
	t.Setenv(serveEnv+"MAX_K", "many")
	if code, _, errOut := runArgs(t, "serve"); code != exitUsage || !strings.Contains(errOut, serveEnv+"MAX_K") {
		t.Errorf("status %d: %s", code, errOut)
	}
}
