package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/serve/api"
)

// A folder that is missing, empty, or has only empty folders, as while a disk is not mounted, removes no item: not
// with --yes, not with --watch, and not from a server. When it is back, it is followed again.
func TestIndexSyncUnmounted(t *testing.T) {
	dir, ix, runDir := newFollowedIndex(t)
	without := func(missing func(says string), back func()) {
		t.Helper()
		tryUnmounted(t, dir, ix, missing, back)
	}
	without(func(says string) {
		code, _, stderr := runArgs(t, "index", "sync", dir, "--index", ix, "--yes")
		if code != exitFailure || !strings.Contains(stderr, says) {
			t.Errorf("%s: status %d: %s", says, code, stderr)
		}
	}, func() {})
	var log safeBuffer
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, []string{"index", "sync", dir, "--index", ix, "--yes", "--watch", "--every", "20ms"},
			io.Discard, &log)
	}()
	seen, photos := 0, 18
	without(func(says string) {
		waitUntil(t, says, func() bool { return strings.Contains(log.String()[seen:], says) })
		seen = len(log.String())
	}, func() {
		photos++
		writeBytes(t, filepath.Join(dir, "c0", fmt.Sprint(photos, ".png")), newNoisePicture(t, uint64(photos)))
		waitUntil(t, "the photo", func() bool { return len(readItems(t, ix)) == photos })
	})
	if stop(); <-ended != exitOK {
		t.Error(log.String())
	}
	server, end := startServeWithLog(t, &log, ix, "--sync", dir, "--sync-every", "20ms")
	c, err := api.NewClient(server.URL, api.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	state := func(is func(f *api.Following) bool) func() bool {
		return func() bool {
			info, err := c.Info(t.Context())
			if err != nil || info.Collections[0].Items < photos {
				t.Fatal(info, err)
			}
			return is(info.Collections[0].Following)
		}
	}
	without(func(says string) {
		waitUntil(t, says, state(func(f *api.Following) bool { return strings.Contains(f.Error, says) }))
	}, func() {
		waitUntil(t, "the folder", state(func(f *api.Following) bool { return f.State == api.Current }))
	})
	end()
	mustRun(t, "index", "sync", dir, "--index", ix)
	checkMirror(t, ix, dir, runDir)
}

// tryUnmounted calls missing while the photos of a folder are away, in each of three ways, and back when they are there
// again.
func tryUnmounted(t *testing.T, dir, ix string, missing func(says string), back func()) {
	t.Helper()
	away := dir + ".away"
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	ways := []struct {
		says    string
		folders []string
	}{{"no data set at", nil}, {"no images", []string{dir}}, {"no images", []string{dir + "/c0", dir + "/c1/d"}}}
	for _, u := range ways {
		move(dir, away)
		for _, folder := range u.folders {
			if err := os.MkdirAll(folder, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		missing(u.says)
		if n := len(readItems(t, ix)); n < 18 {
			t.Errorf("%s: %d items", u.says, n)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		move(away, dir)
		back()
	}
}
