package queue_test

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/internal/jobs/natsserver"
	"github.com/kindred-ml/kindred/internal/jobs/queue"
)

// A leader and a worker, which could be on two machines, share a server's queue.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	dir, err := os.MkdirTemp("", "queue")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	server, err := natsserver.Serve(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	q, err := queue.Connect(ctx, queue.Options{URL: server.URL()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer q.Close()
	kinds := jobs.Kinds{"upper": func(_ context.Context, t jobs.Task) ([]byte, error) {
		return bytes.ToUpper(t.Job().Spec), nil
	}}
	go (&queue.Worker{Queue: q, Kinds: kinds}).Work(ctx)

	a, _ := jobs.New("upper", "near")
	b, _ := jobs.New("upper", "far")
	results, err := q.Run(ctx, []jobs.Job{a, b})
	for _, r := range results {
		fmt.Println(string(r.Output))
	}
	fmt.Println(err)
	// Output:
	// "NEAR"
	// "FAR"
	// <nil>
}
