package queue

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/internal/test/queuetest"
)

// The test binary is also the processes that TestKilled kills: roleVar says which,
// urlVar where the queue is, listVar which file has the jobs.
const (
	roleVar = "KINDRED_TEST_ROLE"
	urlVar  = "KINDRED_TEST_URL"
	listVar = "KINDRED_TEST_LIST"
)

// play is a leader, which writes what it got beside the list, or a worker.
func play(role string) error {
	ctx := context.Background()
	q, err := Connect(ctx, Options{URL: os.Getenv(urlVar), Lease: lease, Losses: 1000})
	if err != nil {
		return err
	}
	defer q.Close()
	if role == "worker" {
		count := jobs.Kinds{"chain": doChain}
		return (&Worker{Queue: q, Kinds: count}).Work(ctx)
	}
	text, err := os.ReadFile(os.Getenv(listVar))
	if err != nil {
		return err
	}
	var all []jobs.Job
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	results, err := q.Run(ctx, all)
	if err != nil {
		return err
	}
	out := os.Getenv(listVar) + ".out"
	if err := os.WriteFile(out+".part", []byte(outputs(results)), 0o666); err != nil {
		return err
	}
	return os.Rename(out+".part", out)
}

// process starts the test binary in a role.
func process(t *testing.T, role, url, list string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+role, urlVar+"="+url, listVar+"="+list)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestKilled: three servers, four workers and a leader, all of them processes of
// their own but for the servers. Leader and workers are killed again and again, and
// one server after the other goes away and comes back; what comes out is what one
// process comes to alone.
//
// Long: it is one story.
func TestKilled(t *testing.T) {
	kills, n, steps := 6, 24, 24
	if os.Getenv("KINDRED_LONG") != "" {
		kills, steps = 20, 80
	} else if testing.Short() {
		t.Skip("kills processes for half a minute")
	}
	servers := queuetest.Cluster(t)
	url := servers.URL
	var specs []any
	for i := range n {
		specs = append(specs, chain{Seed: uint64(i), Steps: steps, Pause: 40, Bytes: i * 3000})
	}
	all := list(t, "chain", specs...)
	want := alone(t, all)
	path := filepath.Join(t.TempDir(), "list")
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	const leader = 4
	roles := []string{"worker", "worker", "worker", "worker", "leader"}
	running := make([]*exec.Cmd, len(roles))
	for i, role := range roles {
		running[i] = process(t, role, url, path)
	}
	t.Cleanup(func() {
		for _, c := range running {
			c.Process.Kill()
			c.Wait()
		}
	})
	done := func() bool { _, err := os.Stat(path + ".out"); return err == nil }
	rng := rand.New(rand.NewPCG(1, 1))
	killed, stopped := 0, 0
	for ; killed < kills && !done(); killed++ {
		switch killed % 2 { // two of three servers are the fewest that agree
		case 0:
			servers.Stop(stopped % 3)
		case 1:
			servers.Start(t, stopped%3)
			stopped++
		}
		time.Sleep(time.Duration(300+rng.IntN(900)) * time.Millisecond)
		i := rng.IntN(len(roles))
		running[i].Process.Kill()
		running[i].Wait()
		running[i] = process(t, roles[i], url, path)
	}
	if killed%2 == 1 {
		servers.Start(t, stopped%3)
	}
	for begun := time.Now(); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			t.Fatal("the jobs do not come to an end")
		}
	}
	if err := running[leader].Wait(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Errorf("the leader: %v", err)
		}
	}
	got, err := os.ReadFile(path + ".out")
	if err != nil || string(got) != want {
		t.Fatalf("%v:\n%s\nwant\n%s", err, got, want)
	}
	q := connect(t, Options{URL: url})
	states, err := q.List(t.Context())
	if err != nil || len(states) != n {
		t.Fatalf("%d jobs, %v", len(states), err)
	}
	losses := 0
	for _, s := range states {
		if losses += s.Losses; s.State != Done || s.Tries > 0 {
			t.Errorf("%+v", s)
		}
	}
	info, err := q.todo.Info(t.Context())
	if err != nil || info.State.Msgs > 0 || info.Config.Replicas != 3 {
		t.Errorf("%d messages left, %d replicas, %v", info.State.Msgs, info.Config.Replicas, err)
	}
	for _, name := range []string{"KV_kindred", "OBJ_kindred"} {
		s, err := q.js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if s.CachedInfo().Config.AllowDirect {
			t.Errorf("%s may be read from a server that is behind", name)
		}
	}
	objects, err := q.objects.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d processes killed, %d servers stopped, %d leases lost, %d objects left", killed, stopped, losses,
		len(objects))
}
