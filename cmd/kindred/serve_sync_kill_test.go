//go:build unix

package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
)

// photoDigests has the digest of each photo of a folder by its id.
func photoDigests(t *testing.T, dir string) map[string]string {
	t.Helper()
	set, err := data.Open(t.Context(), dir, data.OpenOptions{Unlabelled: true})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	facts, err := mirror.ReadFileRecords(t.Context(), set.All(), dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i, f := range facts {
		out[set.Names[i]] = f.Digest
	}
	return out
}

// TestServeSyncKilled kills serve --sync at random moments while it embeds and writes, in every other round while
// the folder changes. In the other rounds the index is as before or as the folder is. An item whose photo did not
// change is never lost, and no item is of a photo that was not there; every vector is that of the content. 6 times,
// 200 times with KINDRED_LONG.
func TestServeSyncKilled(t *testing.T) {
	times := 6
	if os.Getenv("KINDRED_LONG") != "" {
		times = 200
	}
	dir, ix, runDir := newFollowedIndex(t)
	for i := range 30 { // so that few removals are less than a tenth
		writeBytes(t, filepath.Join(dir, fmt.Sprint("more", i%3), fmt.Sprint(i, ".png")),
			newNoisePicture(t, uint64(1e6+i)))
	}
	mustRun(t, "index", "sync", dir, "--index", ix)
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 8))
	v := vectorMap{}
	outcome := map[string]int{}
	before, span := readItems(t, ix), 60*time.Millisecond
	round := 0
	for ; round < times || (outcome["changed"] == 0 || outcome["as before"] == 0) && round < 10*times; round++ {
		where := fmt.Sprintf("seed %d, round %d", seed, round)
		busy := round%2 == 1
		if !busy {
			disturbOften(t, dir, rng, round)
		}
		seen := []map[string]string{photoDigests(t, dir)}
		finished := serveAndKill(t, dir, ix, rng, &span, func() {
			for k := range 3 {
				if busy {
					disturbOnce(t, dir, rng, round, k)
					seen = append(seen, photoDigests(t, dir))
				}
			}
		})
		after := readItems(t, ix)
		c, err := index.Check(t.Context(), ix, index.CheckOptions{})
		if err != nil || len(c.Problems) > 0 || c.Items != len(after) {
			t.Fatalf("%s: %d items, %+v, %v", where, len(after), c, err)
		}
		v.add(t, where, after)
		was, is := itemContents(before), itemContents(after)
		for id := range is {
			content, known := after[id].Columns[mirror.Digest], was[id] == is[id]
			for _, now := range seen {
				known = known || now[id] == content
			}
			if !known {
				t.Fatalf("%s: %s is of a photo that was not there", where, id)
			}
		}
		for id, it := range before {
			stays := true
			for _, now := range seen {
				stays = stays && now[id] == it.Columns[mirror.Digest]
			}
			if stays && after[id].Columns[mirror.Digest] != it.Columns[mirror.Digest] {
				t.Fatalf("%s: %s is lost", where, id)
			}
		}
		if fmt.Sprint(was) == fmt.Sprint(is) {
			outcome["as before"]++
		} else if outcome["changed"]++; !busy {
			checkComplete(t, where, dir, ix)
		}
		if finished {
			outcome["killed after a change"]++
		}
		if rng.IntN(4) == 0 { // what is more than a tenth is refused by the server
			mustRun(t, "index", "sync", dir, "--index", ix, "--yes")
		}
		before = readItems(t, ix)
	}
	t.Logf("killed %d times: %v", round, outcome)
	if outcome["changed"] == 0 || outcome["as before"] == 0 {
		t.Error("it was killed before or after all changes: the test shows nothing")
	}
	mustRun(t, "index", "sync", dir, "--index", ix, "--yes")
	makeOld(t, dir)
	mustRun(t, "index", "sync", dir, "--index", ix, "--yes")
	checkMirror(t, ix, dir, runDir)
}

// serveAndKill starts a server that follows a folder, and kills it at most span after it listens and meanwhile was
// called. It reports whether a change was complete, and makes span about as long as a change takes here.
func serveAndKill(t *testing.T, dir, ix string, rng *rand.Rand, span *time.Duration, meanwhile func()) bool {
	t.Helper()
	cmd := newChild(t, fmt.Sprintf("serve %s --sync %s --sync-every 20ms --listen 127.0.0.1:0", ix, dir))
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer limit.Stop()
	wait := time.Duration(rng.Float64() * float64(*span))
	listens, finished, text := false, false, ""
	var killer sync.WaitGroup
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		text += lines.Text() + "\n"
		if strings.Contains(lines.Text(), `"listening"`) && !listens {
			listens = true
			meanwhile()
			killer.Go(func() {
				time.Sleep(wait)
				cmd.Process.Kill()
			})
		}
		finished = finished || strings.Contains(lines.Text(), `"the index follows the folder"`)
	}
	killer.Wait()
	_ = cmd.Wait()
	if !listens {
		t.Fatalf("it did not listen: %s", text)
	}
	if *span = *span * 11 / 10; finished {
		*span = max(time.Millisecond, *span*2/3)
	}
	return finished
}
