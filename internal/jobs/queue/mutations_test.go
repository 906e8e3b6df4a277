package queue

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/internal/test/mutations"
)

// TestMutations changes the state of a job, and a job as it stands in a queue.
func TestMutations(t *testing.T) {
	whole, err := json.Marshal(&record{State: Done, Kind: "embed", Title: "t", Lane: "l", Tries: 2, Worker: "w",
		Token: "x", Inline: []byte("result"), OutputSignature: "s"})
	if err != nil {
		t.Fatal(err)
	}
	q := &Queue{o: Options{Secret: secret(1)}, lane: "0123456789ab"}
	j := jobs.Job{Kind: "embed", Spec: json.RawMessage(`{"data":"a<b","to":9}`), Title: "embed: birds"}
	key := q.key(j)
	signed, err := json.Marshal(jobValue{j, q.lane, q.signJob(key, j)})
	if err != nil {
		t.Fatal(err)
	}
	mutations.Try(t,
		mutations.Reader{Name: "state of a job", Valid: []string{string(whole)}, Read: func(text []byte) error {
			_, err := parseRecord(text)
			return err
		}},
		mutations.Reader{Name: "job in a queue", Valid: []string{string(signed)}, Read: func(text []byte) error {
			g, err := parseJobValue(text)
			if err != nil {
				return err
			}
			return q.verify(key, g)
		}})
}

// A job that no worker would read is refused by who submits it: nobody would ever take it.
func TestTooDeep(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	deep := func(n int) jobs.Job {
		return jobs.Job{Kind: "k", Spec: []byte(strings.Repeat("[", n) + strings.Repeat("]", n))}
	}
	done := jobs.Kinds{"k": func(context.Context, jobs.Task) ([]byte, error) { return []byte{}, nil }}
	work(t, &Worker{Queue: q, Kinds: done})
	if _, err := q.Run(t.Context(), []jobs.Job{deep(198)}); err != nil {
		t.Error(err)
	}
	_, err := q.Run(t.Context(), []jobs.Job{deep(199)})
	if err == nil || !strings.Contains(err.Error(), "within one another") {
		t.Error(err)
	}
}
