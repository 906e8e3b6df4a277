package imagepack

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/test/powertest"
)

// TestPowerLoss looks at what a disk may hold after a loss of power at any step of making
// a cache, and of making it again for other images: there is none yet, or one that is
// whole, which a new one can replace. 300 states with -short, 1,000 without.
func TestPowerLoss(t *testing.T) {
	states := 1000
	if testing.Short() {
		states = 300
	}
	looked := 0
	for seed := uint64(1); looked < states && !t.Failed(); seed++ {
		rng := rand.New(rand.NewPCG(seed, 10))
		images := func() [][]uint8 {
			var all [][]uint8
			for range 1 + rng.IntN(5) {
				pix := make([]uint8, 3*(1+rng.IntN(900)))
				for i := range pix {
					pix[i] = uint8(rng.Uint32())
				}
				all = append(all, pix)
			}
			return all
		}
		versions := [][][]uint8{images(), images(), images()}
		add := func(k int) func(*Writer) error {
			return func(w *Writer) error {
				for _, pix := range versions[k] {
					if err := w.Add(pix, len(pix)/3, 1, 3); err != nil {
						return err
					}
				}
				return nil
			}
		}
		home := t.TempDir()
		disk := powertest.Record(t, home)
		var made []int // steps after which a version is there
		for k := range versions {
			if err := write(disk.Files(), filepath.Join(home, "f.pack"), Key{byte(k)}, add(k)); err != nil {
				t.Fatal(err)
			}
			made = append(made, disk.Steps())
		}
		disk.CheckComplete()
		disk.States(seed, 30, func(s *powertest.State) bool {
			looked++
			dir := t.TempDir()
			s.Write(t, dir)
			path := filepath.Join(dir, "f.pack")
			place := fmt.Sprintf("seed %d, after step %d of %d", seed, s.Steps, disk.Steps())
			least := -1
			for k, at := range made {
				if at <= s.Steps {
					least = k
				}
			}
			if err := whole(path, versions, least); err != nil && (least >= 0 || !errors.Is(err, fs.ErrNotExist)) {
				t.Errorf("%s: %v", place, err)
			}
			quick := atomic.Files{Trace: func(atomic.Step) {}}
			if err := write(quick, path, Key{2}, add(2)); err != nil {
				t.Errorf("%s: %v", place, err)
			}
			if err := whole(path, versions, 2); err != nil {
				t.Errorf("%s, made again: %v", place, err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("%s: %v is left, %v", place, left, err)
			}
			return looked < states && !t.Failed()
		})
	}
	t.Logf("%d states", looked)
}

// whole returns an error unless a file has the images of a version from the least on, of
// which its key is the number.
func whole(path string, versions [][][]uint8, least int) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	k := int(f.Key[0])
	if k < least || k >= len(versions) || f.Len() != len(versions[k]) {
		return fmt.Errorf("version %d with %d images, at least %d was made", k, f.Len(), least)
	}
	for i, want := range versions[k] {
		pix := make([]uint8, len(want))
		if err := f.Read(i, pix); err != nil || !bytes.Equal(pix, want) {
			return fmt.Errorf("image %d is another: %v", i, err)
		}
	}
	return nil
}
