package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/kindred-ml/kindred/internal/jobs"
)

func secret(b byte) []byte { return bytes.Repeat([]byte{b}, minSecret) }

// TestSecret: a worker with a secret does the jobs that are signed with it, checkpoints
// and large results and all, and says of every other why it does not do it.
func TestSecret(t *testing.T) {
	url := serve(t)
	var mu sync.Mutex
	said := ""
	log := func(line string) { mu.Lock(); defer mu.Unlock(); said += line + "\n" }
	work(t, &Worker{Queue: connect(t, Options{URL: url, Secret: secret(1)}), Kinds: kinds(), Log: log})
	list := list(t, "chain", chain{Seed: 1, Steps: 9}, chain{Seed: 2, Steps: 5, Bytes: maxInline + 1})
	with := connect(t, Options{URL: url, Secret: secret(1)})
	results, err := with.Run(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	if have, want := outputs(results), alone(t, list); have != want {
		t.Errorf("%s, alone %s", have, want)
	}
	if err := with.Forget(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]Options{
		"it is not signed, but this worker does only signed jobs":   {URL: url},
		"it is signed with another secret than this worker's: give": {URL: url, Secret: secret(2)},
	} {
		q := connect(t, o)
		_, err := q.Run(t.Context(), list[:1])
		var failed *jobs.FailedError
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "remove") {
			t.Errorf("%v, want %q", err, want)
		}
		// The worker says it once the refusal is stored, which the command may hear first.
		told := func() bool { mu.Lock(); defer mu.Unlock(); return strings.Contains(said, want) }
		for end := time.Now().Add(30 * time.Second); !told() && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		if !told() {
			t.Errorf("the worker said %s", said)
		}
		if err := q.Forget(t.Context(), list[:1]); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnsignedResult: a leader with a secret takes no result of a worker without.
func TestUnsignedResult(t *testing.T) {
	url := serve(t)
	work(t, &Worker{Queue: connect(t, Options{URL: url}), Name: "stranger", Kinds: kinds()})
	q := connect(t, Options{URL: url, Secret: secret(1)})
	results, err := q.Run(t.Context(), list(t, "chain", chain{Seed: 1, Steps: 2}))
	if err == nil || !strings.Contains(err.Error(), `give "stranger" the same secret`) {
		t.Error(err)
	}
	if len(results) != 1 || results[0].Output != nil {
		t.Errorf("the result was handed on: %v", results)
	}
}

// TestChanged: what somebody has changed in the queue is refused: a job, with and
// without a secret, a title, a checkpoint, a file.
func TestChanged(t *testing.T) {
	for _, o := range []Options{{}, {Secret: secret(1)}} {
		o.URL = serve(t)
		q := connect(t, o)
		mine := list(t, "chain", chain{Seed: 1, Steps: 2})[0]
		other := list(t, "chain", chain{Seed: 7, Steps: 2})[0]
		titled := mine
		titled.Title = "another"
		key := q.key(mine)
		for name, j := range map[string]jobs.Job{"job": other, "title": titled} {
			if name == "title" && o.Secret == nil {
				continue
			}
			g := jobValue{Job: j, Lane: q.lane, Signature: q.signJob(q.key(other), other)}
			if name == "title" {
				g.Signature = q.signJob(key, mine)
			}
			text, err := json.Marshal(g)
			if err != nil {
				t.Fatal(err)
			}
			var back jobValue
			if err := json.Unmarshal(text, &back); err != nil {
				t.Fatal(err)
			}
			if err := q.verify(key, &back); err == nil {
				t.Errorf("secret %v: another %s is done", o.Secret != nil, name)
			}
		}
		name, err := q.Store(t.Context(), func(w io.Writer) error {
			_,
				err := io.WriteString(w, "content")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := readAll(q.Open(t.Context(), name)); err != nil || b != "content" {
			t.Error(b, err)
		}
		if _, err := q.objects.Put(t.Context(), jetstream.ObjectMeta{Name: "file." + name},
			strings.NewReader("changed")); err != nil {
			t.Fatal(err)
		}
		_, err = readAll(q.Open(t.Context(), name))
		if err == nil || !strings.Contains(err.Error(), "another content") {
			t.Errorf("a changed file: %v", err)
		}
	}
}

func readAll(r io.ReadCloser, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return string(b), err
}

// TestChangedCheckpoint: a checkpoint that another process has replaced, or written for
// another job, is not gone on from.
func TestChangedCheckpoint(t *testing.T) {
	q := connect(t, Options{URL: serve(t), Secret: secret(1)})
	s := &session{w: &Worker{Queue: q}}
	save := func(key string) *task {
		t.Helper()
		tk := &task{session: s, key: key}
		text, err := json.Marshal(record{State: Running})
		if err != nil {
			t.Fatal(err)
		}
		if tk.revision, err = q.states.Create(t.Context(), "state."+key, text); err != nil {
			t.Fatal(err)
		}
		err = tk.Save(t.Context(), func(w io.Writer) error { _, err := io.WriteString(w, "state of "+key); return err })
		if err != nil {
			t.Fatal(err)
		}
		return tk
	}
	one, two := save("a"), save("b")
	if have, err := readAll(one.Restore(t.Context())); err != nil || have != "state of a" {
		t.Fatal(have, err)
	}
	const want = "not signed with this worker's secret"
	one.record.Checkpoint, one.record.CheckpointSignature = two.record.Checkpoint, two.record.CheckpointSignature
	if _, err := readAll(one.Restore(t.Context())); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("another job's: %v", err)
	}
	if _, err := q.objects.Put(t.Context(), jetstream.ObjectMeta{Name: two.record.Checkpoint},
		strings.NewReader("changed")); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(two.Restore(t.Context())); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a changed one: %v", err)
	}
}

func TestReadSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	for text, want := range map[string]string{"": "is not a secret", strings.Repeat(" ", 100): "is not a secret",
		strings.Repeat("x", minSecret-1): "is not a secret", strings.Repeat("x", maxSecret+1): "at most 4 KiB"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadSecret(path)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "xxx") {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	least, most := strings.Repeat("x", minSecret), strings.Repeat("x", maxSecret)
	for text, want := range map[string]string{" " + least + "\r\n": least, least: least, most: most,
		most[:maxSecret-1] + "\n": most[:maxSecret-1]} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := ReadSecret(path); err != nil || string(s) != want {
			t.Errorf("%d bytes: %.40q, %v", len(text), s, err)
		}
	}
	if _, err := ReadSecret(path + "?"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestExposed(t *testing.T) {
	for url, want := range map[string]string{"nats://a:4222": "nats://a:4222", "a:4222": "nats://a:4222",
		"nats://127.0.0.1:4222": "", "nats://localhost": "", "localhost:4222": "", "nats://[::1]:4222": "",
		"nats://10.1.2.3:4222": "nats://10.1.2.3:4222", "nats://[::ffff:127.0.0.1]": "",
		"nats://[2001:db8::1]:1": "nats://[2001:db8::1]:1",

		"tls://a:4222": "", "nats://me:word@a:4222": "", "nats://token@a": "", "wss://a": "", "ws://a:80": "ws://a:80",
		"nats://localhost, nats://b:1": "nats://b:1", "tls://a,nats://b": "nats://b", "": ""} {
		if have := (&Options{URL: url}).InsecureServer(); have != want {
			t.Errorf("%s: %q, want %q", url, have, want)
		}
	}
	for _, o := range []Options{{Credentials: "me.creds"}, {Cert: "me.pem"}} {
		o.URL = "nats://a:4222"
		if have := o.InsecureServer(); have != "" {
			t.Errorf("%s with credentials", have)
		}
	}
}
