//go:build unix

package mirror

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/collection/mirror/changes"
)

// BenchmarkLook compares an index of 100,000 photos, with 128 numbers each, with their
// folder: unchanged, with another time of each file, for which all contents are read, and with
// 1 % of them changed, which alone are to be embedded. A round opens the data set as sync
// does. Beside the time it reports the seconds of processor time of a round.
func BenchmarkLook(b *testing.B) {
	const n = 100_000
	dir := b.TempDir()
	for i := range n {
		writeFile(b, photoPath(dir, i), fmt.Sprint("content ", i), time.Hour)
	}
	x := newFilledIndex(b, openDataset(b, dir), dir, 128)
	for _, c := range []struct {
		name             string
		touched, changed int
	}{{"unchanged", 0, 0}, {"changed=1%", 0, n / 100}, {"touched", n, 0}} {
		b.Run(c.name, func(b *testing.B) {
			for i := range c.changed {
				writeFile(b, photoPath(dir, i*97), fmt.Sprint("other content ", i), time.Minute)
			}
			for i := range c.touched {
				writeFile(b, photoPath(dir, i), fmt.Sprint("content ", i), time.Minute)
			}
			began := processorTime()
			for b.Loop() {
				set := openDataset(b, dir)
				p, err := NewPlan(b.Context(), x, set, Options{Set: dir, Labels: classLabels(set)})
				if err != nil || p.Embed != c.changed || p.Counts[changes.Changed] != c.changed ||
					p.Counts[changes.Touched] != c.touched || p.Counts[changes.Same] != n-c.changed-c.touched {
					b.Fatal(p, err)
				}
			}
			b.ReportMetric((processorTime()-began).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

func photoPath(dir string, i int) string {
	return filepath.Join(dir, fmt.Sprintf("class%03d", i%200), fmt.Sprintf("photo%06d.jpg", i))
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
