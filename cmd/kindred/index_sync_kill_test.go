//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/foldersync"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/store"
)

// disturbOften does a few things with a folder of photos that people and programs do.
func disturbOften(t *testing.T, dir string, rng *rand.Rand, round int) {
	t.Helper()
	for k := range 2 + rng.IntN(4) {
		disturbOnce(t, dir, rng, round, k)
	}
	if rng.IntN(2) == 0 {
		makeOld(t, dir)
	}
}

// disturbOnce does the thing number k of a round.
func disturbOnce(t *testing.T, dir string, rng *rand.Rand, round, k int) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*", "*.png"))
	if err != nil {
		t.Fatal(err)
	}
	one := all[rng.IntN(len(all))]
	class := filepath.Join(dir, fmt.Sprintf("c%d", rng.IntN(4)))
	switch rng.IntN(7) {
	case 0, 1:
		writeBytes(t, filepath.Join(class, fmt.Sprintf("%d-%d.png", round, k)), newNoisePicture(t, uint64(100*round+k)))
	case 2:
		writeBytes(t, one, newNoisePicture(t, uint64(100*round+k)))
	case 3:
		if err = os.MkdirAll(class, 0o777); err == nil {
			err = os.Rename(one, filepath.Join(class, fmt.Sprintf("moved %d-%d.png", round, k)))
		}
	case 4:
		err = os.Rename(filepath.Dir(one), filepath.Join(dir, fmt.Sprintf("renamed %d-%d", round, k)))
	case 5:
		if len(all) > 12 {
			err = os.Remove(one)
		}
	case 6:
		writeBytes(t, filepath.Join(class, fmt.Sprintf("broken %d-%d.png", round, k)),
			newBrokenPicture(t, uint64(100*round+k)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// vectorMap has the vector of each content, and the content of each vector.
type vectorMap struct {
	byContent map[string][]float32
	content   map[string]string
}

// add requires that items with one content have one vector, and no other items have it.
func (v *vectorMap) add(t *testing.T, where string, items map[string]store.Item) {
	t.Helper()
	if v.byContent == nil {
		v.byContent, v.content = map[string][]float32{}, map[string]string{}
	}
	for id, it := range items {
		content, _ := it.Columns[mirror.Digest].(string)
		bits := fmt.Sprint(it.Vector)
		if have, known := v.byContent[content]; known && !slices.Equal(have, it.Vector) || content == "" {
			t.Fatalf("%s: %s has a vector of another content", where, id)
		}
		if have, known := v.content[bits]; known && have != content {
			t.Fatalf("%s: %s has the vector of content %s", where, id, have)
		}
		v.byContent[content], v.content[bits] = it.Vector, content
	}
}

// itemContents says which content of which class each item is.
func itemContents(items map[string]store.Item) map[string]string {
	out := map[string]string{}
	for id, it := range items {
		out[id] = fmt.Sprint(it.Columns[mirror.Digest], it.Columns["label"])
	}
	return out
}

// TestIndexSyncKilled kills sync at random moments, in the middle of its writing among them:
// the index is as before or as the folder is, item by item the same, and never in between;
// every vector is that of the content. 6 times, 200 times with KINDRED_LONG.
func TestIndexSyncKilled(t *testing.T) {
	times := 6
	if os.Getenv("KINDRED_LONG") != "" {
		times = 200
	}
	dir, ix, runDir := newFollowedIndex(t)
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 7))
	v := vectorMap{}
	outcome := map[string]int{}
	before, span := readItems(t, ix), 40*time.Millisecond
	for round := 0; outcome["killed"] < times && round < 10*times; round++ {
		disturbOften(t, dir, rng, round)
		killed := syncAndKill(t, dir, ix, rng, &span)
		after := readItems(t, ix)
		c, err := index.Check(t.Context(), ix, index.CheckOptions{})
		if err != nil || len(c.Problems) > 0 {
			t.Fatalf("seed %d, round %d: %+v, %v", seed, round, c, err)
		}
		v.add(t, fmt.Sprintf("seed %d, round %d", seed, round), after)
		switch got, was := fmt.Sprint(itemContents(after)), fmt.Sprint(itemContents(before)); {
		case got == was:
			outcome["as before"]++
		default:
			checkComplete(t, fmt.Sprintf("seed %d, round %d, killed %v", seed, round, killed), dir, ix)
			outcome["done"]++
		}
		if killed {
			outcome["killed"]++
		}
		before = after
	}
	t.Logf("killed %d times: %v", times, outcome)
	if outcome["killed"] < times {
		t.Error("it ended before it was killed: the test shows nothing")
	}
	mustRun(t, "index", "sync", dir, "--index", ix, "--yes")
	makeOld(t, dir)
	mustRun(t, "index", "sync", dir, "--index", ix, "--yes")
	checkMirror(t, ix, dir, runDir)
}

// checkComplete requires that all of a change was made: nothing is left to do but to note times, and which files are no
// pictures.
func checkComplete(t *testing.T, where, dir, ix string) {
	t.Helper()
	var res foldersync.Result
	kindredJSON(t, &res, "index", "sync", dir, "--index", ix, "--dry-run")
	for _, c := range res.Changes {
		if c.Kind == "touched" || c.Kind == "refused" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(c.ID)))
		if err == nil && c.Kind == "added" {
			_, err = png.Decode(bytes.NewReader(b))
		}
		if err == nil || c.Kind != "added" {
			t.Fatalf("%s: a part was done: %+v", where, res)
		}
	}
}

// syncAndKill starts sync and kills it a little after its table, at most span. It tells
// whether that came before its end, and makes span about as long as sync takes here.
func syncAndKill(t *testing.T, dir, ix string, rng *rand.Rand, span *time.Duration) bool {
	t.Helper()
	cmd := newChild(t, fmt.Sprintf("index sync %s --index %s --yes", dir, ix))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait := time.Duration(rng.Float64() * float64(*span))
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasSuffix(lines.Text(), "to embed") {
			time.Sleep(wait)
			cmd.Process.Kill()
		}
	}
	err = cmd.Wait()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err != nil && !status.Signaled() {
		t.Fatalf("sync: %v", err)
	}
	if *span = *span * 11 / 10; !status.Signaled() {
		*span = max(time.Millisecond, *span*2/3)
	}
	return status.Signaled()
}

// --watch takes up what happens while it runs, and ends with status 0 at a signal.
func TestIndexSyncWatch(t *testing.T) {
	dir, ix, runDir := newFollowedIndex(t)
	cmd := newChild(t, fmt.Sprintf("index sync %s --index %s --watch --yes --every 1s", dir, ix))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	writeBytes(t, filepath.Join(dir, "c0", "new.png"), newNoisePicture(t, 1))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer limit.Stop()
	told := map[string]bool{}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		switch text := strings.TrimSpace(lines.Text()); {
		case text == "c0/new.png" && !told[text]: // the first round
			if err := os.Rename(filepath.Join(dir, "c1"), filepath.Join(dir, "c7")); err != nil {
				t.Error(err)
			}
			told[text] = true
		case text == "c1/0.png -> c7/0.png":
			told[text] = true
			waitUntil(t, "the renamed photo", func() bool {
				_, there := readItems(t, ix)["c7/0.png"]
				return there
			})
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || len(told) != 2 {
		t.Fatalf("%v, saw %v", err, told)
	}
	mustRun(t, "index", "sync", dir, "--index", ix, "--yes")
	checkMirror(t, ix, dir, runDir)
}
