package lock

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// childDir, if set, makes the test binary a process that takes that folder, says
// so and waits to be killed.
const childDir = "KINDRED_LOCK_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if _, err := Folder(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("held")
		time.Sleep(time.Minute)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestOneHolderAtATime(t *testing.T) {
	dir := t.TempDir()
	a, err := Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Folder(dir)
	var held *HeldError
	if !errors.As(err, &held) || held.Dir != dir || held.Holder == nil || held.Holder.PID != os.Getpid() {
		t.Fatalf("a second holder: %v", err)
	}
	for _, want := range []string{dir, fmt.Sprint(os.Getpid()), held.Holder.Since.Format(time.DateTime), os.Args[0]} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not contain %q", err, want)
		}
	}
	for range 2 {
		if err := a.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	b, err := Folder(dir)
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	defer b.Release()
	// A holder whose name cannot be read holds all the same.
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Folder(dir); !errors.As(err, &held) || held.Holder != nil ||
		!strings.Contains(err.Error(), "another process") {
		t.Errorf("a holder without a name: %v", err)
	}
}

// TestKilledHolderLetsGo takes a folder from a process that was killed.
func TestKilledHolderLetsGo(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the child says %q", line)
	}
	_, err = Folder(dir)
	var held *HeldError
	if !errors.As(err, &held) || held.Holder == nil || held.Holder.PID != cmd.Process.Pid {
		t.Errorf("held by another process: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	h, err := Folder(dir)
	if err != nil {
		t.Fatalf("after its holder was killed: %v", err)
	}
	if err := h.Release(); err != nil {
		t.Fatal(err)
	}
}

// TestManyTakers lets goroutines take and release a folder as fast as they can:
// there is never more than one holder, and none is shut out by a file that
// another removed.
func TestManyTakers(t *testing.T) {
	dir := t.TempDir()
	var holders, taken atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				h, err := Folder(dir)
				var held *HeldError
				if errors.As(err, &held) {
					continue
				} else if err != nil {
					t.Error(err)
					return
				}
				if holders.Add(1) != 1 {
					t.Error("two holders")
				}
				taken.Add(1)
				holders.Add(-1)
				if err := h.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if taken.Load() == 0 {
		t.Error("nobody ever held it")
	}
}

func TestMissingFolder(t *testing.T) {
	if _, err := Folder(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestLinkedLock: nothing is written through a link in the place of the lock, whether it leads
// to something or not.
func TestLinkedLock(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	there, none := filepath.Join(outside, "there"), filepath.Join(outside, "none")
	if err := os.WriteFile(there, []byte("theirs"), 0o666); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, FileName)
	for _, to := range []string{there, none} {
		if err := os.Symlink(to, at); err != nil {
			t.Skip(err)
		}
		if h, err := Folder(dir); err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("%v, %v", h, err)
		}
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(there); err != nil || string(b) != "theirs" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("a file was made behind a link")
	}
	h, err := Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Release(); err != nil {
		t.Error(err)
	}
}
