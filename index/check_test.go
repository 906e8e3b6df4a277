package index

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// What a check says of a damaged segment, what its repair does about it, and that it lets
// sound segments be as they are.
func TestCheckOfSections(t *testing.T) {
	for _, c := range []struct {
		section, reason, consequence string
		lost                         int // items
	}{
		{"codes", "the checksum of section codes is wrong", "it is rebuilt", 0},
		{"vectors", "the checksum of section vectors is wrong", "64 items are lost", 64},
	} {
		x := createSmall(t, Config{Dim: 3})
		for i := range 2 { // a segment each
			e := entries(70, 3, uint64(i))
			for k := range e {
				e[k].ID = fmt.Sprint(i, " ", k)
			}
			add(t, x, e, AddOptions{})
		}
		if len(x.view.parts) != 2 {
			t.Fatalf("%d segments", len(x.view.parts))
		}
		path := x.view.parts[1].seg.path
		in := sectionOf(t, x, path, c.section)
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		b := readFile(t, path)
		b[in.Offset+in.Length/2] ^= 1
		writeFile(t, path, b)
		got, err := Check(t.Context(), x.dir, CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := []Problem{{filepath.Base(path), c.reason, c.consequence, c.lost}}
		if !slices.Equal(got.Problems, want) || got.Items != 140-c.lost {
			t.Errorf("%+v\nwant %d items, %+v", got, 140-c.lost, want)
		}
		if got, err = Check(t.Context(), x.dir, CheckOptions{Repair: true}); err != nil || len(got.Problems) != 1 {
			t.Fatalf("repaired: %+v, %v", got, err)
		}
		m, err := readManifest(x.dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range m.Segments {
			if s.RemovedFile != "" {
				t.Errorf("of the sound segment %s, or one made anew, rows are noted as removed", s.File)
			}
			if strings.HasSuffix(path, s.File) {
				t.Errorf("%s is still one of the index", s.File)
			}
		}
		if got, err = Check(t.Context(), x.dir, CheckOptions{}); err != nil || len(got.Problems) > 0 ||
			got.Items != 140-c.lost {
			t.Errorf("%s, after the repair: %+v, %v", c.section, got, err)
		}
	}
}

// A file that may not be read, or that is one too many to be open, is an error of the check
// and no damage: a repair would leave its items out.
func TestCheckOfUnreadableFiles(t *testing.T) {
	x, _ := newReplaceable(t)
	for _, why := range []error{syscall.EACCES, syscall.EMFILE, syscall.ENFILE} {
		for _, which := range []func(*manifest) string{
			func(m *manifest) string { return m.Segments[0].File },
			func(m *manifest) string { return m.Segments[0].RemovedFile },
			func(m *manifest) string { return m.Log },
		} {
			err := readConsistently(x.dir, readManifest, func(o *openFiles) error {
				o.faults[which(o.m)] = &fs.PathError{Op: "open", Path: which(o.m), Err: why}
				c := &checker{ctx: t.Context(), dir: x.dir, m: o.m, files: o, out: &CheckResult{},
					ids: map[string]bool{}}
				defer c.close()
				err := c.readAll()
				if len(c.out.Problems) > 0 {
					t.Errorf("%s, %v: %+v", which(o.m), why, c.out.Problems)
				}
				return err
			})
			if !errors.Is(err, why) {
				t.Errorf("%v: %v", why, err)
			}
		}
	}
}
