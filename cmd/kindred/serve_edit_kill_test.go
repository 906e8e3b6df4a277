//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// startKillable starts a server as a process of its own, which stop kills.
func startKillable(t *testing.T, args string) (c *api.Client, stop func()) {
	t.Helper()
	cmd := newChild(t, "serve "+args+" --listen 127.0.0.1:0")
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	url := make(chan string, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		text := ""
		for lines := bufio.NewScanner(log); lines.Scan(); {
			text += lines.Text() + "\n"
			if m := regexp.MustCompile(`"listening","url":"([^"]+)"`).FindStringSubmatch(lines.Text()); m != nil {
				url <- m[1]
			}
		}
		close(url)
	}()
	address, ok := <-url
	if !ok {
		t.Fatal("it did not listen")
	}
	if c, err = api.NewClient(address, api.ClientOptions{Retries: -1}); err != nil {
		t.Fatal(err)
	}
	return c, func() {
		_ = cmd.Process.Kill()
		<-ended
		var killed *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &killed) {
			t.Error(err)
		}
	}
}

// handEdits are edits by people: what was confirmed for each content, and what may have been written when the server
// was killed.
type handEdits struct {
	confirmed, maybe map[string]map[string]any
}

// edit relabels photos of all contents and undoes half of it, until the server is killed. A photo that moves meanwhile
// has another id: then the edit is refused as a whole, and tried again.
func (h *handEdits) edit(t *testing.T, c *api.Client, round int) {
	for k := 0; ; k++ {
		byID := map[string]string{}
		for after := ""; ; {
			list, err := c.List(t.Context(), store.Page{After: after, Limit: 1000})
			if err != nil {
				return
			}
			for _, it := range list.Items {
				content, _ := it.Columns[mirror.Digest].(string)
				byID[it.ID] = content
			}
			if after = list.Next; after == "" {
				break
			}
		}
		value := map[string]any{"label": fmt.Sprintf("hand %d-%d", round, k), "price": float64(100*round + k)}
		h.maybe = map[string]map[string]any{}
		for _, content := range byID {
			h.maybe[content] = value
		}
		out, err := c.EditAll(t.Context(), api.Edits{IDs: slices.Collect(maps.Keys(byID)), Columns: value})
		var refused *api.Error
		switch {
		case errors.As(err, &refused):
			h.maybe = nil
			continue
		case err != nil:
			return
		}
		for _, content := range byID {
			h.confirmed[content] = value
		}
		half := out.Before[:len(out.Before)/2]
		h.maybe = map[string]map[string]any{}
		for _, e := range half {
			h.maybe[byID[e.ID]] = e.Columns
		}
		if _, err = c.EditAll(t.Context(), api.Edits{Items: half}); err == nil {
			maps.Copy(h.confirmed, h.maybe)
		} else if !errors.As(err, &refused) {
			return
		}
		h.maybe = nil
	}
}

// check requires that the items have what was confirmed. The label of a photo in wandered may also be that of a folder
// into which it was moved.
func (h *handEdits) check(t *testing.T, where, ix string, wandered map[string]bool) {
	t.Helper()
	found := map[string]map[string]any{}
	for _, it := range readItems(t, ix) {
		content, _ := it.Columns[mirror.Digest].(string)
		found[content] = it.Columns
	}
	for content, want := range h.confirmed {
		columns, ok := found[content]
		if !ok {
			t.Fatalf("%s: the item of %s is lost", where, content)
		}
		for name, v := range want {
			folder := name == "label" && wandered[content] && strings.HasPrefix(fmt.Sprint(columns[name]), "c")
			if other, may := h.maybe[content]; columns[name] != v && !folder && !(may && columns[name] == other[name]) {
				t.Fatalf("%s: %s is %v, confirmed was %v", where, name, columns[name], v)
			}
		}
		h.confirmed[content] = map[string]any{"label": columns["label"], "price": columns["price"]}
	}
	h.maybe = nil
}

// TestServeEditsKilled relabels 200 items by hand and undoes half of it, again and again, under serve --sync, while
// photos are added and moved, and kills the server: nothing that was confirmed is lost, and no comparison undoes it. 5
// times, 100 times with KINDRED_LONG.
func TestServeEditsKilled(t *testing.T) {
	times := 5
	if os.Getenv("KINDRED_LONG") != "" {
		times = 100
	}
	dir, ix, _ := newFollowedIndex(t)
	for i := range 200 {
		writeBytes(t, filepath.Join(dir, fmt.Sprint("c", i%3), fmt.Sprint("more", i, ".png")),
			newNoisePicture(t, uint64(1e6+i)))
	}
	mustRun(t, "index", "sync", dir, "--index", ix)
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 8))
	h := &handEdits{confirmed: map[string]map[string]any{}}
	wandered := map[string]bool{}
	for round := range times {
		c, kill := startKillable(t, fmt.Sprintf("%s --sync %s --sync-every 20ms --rate -1", ix, dir))
		var all sync.WaitGroup
		all.Go(func() { h.edit(t, c, round) })
		for k := range 6 {
			files, err := filepath.Glob(filepath.Join(dir, "c*", "*.png"))
			if err != nil {
				t.Fatal(err)
			}
			one := files[rng.IntN(len(files))]
			class := filepath.Base(filepath.Dir(one))
			if k%3 == 0 {
				class = fmt.Sprint("c", rng.IntN(3))
				content := photoDigests(t, dir)[filepath.ToSlash(strings.TrimPrefix(one, dir+"/"))]
				wandered[content] = true
			}
			to := filepath.Join(dir, class, fmt.Sprintf("moved%d-%d.png", round, k))
			if err := os.Rename(one, to); err != nil {
				t.Fatal(err)
			}
			writeBytes(t, filepath.Join(dir, class, fmt.Sprintf("new%d-%d.png", round, k)),
				newNoisePicture(t, uint64(2e6+100*round+k)))
			time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
		}
		kill()
		all.Wait()
		h.check(t, fmt.Sprint("round ", round), ix, wandered)
	}
	if len(h.confirmed) < 200 {
		t.Errorf("%d items were changed: the test shows nothing", len(h.confirmed))
	}
	mustRun(t, "index", "sync", dir, "--index", ix)
	h.check(t, "after index sync", ix, wandered)
	makeOld(t, dir)
	mustRun(t, "index", "sync", dir, "--index", ix)
	h.check(t, "after another", ix, nil)
	moved := filepath.Join(dir, "c9")
	if err := os.Rename(filepath.Join(dir, "c2"), moved); err != nil { // a newer statement than any edit
		t.Fatal(err)
	}
	mustRun(t, "index", "sync", dir, "--index", ix, "--yes")
	for id, it := range readItems(t, ix) {
		if strings.HasPrefix(id, "c9/") && (it.Columns["label"] != "c9" || it.Columns[mirror.Labels] != nil) {
			t.Errorf("%s: %v", id, it.Columns)
		}
	}
}
