package atomic

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// childFile, if set, makes the test binary a process that begins to write that
// file, says so and waits to be killed.
const childFile = "KINDRED_ATOMIC_TEST_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		err := WriteFile(path, func(w io.Writer) error {
			if _, err := io.WriteString(w, "half"); err != nil {
				return err
			}
			fmt.Println("writing")
			time.Sleep(time.Minute)
			return nil
		})
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// names lists a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// child starts a process that writes a file, and returns what kills it.
func child(t *testing.T, path string) (kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childFile+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "writing\n" {
		t.Fatalf("the child says %q", line)
	}
	return kill
}

// TestLeft: the next write of a file removes what a killed process left of it, and nothing
// that another process, of this machine or not, writes.
func TestLeft(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "f"), tempPath(dir, 7) // as of another machine, or another file
	if err := os.WriteFile(other, []byte("theirs"), 0o666); err != nil {
		t.Fatal(err)
	}
	kill := child(t, path)
	mine := filepath.Base(tempPath(dir, firstTempNumber(path)))
	if now := names(t, dir); !slices.Contains(now, mine) || len(now) != 2 {
		t.Fatalf("the child writes %v, not %s", now, mine)
	}
	for range 3 { // beside it, under other names
		if err := WriteFile(path, write("x")); err != nil {
			t.Fatal(err)
		}
		if now := names(t, dir); !slices.Contains(now, mine) || len(now) != 3 {
			t.Fatalf("while the writer lives: %v", now)
		}
	}
	kill()
	if err := WriteFile(filepath.Join(dir, "g"), write("x")); err != nil {
		t.Fatal(err)
	}
	if now := names(t, dir); !slices.Contains(now, mine) {
		t.Errorf("another file's write removed it: %v", now)
	}
	if err := WriteFile(path, write("new")); err != nil {
		t.Fatal(err)
	}
	if now := names(t, dir); slices.Contains(now, mine) || len(now) != 3 ||
		!slices.Contains(now, filepath.Base(other)) {
		t.Errorf("after its death: %v", now)
	}
	// A folder of that name, or another user's file, is none of its business.
	if err := os.Mkdir(filepath.Join(dir, mine), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, write("newer")); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "newer" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestClean leaves what a living process writes, and what only looks like a
// temporary file, and removes what a killed process left.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	others := []string{".a.tmp-1", ".kindred-0123456789abcdeg.tmp", ".kindred-1.tmp", ".kindred.tmp",
		"x.kindred-0123456789abcdef.tmp"}
	slices.Sort(others)
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".kindred-0123456789abcdef.tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	others = append([]string{".kindred-0123456789abcdef.tmp"}, others...)
	slices.Sort(others)

	kill := child(t, filepath.Join(dir, "f"))
	for _, alive := range []bool{true, false} {
		if !alive {
			kill()
		}
		if err := Clean(dir, filepath.Join(dir, "none")); err != nil {
			t.Fatal(err)
		}
		left := names(t, dir)
		if alive && len(left) != len(others)+1 {
			t.Errorf("while the writer lives: %v", left)
		}
		if !alive && !slices.Equal(left, others) {
			t.Errorf("after its death: %v, want %v", left, others)
		}
	}
}

// TestCleanBesideWriters cleans a folder all the time while files are written:
// none is lost.
func TestCleanBesideWriters(t *testing.T) {
	dir := t.TempDir()
	done := make(chan struct{})
	cleaned := make(chan error, 1)
	go func() {
		for {
			select {
			case <-done:
				cleaned <- nil
				return
			default:
			}
			if err := Clean(dir); err != nil {
				cleaned <- err
				return
			}
		}
	}()
	var writers sync.WaitGroup
	for k := range 4 {
		writers.Go(func() {
			for i := range 50 {
				if err := WriteFile(filepath.Join(dir, fmt.Sprintf("%d-%d", k, i)), write("x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	if err := <-cleaned; err != nil {
		t.Error(err)
	}
	if n := len(names(t, dir)); n != 200 {
		t.Errorf("%d files of 200", n)
	}
}
