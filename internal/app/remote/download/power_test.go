package download

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/test/powertest"
)

// TestPowerLoss looks at what a disk may hold after a loss of power at any step of
// transfers that break off, are gone on with, and find another file on the server: what
// has the file's name is whole, and the next call gets the file without a check of its
// content, which not every file has. 400 states with -short, 1,500 without, 10,000 with
// KINDRED_LONG.
func TestPowerLoss(t *testing.T) {
	states := 1500
	switch {
	case os.Getenv("KINDRED_LONG") != "":
		states = 10000
	case testing.Short():
		states = 400
	}
	looked := 0
	for seed := uint64(1); looked < states && !t.Failed(); seed++ {
		looked += tryPowerLoss(t, seed, min(500, states-looked))
	}
	t.Logf("%d states", looked)
}

// changingServer is a server whose file is replaced by others, told apart by their tags, and
// that breaks off.
type changingServer struct {
	versions [][]byte

	mu   sync.Mutex
	now  int
	most int // bytes before the connection breaks; 0: it does not
}

func (c *changingServer) set(now, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.most = now, most
}

func (c *changingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	now, most := c.now, c.most
	c.mu.Unlock()
	whole, etag := c.versions[now], fmt.Sprintf(`"%d"`, now)
	w.Header().Set("ETag", etag)
	from := 0
	if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); n == 1 && r.Header.Get("If-Range") == etag {
		if from >= len(whole) {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", len(whole)))
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return
		}
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(whole)-1, len(whole)))
		w.Header().Set("Content-Length", fmt.Sprint(len(whole)-from))
		w.WriteHeader(http.StatusPartialContent)
	} else {
		from = 0
		w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
	}
	if rest := whole[from:]; most > 0 && most < len(rest) {
		w.Write(rest[:most])
		panic(http.ErrAbortHandler)
	}
	w.Write(whole[from:])
}

// versionAt is the version that a file holds, -1 without a file.
func (c *changingServer) versionAt(path string) (version int, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	for k, v := range c.versions {
		if err == nil && bytes.Equal(b, v) {
			return k, nil
		}
	}
	return -1, fmt.Errorf("%d bytes of no version (%v)", len(b), err)
}

// tryPowerLoss records some calls, and looks at up to so many states.
func tryPowerLoss(t *testing.T, seed uint64, states int) (looked int) {
	rng := rand.New(rand.NewPCG(seed, 7))
	site := &changingServer{}
	for range 3 {
		b := make([]byte, 2000+rng.IntN(2000))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		site.versions = append(site.versions, b)
	}
	server := httptest.NewServer(site)
	defer server.Close()
	home := t.TempDir()
	disk := powertest.Record(t, home)
	c := Client{Tries: 1, files: disk.Files(), step: int64(300 + rng.IntN(1000))}
	f := File{URL: server.URL, Path: filepath.Join(home, "f")}
	complete := map[int]int{} // steps after which a version has been got
	now, most := 0, 0
	for range 8 {
		if rng.IntN(3) == 0 {
			now = min(now+1, len(site.versions)-1)
		}
		if most = 0; rng.IntN(3) > 0 {
			most = 1 + rng.IntN(1500)
		}
		site.set(now, most)
		if err := c.Get(t.Context(), f); err == nil {
			complete[disk.Steps()] = now
		} else if most == 0 {
			t.Fatal(err)
		}
	}
	disk.CheckComplete()
	pick := rand.New(rand.NewPCG(seed, 8))
	disk.States(seed, 4, func(s *powertest.State) bool {
		if pick.IntN(2) == 0 {
			return true
		}
		looked++
		least := -1 // the version that is there at least
		for at, k := range complete {
			if at <= s.Steps {
				least = max(least, k)
			}
		}
		dir := t.TempDir()
		s.Write(t, dir)
		path := filepath.Join(dir, "f")
		place := fmt.Sprintf("seed %d, after step %d of %d", seed, s.Steps, disk.Steps())
		if k, err := site.versionAt(path); err != nil || k < least {
			t.Errorf("%s: version %d is there, %d was got: %v", place, k, least, err)
		}
		now := len(site.versions) - 1 - pick.IntN(2)
		site.set(now, 0)
		again := Client{Tries: 1, files: atomic.Files{Trace: func(atomic.Step) {}}}
		err := again.Get(t.Context(), File{URL: server.URL, Path: path})
		if k, e := site.versionAt(path); err != nil || e != nil || k != now {
			t.Errorf("%s: got version %d, want %d: %v, %v", place, k, now, err, e)
		}
		return looked < states && !t.Failed()
	})
	return looked
}
