package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/foldersync"
	"github.com/kindred-ml/kindred/serve/api"
)

// followingState returns the state of the only collection of a server.
func followingState(t *testing.T, c *api.Client) (f api.Following, items int) {
	t.Helper()
	info, err := c.Info(t.Context())
	if err != nil || info.Collections[0].Following == nil {
		t.Fatal(info, err)
	}
	return *info.Collections[0].Following, info.Collections[0].Items
}

// Many missing photos wait for a decision, which lasts through a restart and for 'kindred index sync'. What is kept can
// be removed by hand; a photo that is there cannot.
func TestServeSyncDecisions(t *testing.T) {
	dir, ix, _ := newFollowedIndex(t) // six photos of each of three classes
	client := func() (*api.Client, func()) {
		s, stop := startServe(t, ix, "--sync", dir, "--sync-every", "100ms")
		c, err := api.NewClient(s.URL, api.ClientOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return c, func() { stop() }
	}
	c, stop := client()
	if err := os.RemoveAll(filepath.Join(dir, "c2")); err != nil {
		t.Fatal(err)
	}
	writeBytes(t, filepath.Join(dir, "c0", "new.png"), newNoisePicture(t, 4))
	var waits *api.Pending
	waitUntil(t, "the list", func() bool {
		var err error
		if waits, err = c.Pending(t.Context(), 0, 4); err != nil {
			t.Fatal(err)
		}
		_, items := followingState(t, c)
		return waits != nil && items == 19
	})
	rest, err := c.Pending(t.Context(), waits.Next, 4)
	if err != nil || waits.Removed != 6 || len(waits.List) != 4 || len(rest.List) != 2 || rest.Next != 0 ||
		waits.List[0].Label != "c2" || waits.List[0].Path != filepath.Join(dir, filepath.FromSlash(waits.List[0].ID)) {
		t.Fatalf("%+v, %+v, %v", waits, rest, err)
	}
	var refused *api.Error
	if err := c.Decide(t.Context(), strings.Repeat("0", 64), api.RemovePending); !errors.As(err, &refused) ||
		refused.Status != 409 {
		t.Fatal(err)
	}
	if err := c.Decide(t.Context(), waits.ID, api.KeepPending); err != nil {
		t.Fatal(err)
	}
	stop()
	mustRun(t, "index", "sync", dir, "--index", ix, "--yes")
	c, stop = client()
	waitUntil(t, "the state", func() bool {
		f, items := followingState(t, c)
		return f.State == api.Current && f.Kept == 6 && f.Pending == nil && items == 19
	})
	first := waits.List[0].ID
	if _, err := c.Delete(t.Context(), first, "c0/new.png"); !errors.As(err, &refused) || refused.Status != 409 {
		t.Fatal(err)
	}
	if n, err := c.Delete(t.Context(), first); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "c1")); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the next list", func() bool {
		waits, err = c.Pending(t.Context(), 0, 0)
		return waits != nil && waits.Removed == 6
	})
	if err := c.Decide(t.Context(), waits.ID, api.RemovePending); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the removal", func() bool {
		f, items := followingState(t, c)
		return items == 12 && f.Kept == 5 && f.Pending == nil
	})
	stop()
}

// A folder that is missing or empty removes nothing, whatever share may go and whatever was confirmed.
func TestServeSyncUnmounted(t *testing.T) {
	dir, ix, _ := newFollowedIndex(t)
	s, stop := startServe(t, ix, "--sync", dir, "--sync-every", "100ms", "--sync-most", "1")
	c, err := api.NewClient(s.URL, api.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	said := ""
	for range 2 { // missing, then empty
		waitUntil(t, "the error", func() bool {
			f, items := followingState(t, c)
			if items != 18 {
				t.Fatalf("%d items", items)
			}
			if f.State != api.Failed || f.Error == said {
				return false
			}
			said = f.Error
			return true
		})
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if n := len(readItems(t, ix)); n != 18 {
		t.Errorf("%d items", n)
	}
}

// Four files that cannot be read are not counted as added, in the log, in /v1/info and by 'kindred index sync'.
func TestSyncCountsWhatWasDone(t *testing.T) {
	for _, by := range []string{"server", "command"} {
		dir, ix, _ := newFollowedIndex(t)
		for i := range 4 {
			writeBytes(t, filepath.Join(dir, "c0", fmt.Sprint("broken", i, ".png")), newBrokenPicture(t, uint64(i)))
		}
		writeBytes(t, filepath.Join(dir, "c0", "good.png"), newNoisePicture(t, 9))
		if by == "command" {
			var res foldersync.Result
			kindredJSON(t, &res, "index", "sync", dir, "--index", ix)
			if res.Counts["added"] != 1 || res.Counts["left_out"] != 4 || res.Embedded != 1 || len(res.LeftOut) == 0 {
				t.Errorf("%+v", res)
			}
			continue
		}
		var log safeBuffer
		s, stop := startServeWithLog(t, &log, ix, "--sync", dir, "--sync-every", "100ms")
		c, err := api.NewClient(s.URL, api.ClientOptions{})
		if err != nil {
			t.Fatal(err)
		}
		waitUntil(t, "the photo, and the end of the comparison", func() bool {
			f, items := followingState(t, c)
			return items == 19 && f.State == api.Current
		})
		f, _ := followingState(t, c)
		n := 0
		for _, l := range f.LeftOut {
			n += l.Count
		}
		if n != 4 || f.State != api.Current {
			t.Errorf("%+v", f)
		}
		stop()
		if text := log.String(); !strings.Contains(text, `"embedded":1,"added":1,`) ||
			!strings.Contains(text, `"left_out":4`) || strings.Count(text, "photos were left out") != len(f.LeftOut) {
			t.Error(text)
		}
	}
}
