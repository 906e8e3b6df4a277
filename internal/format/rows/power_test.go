package rows

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/test/powertest"
)

// TestPowerLoss looks at what a disk may hold after a loss of power at any step of some
// calls of Save: what was saved before is there, no number is another one, and the next
// Save goes on. 300 states with -short, 1,000 without.
func TestPowerLoss(t *testing.T) {
	states := 1000
	if testing.Short() {
		states = 300
	}
	of, dim := Key{1}, 5
	row := func(k byte) []float32 {
		return []float32{float32(k), float32(k) / 3, -float32(k), 1, float32(k) * float32(k)}
	}
	looked := 0
	for seed := uint64(1); looked < states && !t.Failed(); seed++ {
		rng := rand.New(rand.NewPCG(seed, 9))
		home := t.TempDir()
		disk := powertest.Record(t, home)
		path := filepath.Join(home, "f.safetensors")
		saved := map[Key]int{} // keys, and the steps after which they are kept
		for range 6 {
			add := map[Key][]float32{}
			for range 1 + rng.IntN(60) {
				k := byte(rng.IntN(200))
				add[Key{k}] = row(k)
			}
			if err := save(disk.Files(), path, of, dim, add); err != nil {
				t.Fatal(err)
			}
			for k := range add {
				if saved[k] == 0 {
					saved[k] = disk.Steps()
				}
			}
		}
		disk.CheckComplete()
		disk.States(seed, 12, func(s *powertest.State) bool {
			looked++
			dir := t.TempDir()
			s.Write(t, dir)
			path := filepath.Join(dir, "f.safetensors")
			place := fmt.Sprintf("seed %d, after step %d of %d", seed, s.Steps, disk.Steps())
			holds := func(more ...byte) {
				all, err := Load(path, of, dim)
				if err != nil {
					t.Errorf("%s: %v", place, err)
				}
				for k, at := range saved {
					if at <= s.Steps && all[k] == nil {
						t.Errorf("%s: row %d, saved after step %d, is gone", place, k[0], at)
					}
				}
				for k, v := range all {
					if !slices.Equal(v, row(k[0])) {
						t.Errorf("%s: row %d is %v", place, k[0], v)
					}
				}
				for _, k := range more {
					if all[Key{k}] == nil {
						t.Errorf("%s: row %d was saved after it", place, k)
					}
				}
			}
			holds()
			quick := atomic.Files{Trace: func(atomic.Step) {}}
			if err := save(quick, path, of, dim, map[Key][]float32{{255}: row(255)}); err != nil {
				t.Errorf("%s: %v", place, err)
			}
			holds(255)
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("%s: %v is left, %v", place, left, err)
			}
			return looked < states && !t.Failed()
		})
	}
	t.Logf("%d states", looked)
}
