package shards

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/internal/test/mutations"
	"github.com/kindred-ml/kindred/run"
)

// TestMutations changes the specs of jobs, and the heads of what jobs exchange.
func TestMutations(t *testing.T) {
	home := t.TempDir()
	spec := func(kind, text string) mutations.Reader {
		return mutations.Reader{Name: "spec of a job: " + kind, Valid: []string{text}, Read: func(text []byte) error {
			k := &WorkerKit{Home: home, Dir: t.TempDir(),
				Open: func(context.Context, string, data.OpenOptions) (*data.Dataset, error) {
					return nil, errOpened
				},
				Weights: func(context.Context, string) (run.Start, error) { return run.Start{}, errOpened }}
			defer k.Close()
			j := jobs.Job{Kind: kind, Spec: text}
			if err := j.Check(); err != nil {
				return err
			}
			// A valid spec comes as far as its data, which are not there.
			_, err := k.Kinds().Do(t.Context(), specTask{j})
			if errors.Is(err, errOpened) || err != nil && strings.HasPrefix(err.Error(), `no data set "omniglot"`) {
				return nil
			}
			return err
		}}
	}
	head, err := json.Marshal(shard{Rows: 2, Cols: 1, Pos: []int{3, 4}, LeftOut: []data.LeftOut{{}}})
	if err != nil {
		t.Fatal(err)
	}
	var set bytes.Buffer
	if err := writeSet(&set, randomSet(1, 4)); err != nil {
		t.Fatal(err)
	}
	first, rest, _ := bytes.Cut(set.Bytes(), []byte("\n"))
	mutations.Try(t,
		spec(embedKind, `{"data":"mnist","model":"00","samples":"","at":[[0,9]]}`),
		spec(rankKind, `{"queries":"a","gallery":"b","distance":"euclidean","depth":5,"from":0,"to":2}`),
		spec(sweepKind, `{"name":"ms/0001","config":"data: {name: mnist}\ntrain: {epochs: 1}\n","until":1,`+
			`"metric":"test_recall@1"}`),
		spec(paperKind, `{"experiment":"omniglot","arm":"MS","seed":1,"fast":true}`),
		mutations.Reader{Name: "result of a shard", Valid: []string{string(head)}, Read: func(head []byte) error {
			_, _, err := readShard(append(append(head, '\n'), 1, 2, 3, 4, 5, 6, 7, 8))
			return err
		}},
		mutations.Reader{Name: "set to rank", Valid: []string{string(first)}, Read: func(head []byte) error {
			_, err := readSet(bytes.NewReader(append(append(head, '\n'), rest...)))
			return err
		}})
}
