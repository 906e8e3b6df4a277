package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/test/fakeqdrant"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// TestStoreCommands makes a store from photos and from an index, and looks into it, at a
// server of Qdrant's protocol.
func TestStoreCommands(t *testing.T) {
	fake, address := fakeqdrant.New(t)
	photos, run := searchRun(t)
	url := "qdrant://" + address + "#photos"
	ok := func(args ...string) string {
		t.Helper()
		code, out, errOut := runArgs(t, args...)
		if code != exitOK {
			t.Fatal(args, code, out, errOut)
		}
		return out
	}
	out := ok("index", "create", "--run", run, "--data", photos, "--store", url)
	if !strings.Contains(out, "photos: 18 items; 18 added, 0 replaced, 0 skipped") {
		t.Error(out)
	}
	out = ok("index", "create", "--run", run, "--data", photos, "--store", url)
	if !strings.Contains(out, "18 items; 0 added, 0 replaced, 18 skipped") {
		t.Error("not gone on with: ", out)
	}

	// The folder, pushed beside it, answers the same.
	dir := filepath.Join(t.TempDir(), "photos.index")
	ok("index", "create", "--run", run, "--data", photos, "--out", dir)
	pushed := "qdrant://" + address + "#pushed"
	ok("index", "push", dir, "--to", pushed, "--batch", "7")
	calls := 0
	fake.Fault(func(method string) error {
		if calls++; calls%5 == 0 {
			return grpcstatus.Error(codes.Unavailable, "not now")
		}
		return nil
	})
	ok("index", "push", dir, "--to", pushed, "--batch", "3")
	fake.Fault(nil)
	photo := filepath.Join(photos, "c0", "1.png")
	ask := []string{"--id", "c1/2.png", "--filter", `label != "c0"`, "--neighbours", "4", "--json"}
	var answers []string
	for _, of := range [][]string{{"index", "search", dir, photo},
		{"index", "search", "--store", url, "--run", run, photo},
		{"index", "search", "--store", pushed, "--run", run, photo}} {
		var got lookup.Results
		if err := json.Unmarshal([]byte(ok(append(of, ask...)...)), &got); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(got.Items)
		for _, q := range got.Queries {
			text += fmt.Sprint("; ", q.QueryIDs)
			for _, n := range q.Neighbours {
				text += fmt.Sprintf(" %s %s %.3f", n.ID, n.Label, n.Distance)
			}
		}
		answers = append(answers, text)
	}
	if answers[0] != answers[1] || answers[0] != answers[2] || !strings.Contains(answers[0], "c1/") {
		t.Errorf("the answers differ:\n%s", strings.Join(answers, "\n"))
	}
	if out := ok("search", photo, "--store", url, "--run", run, "--neighbours", "2"); !strings.Contains(out, "c0/") {
		t.Error(out)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"index", "search", "--store", url, photo}, "name with --run"},
		{[]string{"index", "search", "--store", url, "--id", "c1/2.png", "--filter", `label > "c0"`},
			"compares texts only by = and !="},
		{[]string{"index", "search", "--store", url, "--id", "nobody"}, "has no item"},
		{[]string{"index", "search", dir, "--run", run, photo}, "--run does not apply to an index"},
		{[]string{"index", "create", "--run", run, "--data", photos, "--store", url, "--out", dir}, "not both"},
		{[]string{"index", "create", "--run", run, "--data", photos, "--store", url, "--distance", "dot"},
			"the euclidean distance, not"},
		{[]string{"search", photo, "--store", url, "--in", photos}, "--in does not apply to a store"},
	} {
		if code, _, errOut := runArgs(t, c.args...); code == exitOK || !strings.Contains(errOut, c.says) {
			t.Errorf("%v: status %d, %s", c.args, code, errOut)
		}
	}
}

// TestTwoServers: what one server of a store writes, another finds.
func TestTwoServers(t *testing.T) {
	_, address := fakeqdrant.New(t)
	dir := filepath.Join(t.TempDir(), "i")
	x, err := index.Create(dir, index.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Add(t.Context(), []store.Item{{ID: "a", Vector: []float32{0, 0}}},
		index.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	url := "qdrant://" + address + "#things"
	if code, out, errOut := runArgs(t, "index", "push", dir, "--to", url); code != exitOK {
		t.Fatal(code, out, errOut)
	}
	var clients []*api.Client
	for range 2 {
		s, stop := startServe(t, "--store", url)
		defer stop()
		c, err := api.NewClient(s.URL, api.ClientOptions{})
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	if err := clients[0].Put(t.Context(), []store.Item{{ID: "b", Vector: []float32{1, 0}}}); err != nil {
		t.Fatal(err)
	}
	for i, c := range clients {
		found, err := c.Search(t.Context(), api.Search{ID: "a", K: 2})
		if err != nil || len(found.Neighbours) != 1 || found.Neighbours[0].ID != "b" {
			t.Errorf("server %d: %+v, %v", i, found, err)
		}
	}
	if _, err := clients[1].Delete(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	info, err := clients[0].Info(t.Context())
	if err != nil || info.Collections[0].Items != 1 {
		t.Errorf("%+v, %v", info, err)
	}
}
