package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/queues"
	"github.com/kindred-ml/kindred/internal/jobs/queue"
)

// What others write into a queue is one short line on the terminal of a worker.
func TestJobsAreToldInPlainText(t *testing.T) {
	const evil = "a\x1b[2J\nkindred: all is well\u202e"
	for _, s := range []queue.Status{
		{Key: "1", Title: evil, State: queue.Running, Worker: evil},
		{Key: "2", Title: strings.Repeat(evil, 100_000), State: queue.Running, Worker: strings.Repeat("w", 1<<20),
			Losses: 1},
		{Key: "4", Title: "t", State: queue.Running, Worker: strings.Repeat("w", 1<<20)},
		{Key: "3", Title: "t", State: queue.Failed, Text: strings.Repeat(evil, 100_000)},
	} {
		var b bytes.Buffer
		queues.NewJobPrinter((&console.Console{Out: &b, Err: &b}))(s)
		line := b.String()
		if strings.ContainsAny(line, "\x1b\u202e") || strings.Count(line, "\n") != 1 || len(line) > 20_000 {
			t.Errorf("%s: %d bytes: %.200q", s.Key, len(line), line)
		}
	}
}

// Nothing that moves the cursor reaches the terminal, whatever a message holds, and
// no message is without end.
func TestErrorsOfCommandsAreShort(t *testing.T) {
	long := "x\x1b[31m" + strings.Repeat("y", 1<<20)
	name := "x\x1b[31m" + strings.Repeat("y", 1<<13)
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitFailure, []string{"eval", "--embeddings", long, "--labels", "l.csv"}},
		{exitUsage, []string{"eval", "--" + name}}, {exitUsage, []string{name}},
	} {
		code, _, errOut := runArgs(t, c.args...)
		if code != c.code || len(errOut) > 5000 || strings.Contains(errOut, "\x1b") {
			t.Errorf("%.20q: status %d, %d bytes: %.200q", c.args, code, len(errOut), errOut)
		}
	}
}
