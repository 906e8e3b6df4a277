package queue

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/jobs/embedded"
)

func TestZZ(t *testing.T) {
	base := filepath.Join(t.TempDir(), "queue")
	s, err := embedded.Serve(base)
	if err != nil { t.Fatal(err) }
	done := list(t, "chain", chain{Seed: 1, Steps: 9, Bytes: 3000}, chain{Seed: 2, Steps: 9, Bytes: 300000})
	all := append(done, list(t, "chain", chain{Seed: 3, Steps: 5}, chain{Seed: 4, Steps: 5}, chain{Seed: 5, Steps: 5})...)
	want := alone(t, all)
	q, err := Connect(t.Context(), Options{URL: s.URL(), Lease: lease})
	if err != nil { t.Fatal(err) }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { (&Worker{Queue: q, Kinds: kinds()}).Work(ctx); close(ended) }()
	if _, err := q.Run(ctx, done); err != nil { t.Fatal(err) }
	stop()
	<-ended
	// pending
	ctx, stop = context.WithTimeout(t.Context(), time.Second)
	q.Run(ctx, all)
	stop()
	q.Close()
	s.Close()
	var files []string
	filepath.WalkDir(base, func(p string, e fs.DirEntry, err error) error {
		if e.Type().IsRegular() { r, _ := filepath.Rel(base, p); i, _ := e.Info(); fmt.Println(r, i.Size()); files = append(files, r) }
		return nil
	})
	for _, f := range files {
		for _, how := range []string{"flip0", "flipmid", "fliplast", "cut4", "cuthalf", "empty", "remove", "link"} {
			dir := filepath.Join(t.TempDir(), "queue")
			if err := os.CopyFS(dir, os.DirFS(base)); err != nil { t.Fatal(err) }
			os.Chmod(dir, 0o700)
			at := filepath.Join(dir, f)
			b, _ := os.ReadFile(at)
			out := filepath.Join(t.TempDir(), "outside")
			switch how {
			case "flip0", "flipmid", "fliplast":
				if len(b) == 0 { continue }
				b[map[string]int{"flip0": 0, "flipmid": len(b) / 2, "fliplast": len(b) - 1}[how]] ^= 0x40
				os.WriteFile(at, b, 0o600)
			case "cut4": os.WriteFile(at, b[:min(4, len(b))], 0o600)
			case "cuthalf": os.WriteFile(at, b[:len(b)/2], 0o600)
			case "empty": os.WriteFile(at, nil, 0o600)
			case "remove": os.Remove(at)
			case "link": os.WriteFile(out, b, 0o600); os.Remove(at); os.Symlink(out, at)
			}
			begun := time.Now()
			text := func() string {
				s, err := embedded.Serve(dir)
				if err != nil { return "serve: " + err.Error() }
				defer s.Close()
				ctx, stop := context.WithTimeout(t.Context(), 12*time.Second)
				defer stop()
				q, err := Connect(ctx, Options{URL: s.URL(), Lease: lease})
				if err != nil { return "connect: " + err.Error() }
				defer q.Close()
				werr := make(chan error, 1)
				wctx, wstop := context.WithCancel(ctx)
				go func() { werr <- (&Worker{Queue: q, Kinds: kinds()}).Work(wctx) }()
				r, err := q.Run(ctx, all)
				wstop()
				w := <-werr
				if err != nil { return fmt.Sprintf("run: %v / worker: %v", err, w) }
				if outputs(r) != want { return "WRONG" }
				return "ok"
			}()
			if how == "link" { if x, _ := os.ReadFile(out); string(x) != string(b) { text += " WRITTEN THROUGH" } }
			fmt.Printf("%-60s %-8s %6.1fs %.300s\n", f, how, time.Since(begun).Seconds(), text)
		}
	}
}
